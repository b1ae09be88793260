#include "cli/held.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <istream>
#include <stdexcept>
#include <string_view>

namespace redlock::cli {
namespace {

constexpr std::string_view label = "owner_token=";

/// What `acquire` wrote, or the token alone.
std::string first_token(std::istream& in)
{
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(label)) {
            return line.substr(label.size());
        }
        if (!line.empty() && line.find('=') == std::string::npos) {
            return line;
        }
    }
    return {};
}

}  // namespace

std::string owner_token_of(const held_options& o)
{
    std::string token;
    std::string from = "REDLOCK_OWNER_TOKEN";
    if (o.token_file.empty()) {
        const char* const set = std::getenv(from.c_str());
        token = set == nullptr ? "" : set;
    } else if (o.token_file == "-") {
        from = "stdin";
        token = first_token(std::cin);
    } else {
        from = o.token_file;
        std::ifstream file(o.token_file);
        if (!file) {
            throw std::invalid_argument("--token-file: " + o.token_file + " cannot be read");
        }
        token = first_token(file);
    }
    if (token.empty()) {
        throw std::invalid_argument("no owner token in " + from +
                                    ": give what acquire printed in REDLOCK_OWNER_TOKEN, or in a "
                                    "file by --token-file (- for stdin)");
    }
    return token;
}

}  // namespace redlock::cli
