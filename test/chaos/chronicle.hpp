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

/// A span of time in which one worker believed that it held a resource.
struct stretch {
    nanos from = 0;
    nanos until = 0;
    unsigned resource = 0;
    unsigned process = 0;
    unsigned worker = 0;
};

/// A fencing token, with the beginning of its acquire and the time when it was known.
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

/// An operation that ended after its limit, or was given up.
struct late_operation {
    nanos begun = 0;
    nanos ended = 0;
    nanos allowed = 0;
    unsigned process = 0;
    unsigned worker = 0;
};

/// Counts of events.
struct tally {
    std::uint64_t acquired = 0;
    std::uint64_t extended = 0;
    std::uint64_t renewed = 0;  ///< locks that were kept alive beyond their first validity
    std::uint64_t given_back = 0;
    std::uint64_t written = 0;
    std::uint64_t refrained = 0;
    std::uint64_t late = 0;  ///< writes after the end of the validity
    std::array<std::uint64_t, reasons> not_acquired{};
    std::array<std::uint64_t, reasons> not_extended{};
    std::array<std::uint64_t, reasons> not_given_back{};
};

/**
 * The evaluation of the histories of all processes, from the first record of each to its last.
 *
 * A worker believes in a lease from its success until the worker begins to release it, whatever the
 * result, or until its validity ends, whichever is first. An acquire that ends with an error gave
 * no belief, whatever it left on the nodes. A process that was killed believes in its leases to the
 * end of their validity.
 */
class chronicle {
public:
    /// Adds one record of a process. The records of one worker must come in their order.
    void add(unsigned process, const record& what);

    /// The process ended at `at`. Its open operations will not end.
    void died(unsigned process, nanos at);

    /// All beliefs, including the present ones.
    [[nodiscard]] std::vector<stretch> leases() const;

    /// The fencing tokens of all leases.
    [[nodiscard]] const std::vector<granted>& tokens() const noexcept { return tokens_; }

    /// The spans from reading a set to the end of the write.
    [[nodiscard]] const std::vector<stretch>& steps() const noexcept { return steps_; }

    /// The elements that were written to a resource's set, as far as their writers know.
    [[nodiscard]] std::vector<std::uint64_t> written(unsigned resource) const;

    /**
     * The elements that must be there although some were written late, after the end of the
     * validity. Leaves out the late ones and those whose steps overlap with a late step. If a step
     * sets the size back below an element, it has read the size before that element was written, so
     * the two steps overlap. So an element without an overlap with a late step is lost only if two
     * workers had the lock at the same time.
     */
    [[nodiscard]] std::vector<std::uint64_t> written_apart_from_late(unsigned resource) const;

    [[nodiscard]] const tally& counts() const noexcept { return counts_; }

    /// Among operations that have ended.
    [[nodiscard]] nanos longest_operation() const noexcept { return longest_operation_; }

    /// How late the latest operation was.
    [[nodiscard]] nanos most_overdue() const;

    /// Operations that were late by more than `margin`. To be asked after all records were read,
    /// because a process reports a pause only after the operations that it delayed.
    [[nodiscard]] std::vector<late_operation> overdue(nanos margin) const;

    /// When a process last took this resource. 0 if it never did.
    [[nodiscard]] nanos last_acquired(unsigned process, unsigned resource) const;

    /// When any process last took it.
    [[nodiscard]] nanos last_acquired(unsigned resource) const;

    /// When the last belief in it ended or will end. 0 if there was none.
    [[nodiscard]] nanos held_until(unsigned resource) const;

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
    /// The end of the last belief, by resource, without present beliefs.
    std::map<unsigned, nanos> held_until_;
    nanos longest_operation_ = 0;
    std::vector<late_operation> late_;
    std::map<unsigned, std::vector<pause>> pauses_;
    tally counts_;
};

/// Pairs of overlapping spans of one resource. Each span is paired with the earlier one that lasts
/// longest.
[[nodiscard]] std::vector<std::pair<stretch, stretch>> overlaps(std::vector<stretch> all);

/// Pairs of fencing tokens of one resource that are equal, or whose second is smaller although the
/// first was known when the second was asked for.
[[nodiscard]] std::vector<std::pair<granted, granted>> disorder(std::vector<granted> all);

/// Elements that were written and are gone.
[[nodiscard]] std::vector<std::uint64_t> missing(std::span<const std::uint64_t> written,
                                                 std::span<const std::uint64_t> there);

}  // namespace redlock::chaos
