#pragma once

#include "core/node/batch.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace redlock::core {

/// The batches of one node that the client sends at the end of the turn, one of each kind.
class open_batches {
public:
    /// `memory` must outlive the object.
    explicit open_batches(batch_pool& memory) noexcept : memory_(memory) {}
    open_batches(const open_batches&) = delete;
    open_batches& operator=(const open_batches&) = delete;

    [[nodiscard]] bool empty() const noexcept { return open_[0] == nullptr && open_[1] == nullptr; }
    /// Whether a command for a resource with this hash is in a batch.
    [[nodiscard]] bool contains(std::uint64_t resource_hash) const noexcept
    {
        return resources_[bit_of(resource_hash)] && std::ranges::any_of(open_, [&](const batch* b) {
                   return b != nullptr && b->contains(resource_hash);
               });
    }
    [[nodiscard]] bool is_full(command kind) const noexcept
    {
        const batch* const b = open_[place_of(kind)];
        return b != nullptr && b->is_full();
    }

    /// The batch must have room. May throw `std::bad_alloc`; then nothing has changed.
    void add(command kind, const pending& p, std::uint64_t resource_hash)
    {
        batch*& b = open_[place_of(kind)];
        if (b == nullptr) {
            b = &memory_.take();
            b->size = b->answered = 0;
        }
        b->add(p, resource_hash);
        resources_.set(bit_of(resource_hash));
    }

    /// Null: there is none.
    [[nodiscard]] batch* find(command kind) noexcept { return open_[place_of(kind)]; }
    /// The caller gives the batch back to the memory in the end.
    [[nodiscard]] batch* take(command kind) noexcept
    {
        batch* const taken = std::exchange(open_[place_of(kind)], nullptr);
        if (empty()) {
            resources_.reset();
        }
        return taken;
    }

private:
    [[nodiscard]] static std::size_t place_of(command kind) noexcept
    {
        return kind == command::release_batch ? 0 : 1;
    }
    [[nodiscard]] std::size_t bit_of(std::uint64_t resource_hash) const noexcept
    {
        return resource_hash % resources_.size();
    }

    batch_pool& memory_;
    std::array<batch*, 2> open_{};
    /// One bit for each hash, so that most searches read no batch.
    std::bitset<4096> resources_;
};

}  // namespace redlock::core
