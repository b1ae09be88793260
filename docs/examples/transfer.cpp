// Transfers money between two accounts under one lock of both. The client takes both names or none.
// So two transfers in opposite directions never wait for each other, in whichever order they name
// the accounts. An account is a file with a number in it, which knows no transactions.
//
// Run it with a folder, two accounts, an amount and the nodes:
//
//     transfer FOLDER FROM TO AMOUNT redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct order {
    std::filesystem::path folder;
    std::string from;
    std::string to;
    long amount = 0;
};

long balance(const std::filesystem::path& account)
{
    long result = 0;
    std::ifstream(account) >> result;
    return result;
}

void set_balance(const std::filesystem::path& account, long to)
{
    std::ofstream(account) << to << '\n';
}

void move_money(const order& o, const redlock::lock& lock)
{
    const auto from = balance(o.folder / o.from);
    const auto to = balance(o.folder / o.to);
    if (from < o.amount) {
        std::cout << o.from << " has only " << from << '\n';
    } else if (lock.owns()) {
        set_balance(o.folder / o.from, from - o.amount);
        set_balance(o.folder / o.to, to + o.amount);
        std::cout << "moved " << o.amount << " from " << o.from << " to " << o.to << '\n';
    }
}

asio::awaitable<void> transfer(redlock::client& locks, const order& o)
{
    // Outside a co_await, or with a later GCC than 12, async_acquire({"a", "b"}) works as well.
    const std::vector<std::string> accounts{"accounts/" + o.from, "accounts/" + o.to};
    redlock::report report;
    auto [error, lock] = co_await locks.async_acquire(
        accounts, {.ttl = 5s, .timeout = 10s, .report = &report}, asio::as_tuple(asio::deferred));
    if (error) {
        std::cout << "no lock: " << error.message() << '\n';
        for (const auto& node : report.nodes) {
            if (!node.refused_resource.empty()) {
                std::cout << node.refused_resource << " has another holder on " << node.node
                          << '\n';
            }
        }
    } else {
        move_money(o, lock);
        co_await locks.async_release(std::move(lock), asio::as_tuple(asio::deferred));
    }
    co_await locks.async_close();
}

int main(int argc, char** argv)
try {
    if (argc < 6) {
        std::cerr << "usage: transfer FOLDER FROM TO AMOUNT redis://10.0.0.1 ...\n";
        return 2;
    }
    const order o{argv[1], argv[2], argv[3], std::atol(argv[4])};
    asio::io_context context;
    redlock::client locks(context, {.nodes = {argv + 5, argv + argc}});
    locks.async_run(asio::detached);
    asio::co_spawn(context, transfer(locks, o), [](std::exception_ptr thrown) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    });
    context.run();
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "transfer: " << thrown.what() << '\n';
    return 1;
}
