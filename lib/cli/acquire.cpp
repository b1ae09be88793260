#include "cli/checks.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/nesting.hpp"
#include "cli/printing.hpp"
#include "cli/session.hpp"
#include "cli/taking.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

#include <unistd.h>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

/// Prints the lock. Returns false if the output could not be written.
bool print_lock(const redlock::lock& lock, const masters_options& masters, const acquire_options& o)
{
    using namespace std::chrono;
    const auto valid_for = duration_cast<milliseconds>(lock.remaining()).count();
    const auto valid_until = date_text(end_of(lock));
    if (o.quiet) {
        std::cout << lock.owner_token() << '\n';
    } else if (masters.json) {
        nlohmann::json out{{"resources", o.resources},
                           {"owner_token", lock.owner_token()},
                           {"valid_for_ms", valid_for},
                           {"valid_until", valid_until}};
        if (lock.fencing_token() != 0) {
            out["fencing_token"] = lock.fencing_token();
        }
        std::cout << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    } else {
        std::cout << "owner_token=" << lock.owner_token() << '\n';
        if (lock.fencing_token() != 0) {
            std::cout << "fencing_token=" << lock.fencing_token() << '\n';
        }
        std::cout << "valid_for_ms=" << valid_for << "\nvalid_until=" << valid_until << '\n';
    }
    return static_cast<bool>(std::cout.flush());
}

}  // namespace

int acquire(const masters_options& masters, const acquire_options& o)
{
    const config c = config_of(masters);
    const enclosing_locks around(c);
    if (const auto inside = around.position_of(o.resources); inside != enclosing::none) {
        return refuse_to_wait_for_itself(o.resources, inside,
                                         "the outer redlock run holds it until its command ends",
                                         masters.json);
    }
    check_taking(c, o);
    return with_client(c, interrupts::cancel_work, [&](client& locks) -> asio::awaitable<int> {
        taking_options wanted = o;
        if (!wanted.label) {
            // The process that uses the lock is the one that started this command.
            wanted.label = label_of("acquire", getppid());
        }
        auto got = co_await take(locks, c, wanted, std::nullopt, masters.json);
        if (got.error) {
            co_return fail(names(o.resources), got.error, got.nodes, masters.json);
        }
        if (!print_lock(got.lock, masters, o)) {
            // The lock is released as it goes out of scope, because no other process knows its
            // token.
            co_return say("the owner token cannot be written", internal, masters.json);
        }
        [[maybe_unused]] const std::string left = std::move(got.lock).detach();
        co_return success;
    });
}

}  // namespace redlock::cli
