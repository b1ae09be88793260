#pragma once

#include "chaos/history.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace redlock::chaos {

/// A stretch of time in which one worker had one resource, as far as it knew.
struct stretch {
    nanos from = 0;
    nanos until = 0;
    unsigned resource = 0;
    unsigned process = 0;
    unsigned worker = 0;
};

/// A fencing token, from when its acquire began and when it was known.
struct granted {
    nanos begun = 0;
    nanos known = 0;
    std::int64_t token = 0;
    unsigned resource = 0;
    unsigned process = 0;
    unsigned worker = 0;
};

/// An operation that has begun and not ended.
struct open_operation {
    nanos since = 0;
    unsigned process = 0;
    unsigned worker = 0;
};

/// An operation that ended, or was given up on, behind the longest that it may take.
struct late_operation {
    nanos begun = 0;
    nanos ended = 0;
    nanos allowed = 0;
    unsigned process = 0;
    unsigned worker = 0;
};

/// How often what happened.
struct tally {
    std::uint64_t acquired = 0;
    std::uint64_t extended = 0;
    std::uint64_t renewed = 0;  ///< locks that were kept alive for longer than first told
    std::uint64_t given_back = 0;
    std::uint64_t written = 0;
    std::uint64_t refrained = 0;
    std::uint64_t late = 0;  ///< writes that were done after the validity had ended
    std::array<std::uint64_t, reasons> not_acquired{};
    std::array<std::uint64_t, reasons> not_extended{};
    std::array<std::uint64_t, reasons> not_given_back{};
};

/**
 * What the histories of all processes say, read from the first record of each to its last.
 *
 * A lease is believed in from the moment its worker was told of it until the worker begins to give
 * it back, be that a success or not, or until its validity ends, whichever is first. An acquire
 * that ends with an error gave no belief, whatever it left on the masters. A process that was
 * killed believes in its leases to the end of their validity.
 */
class chronicle {
public:
    /// Adds one record of a process; those of one worker have to come in their order.
    void add(unsigned process, const record& what);

    /// The process is no more since `at`: what it had begun will not end.
    void died(unsigned process, nanos at);

    /// Everybody's belief, that of now included.
    [[nodiscard]] std::vector<stretch> leases() const;

    /// Of all leases.
    [[nodiscard]] const std::vector<granted>& tokens() const noexcept { return tokens_; }

    /// From reading a set to having written it.
    [[nodiscard]] const std::vector<stretch>& steps() const noexcept { return steps_; }

    /// The elements that were written to a resource's set, as far as their writers know.
    [[nodiscard]] std::vector<std::uint64_t> written(unsigned resource) const;

    /**
     * Those of them that have to be there, though some were written late, when the validity was
     * over: without these and what was under way at the same time. The first step to take the size
     * back behind an element has read it before that element was in, and so overlaps with its step.
     * So an element whose step overlaps with no late one is lost only by two who had the lock at
     * the same time.
     */
    [[nodiscard]] std::vector<std::uint64_t> written_apart_from_late(unsigned resource) const;

    [[nodiscard]] const tally& counts() const noexcept { return counts_; }

    /// Of those that have ended.
    [[nodiscard]] nanos longest_operation() const noexcept { return longest_operation_; }

    /// How late the latest operation was.
    [[nodiscard]] nanos most_overdue() const;

    /// Operations that were later than by `margin`. To be asked when all records have been read:
    /// that a process stood still it may say behind what that made late.
    [[nodiscard]] std::vector<late_operation> overdue(nanos margin) const;

    /// When a process last took this resource; 0 if it never did.
    [[nodiscard]] nanos last_acquired(unsigned process, unsigned resource) const;

    /// When anybody last did.
    [[nodiscard]] nanos last_acquired(unsigned resource) const;

    [[nodiscard]] std::vector<open_operation> open_operations() const;

private:
    struct worker_state {
        nanos operation_since = 0;
        nanos operation_allowed = 0;
        nanos reading_since = 0;
        std::optional<stretch> held;
    };
    using worker_id = std::pair<unsigned, unsigned>;

    struct pause {
        nanos from = 0;
        nanos until = 0;
    };

    struct update {
        nanos read = 0;
        nanos written = 0;
        std::uint64_t element = 0;
        bool late = false;
    };

    static void begin_operation(worker_state& of, const record& what);
    void end_operation(worker_state& of, worker_id who, nanos at);
    void note_late(const worker_state& of, worker_id who, nanos at);
    [[nodiscard]] nanos overdue_by(const late_operation& which) const;
    void end_belief(worker_state& of, nanos at);
    void end_step(const worker_state& of, worker_id who, const record& what);

    std::map<worker_id, worker_state> workers_;
    std::vector<stretch> past_leases_;
    std::vector<stretch> steps_;
    std::vector<granted> tokens_;
    std::map<unsigned, std::vector<update>> updates_;
    std::map<std::pair<unsigned, unsigned>, nanos> last_acquired_;
    nanos longest_operation_ = 0;
    std::vector<late_operation> late_;
    std::map<unsigned, std::vector<pause>> pauses_;
    tally counts_;
};

/// Pairs of stretches of one resource that have an instant in common, each with the one before it
/// that lasts longest.
[[nodiscard]] std::vector<std::pair<stretch, stretch>> overlaps(std::vector<stretch> all);

/// Pairs of fencing tokens of one resource that are the same, or of which the second is smaller
/// though the first was known when it was asked for.
[[nodiscard]] std::vector<std::pair<granted, granted>> disorder(std::vector<granted> all);

/// What was written and is not there.
[[nodiscard]] std::vector<std::uint64_t> missing(std::span<const std::uint64_t> written,
                                                 std::span<const std::uint64_t> there);

}  // namespace redlock::chaos
