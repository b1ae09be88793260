#include "core/label.hpp"

#include "core/coordinator.hpp"

#include <memory>
#include <new>
#include <string>
#include <utility>

// The label by which others know the holder of a lock. No lock depends on it: one that cannot be
// stored or sent is left out.
namespace redlock::core {

void coordinator::set_label(lease& l, const std::string& label) noexcept
{
    try {
        l.label = std::make_unique<const std::string>(label_tie(l.token.view()) + label);
    } catch (const std::bad_alloc&) {
        return;
    }
    send_label(l);
}

void adopt_label(lease& l, std::string_view stored) noexcept
{
    if (l.label != nullptr || l.given_back || l.left || untied(stored).empty()) {
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

void coordinator::send_label(const lease& l) noexcept
{
    if (l.label == nullptr) {
        return;
    }
    try {
        for (const auto& n : nodes_) {
            n->set_label(l);
        }
    } catch (const std::bad_alloc&) {
        return;
    }
}

void coordinator::drop_label(const lease& l) noexcept
{
    if (l.label == nullptr) {
        return;
    }
    try {
        for (const auto& n : nodes_) {
            n->drop_label(l);
        }
    } catch (const std::bad_alloc&) {
        return;
    }
}

}  // namespace redlock::core
