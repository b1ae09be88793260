#pragma once

#include "chaos/chronicle.hpp"
#include "chaos/client.hpp"
#include "chaos/history.hpp"
#include "chaos/mapped.hpp"
#include "chaos/shared.hpp"

#include "support/process.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::chaos {

/// The options that all clients share. Each gets its own numbers too.
struct fleet_options {
    std::filesystem::path program;  ///< has the sub-command `client`
    client_options client;
    unsigned clients = 4;
};

/// The client processes. A seat is a place for one process after the other.
class fleet {
public:
    explicit fleet(fleet_options options);

    [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(seats_.size()); }

    /// SIGKILL, and another process in the same seat.
    void kill(unsigned which);
    void start(unsigned which);

    /// SIGSTOP. Not between the check whether a lock is owned and the step after it, unless the
    /// clients are heedless. False if no better moment came.
    bool stop(unsigned which);
    void cont(unsigned which);

    /// Whether the process runs and is not stopped.
    [[nodiscard]] bool goes(unsigned which) const;

    /// Whether a worker of the process has a shared lock. Otherwise its workers wait for one.
    [[nodiscard]] bool holds_shared(unsigned which) const;

    /// When the process last began or continued.
    [[nodiscard]] nanos going_since(unsigned which) const { return seats_.at(which).going_since; }

    /// The fewest voting nodes of any running client. At most `nodes`.
    [[nodiscard]] unsigned fewest_voting(unsigned nodes) const;

    /// Adds new records to the chronicle.
    void read(chronicle& to);

    /// When the process in this seat last took its own resource, which no other process wants.
    [[nodiscard]] nanos last_own(const chronicle& from, unsigned which) const;

    /// The number of resources of all kinds.
    [[nodiscard]] unsigned resources() const
    {
        return options_.client.shared + static_cast<unsigned>(sources_.size());
    }

    /// The elements of a resource's set.
    [[nodiscard]] std::vector<std::uint64_t> elements(unsigned resource) const;

    /// Throws if a process has ended without being killed. The exception has its last words.
    void check();

    /// Sends SIGTERM to all. Returns the seats whose process did not end by itself with success.
    [[nodiscard]] std::vector<unsigned> finish(std::chrono::milliseconds bound);

private:
    struct seat {
        unsigned process = 0;
        std::unique_ptr<test::process> running;
        std::unique_ptr<mapped<board>> wall;
        bool stopped = false;
        nanos going_since = 0;
    };
    struct source {
        unsigned process;
        history_tail tail;
        nanos died = 0;  ///< 0: it has not
        bool read_to_the_end = false;
    };

    [[nodiscard]] unsigned own(unsigned which) const
    {
        return options_.client.shared + seats_.at(which).process;
    }
    [[nodiscard]] std::vector<std::string> arguments(unsigned which) const;
    [[nodiscard]] std::string last_words(unsigned process) const;

    fleet_options options_;
    std::vector<seat> seats_;
    std::vector<source> sources_;
};

}  // namespace redlock::chaos
