#include <redlock/resource_names.hpp>

namespace redlock {

resource_names::resource_names(std::vector<std::string> names)
    : resource_names(std::make_shared<const std::vector<std::string>>(std::move(names)))
{}

resource_names::resource_names(std::initializer_list<std::string_view> names)
    : resource_names(std::vector<std::string>(names.begin(), names.end()))
{}

resource_names resource_names::owned() const
{
    return list_ ? *this : resource_names(std::vector<std::string>{std::string(first_)});
}

}  // namespace redlock
