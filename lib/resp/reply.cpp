#include "resp/reply.hpp"

namespace redlock::resp {

reply reply::at(std::size_t i) const
{
    if (i >= size()) {
        return {};
    }
    iterator it = begin();
    for (; i != 0; --i) {
        ++it;
    }
    return *it;
}

reply reply::find(std::string_view key) const
{
    if (type() != reply_type::map && type() != reply_type::array) {
        return {};
    }
    iterator it = begin();
    for (std::size_t pairs = size() / 2; pairs != 0; --pairs) {
        const reply name = *it++;
        const reply value = *it++;
        if (name.is_string() && name.text() == key) {
            return value;
        }
    }
    return {};
}

}  // namespace redlock::resp
