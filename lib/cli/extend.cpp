#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/held.hpp"
#include "cli/printing.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

namespace redlock::cli {

int extend(const masters_options& masters, const extend_options& o)
{
    const auto print = [&](client&, lock held) -> boost::asio::awaitable<int> {
        const auto valid_for =
            std::chrono::duration_cast<std::chrono::milliseconds>(held.remaining()).count();
        const auto valid_until = date_text(end_of(held));
        // Detached, because the lock stays with the owner of the token.
        [[maybe_unused]] const std::string left = std::move(held).detach();
        if (masters.json) {
            std::cout << nlohmann::json{{"valid_for_ms", valid_for}, {"valid_until", valid_until}};
        } else {
            std::cout << "valid_for_ms=" << valid_for << "\nvalid_until=" << valid_until;
        }
        std::cout << '\n' << std::flush;
        co_return success;
    };
    return with_held(masters, o, o.ttl, print);
}

}  // namespace redlock::cli
