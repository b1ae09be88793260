#include "cli/checks.hpp"

#include "base/settings.hpp"

#include <cstddef>
#include <stdexcept>

namespace redlock::cli {

void check_resources(const config& c, const std::vector<std::string>& resources)
{
    const auto settings = base::make_settings(c);
    std::size_t size = 0;
    for (std::size_t i = 0; i < resources.size(); ++i) {
        if (const char* const why = base::fault_of_resource(settings, resources[i])) {
            throw std::invalid_argument("resource " + std::to_string(i + 1) + ": " + why);
        }
        size += resources[i].size();
    }
    if (resources.size() > max_resources) {
        throw std::invalid_argument("resources: there are more than " +
                                    std::to_string(max_resources));
    }
    if (size > max_resource_size) {
        throw std::invalid_argument("resources: all names together are longer than " +
                                    std::to_string(max_resource_size) + " bytes");
    }
}

void check_ttl(const config& c, const duration& ttl)
{
    if (const auto wrong = base::fault_of_ttl(base::make_settings(c), ttl.length)) {
        throw std::invalid_argument("--ttl: " + to_text(ttl.length) + ' ' + wrong->why + ", " +
                                    to_text(wrong->limit));
    }
}

void check_taking(const config& c, const taking_options& o)
{
    check_resources(c, o.resources);
    check_ttl(c, o.ttl);
    if (const char* const why = base::fault_of_label(o.label.value_or(""))) {
        throw std::invalid_argument(std::string("--label: ") + why);
    }
}

}  // namespace redlock::cli
