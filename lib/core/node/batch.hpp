#pragma once

#include "core/node/command.hpp"
#include "core/pool.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace redlock::core {

/// Releases, or extends, of one lock each that go to a node in one script.
struct batch {
    /// With more keys a script would hold up the server for longer, and save little.
    static constexpr std::size_t max_size = 64;

    std::array<pending, max_size> all{};
    /// The hash of the resource of each command.
    std::array<std::uint64_t, max_size> hashes{};
    std::size_t size = 0;
    /// How many of them have got their part of the reply.
    std::size_t answered = 0;

    /// There must be room.
    void add(const pending& p, std::uint64_t resource_hash) noexcept
    {
        assert(!is_full());
        all[size] = p;
        hashes[size++] = resource_hash;
    }
    [[nodiscard]] bool is_full() const noexcept { return size == max_size; }
    /// Whether the words of both batches are the same.
    [[nodiscard]] bool has_same_commands(const batch& other) const noexcept
    {
        return std::ranges::equal(commands(), other.commands(), [](const auto& a, const auto& b) {
            return a.subject == b.subject && a.what == b.what;
        });
    }
    [[nodiscard]] bool contains(std::uint64_t resource_hash) const noexcept
    {
        const auto used = std::span(hashes).first(size);
        return std::ranges::find(used, resource_hash) != used.end();
    }
    [[nodiscard]] std::span<const pending> commands() const noexcept
    {
        return std::span(all).first(size);
    }
    [[nodiscard]] std::span<const pending> unanswered() const noexcept
    {
        return commands().subspan(answered);
    }
};

/// A batch is large, and a client needs few at a time.
using batch_pool = pool<batch, 4>;

/// The words of a batch in the buffer of one node, to be copied for the next node. Valid until
/// something else is appended for the first node.
struct encoded_batch {
    const batch* source = nullptr;
    form sent_as = form::evalsha;
    std::string_view bytes{};
};

/// The last batch of each kind.
struct encoded_batches {
    encoded_batch releases;
    encoded_batch extends;
};

}  // namespace redlock::core
