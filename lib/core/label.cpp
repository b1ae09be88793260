#include "core/label.hpp"

#include "core/lease.hpp"

#include <memory>
#include <new>
#include <string>

namespace redlock::core {

void adopt_label(lease& l, std::string_view stored) noexcept
{
    if (l.label != nullptr || l.is_released || l.is_detached || untied(stored).empty()) {
        return;
    }
    try {
        if (stored.starts_with(label_tie(l.token.view()))) {
            l.label = std::make_unique<const std::string>(stored);
        }
    } catch (const std::bad_alloc&) {
        return;
    }
}

}  // namespace redlock::core
