#include "cli/checks.hpp"

#include "base/settings.hpp"

#include <stdexcept>

namespace redlock::cli {

void check_resources(const config& c, const std::vector<std::string>& resources)
{
    if (const auto wrong = base::fault_of_resources(base::make_settings(c), resources)) {
        throw std::invalid_argument(wrong->why);
    }
}

void check_ttl(const config& c, const duration& ttl, const char* option)
{
    if (const auto wrong = base::fault_of_ttl(base::make_settings(c), ttl.length)) {
        // A user who gave only the other option would look in vain for a wrong ttl.
        throw std::invalid_argument(std::string(option) + ": " +
                                    (ttl.is_given ? "" : "the default of ") + to_text(ttl.length) +
                                    ' ' + wrong->why + ", " + to_text(wrong->limit));
    }
}

void check_taking(const config& c, const taking_options& o, const char* ttl_option)
{
    check_resources(c, o.resources);
    check_ttl(c, o.ttl, ttl_option);
    if (const char* const why = base::fault_of_label(o.label.value_or(""))) {
        throw std::invalid_argument(std::string("--label: ") + why);
    }
}

}  // namespace redlock::cli
