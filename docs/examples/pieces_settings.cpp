// Shows the short pieces of code in the pages that set up a client: the restart guard, a log, the
// events of renewals, and passwords from a store for secrets.
//
// Run it with the nodes:
//
//     pieces_settings redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Makes a client and does not use it, since the client of this program has no guard.
void guarded(const asio::any_io_executor& ex, const std::vector<std::string>& nodes)
{
    redlock::client locks(ex,
                          {.nodes = nodes, .restart_guard = redlock::guard_config{.max_ttl = 30s}});
}

redlock::config observed(std::vector<std::string> nodes)
{
    redlock::config config{.nodes = std::move(nodes)};
    config.log = [](redlock::log_level level, std::string_view line) {
        if (level >= redlock::log_level::warning) {
            std::cerr << line << '\n';
        }
    };
    config.on_renewal = [](const redlock::renewal& news) {
        if (news.outcome != redlock::renewal_outcome::renewed) {
            std::cerr << news.resource << ": " << to_string(news.outcome) << '\n';
        }
    };
    return config;
}

/// Takes the place of a store for secrets, which answers later.
class vault {
public:
    explicit vault(asio::io_context& context) : context_(context) {}

    void async_read(const std::string& path, redlock::credentials_reply reply)
    {
        asio::post(context_, [path, reply = std::move(reply)] {
            std::cout << "read: " << path << '\n';
            reply({}, {"", "password of today"});
        });
    }

private:
    asio::io_context& context_;
};

void rotate(redlock::config& config, vault& secrets)
{
    config.credentials = [&secrets](std::string_view node, redlock::credentials_reply reply) {
        secrets.async_read("locks/" + std::string(node), std::move(reply));
    };
}

asio::awaitable<void> work(redlock::client& locks)
{
    auto lock = co_await locks.async_acquire("orders/42");
    std::cout << "acquired: " << lock.resource() << '\n';
    lock = {};
    co_await locks.async_close();
}

int main(int argc, char** argv)
try {
    const std::vector<std::string> nodes(argv + 1, argv + argc);
    asio::io_context context;
    guarded(context.get_executor(), nodes);
    vault secrets(context);
    auto config = observed(nodes);
    rotate(config, secrets);
    redlock::client locks(context, config);
    locks.async_run(asio::detached);
    asio::co_spawn(context, work(locks), [](std::exception_ptr thrown) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    });
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "pieces_settings: " << thrown.what() << '\n';
    return 1;
}
