#include "sim/application.hpp"
#include "sim/names.hpp"
#include "sim/world.hpp"

#include <algorithm>
#include <chrono>

// Locks that tasks share because they take them for one reentrant owner.
namespace redlock::sim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Often picks a resource that the owner already holds, or a part of it.
void application::may_own(task& mine, acquire_options& o)
{
    const std::uint32_t one_in = w_.planned().owns_one_in;
    const bool owned = one_in > 0 && owning_.one_in(one_in);
    mine.owner = !owned ? 0 : choosing_.one_in(4) ? 2 : 1;
    if (!owned) {
        return;
    }
    o.reentrant_owner = &owners_[mine.owner - 1];
    const task& other = tasks_[owning_.below(tasks_.size())];
    if (other.lease == nullptr || other.owner == 0 || owning_.one_in(4)) {
        return;
    }
    // Asks for a long ttl with a short minimum validity, so that a further hold may have to extend.
    if (o.min_validity == 0ms && owning_.one_in(2)) {
        o.ttl = w_.planned().longest_ttl();
        o.min_validity = milliseconds{owning_.between(1, 20)};
    }
    const auto names = parts_of(other.resource);
    mine.resource = owning_.one_in(2) ? other.resource : names[owning_.below(names.size())];
}

/// Holds the lock until about the end of its validity, while other tasks of its owner may still
/// join.
bool application::stays_to_the_end(unsigned t)
{
    const task& mine = tasks_[t];
    if (mine.owner == 0 || w_.planned().longest_ttl() > 10s || !owning_.one_in(4)) {
        return false;
    }
    const nanos left = mine.lease->root().valid_until() - c_.local_now();
    if (left <= nanos{}) {
        return false;
    }
    w_.schedule(left + owning_.between(nanos{}, w_.planned().pace), event_kind::step, index_,
                c_.generation(), t);
    return true;
}

/// A loss that one task learns of ends the belief of every task that holds the lock.
void application::end_beliefs_in(core::lease& root)
{
    for (const task& t : tasks_) {
        if (t.lease != nullptr && &t.lease->root() == &root) {
            w_.checks.end_belief(t.belief);
        }
    }
}

std::size_t application::nested() const noexcept
{
    return static_cast<std::size_t>(std::count_if(tasks_.begin(), tasks_.end(), [](const task& t) {
        return t.lease != nullptr && t.lease->within != nullptr;
    }));
}

bool application::may_have_held_one_of(const std::string& resource, unsigned asking,
                                       instant since) const
{
    const auto names = parts_of(resource);
    const unsigned owner = tasks_[asking].owner;
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        const auto ended = owned_until_.find({owner, name});
        return (ended != owned_until_.end() && ended->second >= since) ||
               std::any_of(tasks_.begin(), tasks_.end(), [&](const task& t) {
                   // A waiting task may already have the lock without knowing.
                   const bool waits = t.now == state::waiting && &t != &tasks_[asking];
                   if (t.owner != owner || (t.lease == nullptr && !waits)) {
                       return false;
                   }
                   const auto all =
                       t.lease != nullptr ? joined(t.lease->root().resources()) : t.resource;
                   const auto had = parts_of(all);
                   return std::find(had.begin(), had.end(), name) != had.end();
               });
    });
}

void application::note_end_of_hold(const task& mine)
{
    if (mine.owner != 0 && mine.lease != nullptr) {
        for (const std::string& name : mine.lease->root().resources()) {
            owned_until_[{mine.owner, name}] = w_.now();
        }
    }
}

bool application::holds_besides(const core::lease& l) const noexcept
{
    return std::any_of(tasks_.begin(), tasks_.end(), [&l](const task& t) {
        return t.lease != nullptr && t.lease != &l && &t.lease->root() == &l.root();
    });
}

}  // namespace redlock::sim
