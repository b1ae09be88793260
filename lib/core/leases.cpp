#include "core/leases.hpp"

#include "core/label.hpp"

#include <cassert>
#include <memory>
#include <new>
#include <utility>

namespace redlock::core {

using base::instant;

lease& leases::create(std::string_view resource)
{
    lease& l = records_.take();
    try {
        l.resource.assign(resource);
    } catch (...) {
        records_.give(l);
        throw;
    }
    l.token = {};
    l.ttl = {};
    l.t0 = l.keys_end = l.asked_until = {};
    l.fencing_token = 0;
    l.asked = l.answered = l.counted = 0;
    l.granted.store(0, std::memory_order_relaxed);
    l.adopted = l.lost = l.is_released = false;
    l.within = nullptr;
    l.holds = 1;
    l.is_hold_over = false;
    l.is_detached = false;
    l.held_by = nullptr;
    l.renewal = nullptr;
    l.resource_hash = hash_of(resource);
    l.leads = l.is_granted = false;
    l.acquire = nullptr;
    l.queue = nullptr;
    l.references = 1;
    l.set_valid_until(instant{});
    return l;
}

void leases::take_back(lease& l) noexcept
{
    reentrant_holds_.remove(l);  // while the lease has its resources
    if (l.leads) {
        contention_.end_turn(l);  // its acquire could not begin
    }
    constexpr std::size_t kept_capacity = 256;
    if (l.resource.capacity() > kept_capacity) {
        std::string().swap(l.resource);
    }
    leave_root(l);
    l.token = {};
    l.group.reset();
    l.label.reset();
    records_.give(l);
}

void leases::leave_root(lease& l) noexcept
{
    if (l.within != nullptr) {
        shared_.unref(*std::exchange(l.within, nullptr));
    }
}

void leases::add_hold(lease& hold, lease& root) noexcept
{
    hold.within = &root;
    hold.is_released = hold.is_hold_over = false;
    hold.token = root.token;
    ++root.references;
    ++root.holds;
}

bool leases::end_hold(lease& l) noexcept
{
    lease& root = l.root();
    if (&l != &root) {
        l.is_released = true;
    }
    root.holds -= std::exchange(l.is_hold_over, true) ? 0U : 1U;
    if (root.holds == 0) {
        reentrant_holds_.remove(root);
        return true;
    }
    renewals_.end_hold(l);
    return false;
}

void leases::release(lease& held) noexcept
{
    if (!end_hold(held) || held.root().is_detached) {
        return;
    }
    lease& l = held.root();
    end_validity(l);
    encoded_row same;
    for (auto& n : nodes_) {
        n->send_background_release(l, same);
    }
    drop_label(l);
    if (l.is_granted) {
        contention_.end_turn(l);
        l.is_granted = false;
    }
}

void leases::begin_release(lease& held) noexcept
{
    [[maybe_unused]] const bool was_last = end_hold(held);
    assert(was_last);
    end_validity(held.root());
}

/// From here on, no caller may rely on the lease, whatever the nodes answer.
void leases::end_validity(lease& l) noexcept
{
    renewals_.end(l, errc::not_held);
    l.set_valid_until({});
    l.is_released = true;
}

error_code leases::lose(lease& l) noexcept
{
    if (l.is_detached) {
        renewals_.end(l, errc::not_held);
        return errc::not_held;
    }
    l.lost = true;
    l.set_valid_until({});
    renewals_.end(l, errc::lost);
    contention_.end_turn(l);
    return errc::lost;
}

void leases::detach(lease& held) noexcept
{
    lease& root = held.root();
    root.is_detached = true;
    root.set_valid_until({});
    static_cast<void>(end_hold(held));
    renewals_.end(root, errc::not_held);
    reentrant_holds_.remove(root);  // the client that adopts it holds it alone
    contention_.end_turn(root);
}

void leases::set_label(lease& l, const std::string& label) noexcept
{
    try {
        l.label = std::make_unique<const std::string>(label_tie(l.token.view()) + label);
    } catch (const std::bad_alloc&) {
        return;
    }
    send_label(l);
}

void leases::send_label(const lease& l) noexcept
{
    if (l.label == nullptr) {
        return;
    }
    try {
        for (const auto& n : nodes_) {
            n->store_label(l);
        }
    } catch (const std::bad_alloc&) {
        return;
    }
}

void leases::drop_label(const lease& l) noexcept
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
