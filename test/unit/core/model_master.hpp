#pragma once

#include "base/instant.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// One command, as a server reads it.
using words = std::vector<std::string>;

/// Cuts what was written to a node into commands; what does not look like one fails the test.
[[nodiscard]] std::vector<words> parse_commands(std::string_view bytes);

/// What a server knows of one connection.
struct session {
    int protocol = 2;
    bool authenticated = false;
};

/**
 * A Redis master as far as locks use one, in virtual time. The switches may be turned at any
 * moment.
 */
class model_master {
public:
    struct entry {
        std::string value;
        std::optional<base::instant> end;
        bool foreign_kind = false;
    };

    // What kind of server it is.
    bool knows_hello = true;
    bool has_delifeq = false;
    bool has_delex = false;
    std::string role = "master";
    /// Empty: everybody is let in.
    std::string password;
    /// The line that a command is answered with instead of being done, by its name or its first two
    /// words.
    std::map<std::string, std::string, std::less<>> refusals;

    /// The reply to one command.
    std::string execute(base::instant now, session& s, const words& command);

    void put(const std::string& key, entry e) { keys_[key] = std::move(e); }
    [[nodiscard]] const entry* find(base::instant now, const std::string& key) const;
    [[nodiscard]] std::string value(base::instant now, const std::string& key) const;
    [[nodiscard]] std::size_t keys(base::instant now) const;
    void flush_keys() { keys_.clear(); }
    void flush_scripts() { scripts_.clear(); }

    std::uint64_t sets = 0;
    std::uint64_t commands = 0;

private:
    std::string hello(session& s, const words& command);
    std::string auth(session& s, const words& command);
    std::string set(base::instant now, const words& command);
    std::string eval(base::instant now, session& s, const words& command);
    std::string run(base::instant now, const session& s, std::string_view text,
                    const words& command);
    std::string compare_and_delete(base::instant now, const std::string& key,
                                   const std::string& token);
    std::string inspect(base::instant now, const session& s, const std::string& key);
    [[nodiscard]] std::int64_t pttl(base::instant now, const std::string& key) const;

    std::map<std::string, entry, std::less<>> keys_;
    std::set<std::string, std::less<>> scripts_;
};

}  // namespace redlock::test
