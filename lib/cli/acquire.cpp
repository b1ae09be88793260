#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/printing.hpp"
#include "cli/session.hpp"
#include "cli/taking.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

void tell(redlock::lock lock, const masters_options& masters, const acquire_options& o)
{
    using namespace std::chrono;
    const auto fencing_token = lock.fencing_token();
    const auto valid_for = duration_cast<milliseconds>(lock.remaining()).count();
    const auto valid_until = valid_until_date(lock);
    const std::string owner_token = std::move(lock).hand_over();
    if (o.quiet) {
        std::cout << owner_token << std::endl;
    } else if (masters.json) {
        nlohmann::json out{{"resources", o.resources},
                           {"owner_token", owner_token},
                           {"valid_for_ms", valid_for},
                           {"valid_until", valid_until}};
        if (fencing_token != 0) {
            out["fencing_token"] = fencing_token;
        }
        std::cout << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                  << std::endl;
    } else {
        std::cout << "owner_token=" << owner_token << '\n';
        if (fencing_token != 0) {
            std::cout << "fencing_token=" << fencing_token << '\n';
        }
        std::cout << "valid_for_ms=" << valid_for << "\nvalid_until=" << valid_until << std::endl;
    }
}

}  // namespace

int acquire(const masters_options& masters, const acquire_options& o)
{
    const config c = config_of(masters);
    return with_client(c, interrupts::cancel_work, [&](client& locks) -> asio::awaitable<int> {
        auto got = co_await take(locks, c, o, std::nullopt);
        if (got.error) {
            co_return fail(names(o.resources), got.error, got.nodes, masters.json);
        }
        tell(std::move(got.lock), masters, o);
        co_return success;
    });
}

}  // namespace redlock::cli
