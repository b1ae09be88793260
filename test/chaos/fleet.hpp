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

/// What all clients have in common; each gets numbers of its own besides.
struct fleet_options {
    std::filesystem::path program;  ///< has the sub-command `client`
    client_options client;
    unsigned clients = 4;
};

/// The client processes. A seat is a place in the run that one process after the other takes.
class fleet {
public:
    explicit fleet(fleet_options options);

    [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(seats_.size()); }

    /// SIGKILL, and another process in the same seat.
    void kill(unsigned which);
    void start(unsigned which);

    /// SIGSTOP; not between the question whether a lock is owned and the step behind it, unless
    /// the clients are heedless. False when no better moment came.
    bool stop(unsigned which);
    void cont(unsigned which);

    /// Runs, and has not been stopped.
    [[nodiscard]] bool goes(unsigned which) const;

    /// Since when it does.
    [[nodiscard]] nanos going_since(unsigned which) const { return seats_.at(which).going_since; }

    /// The fewest nodes that have a vote with a client that goes; at most `nodes`.
    [[nodiscard]] unsigned fewest_voting(unsigned nodes) const;

    /// Adds to the chronicle what has been put on record since.
    void read(chronicle& to);

    /// When the process in this seat last took the resource of its own, which nobody ever wanted
    /// but this process.
    [[nodiscard]] nanos last_own(const chronicle& from, unsigned which) const;

    /// How many resources there are, of all kinds.
    [[nodiscard]] unsigned resources() const
    {
        return options_.client.shared + static_cast<unsigned>(sources_.size());
    }

    /// The elements of a resource's set.
    [[nodiscard]] std::vector<std::uint64_t> elements(unsigned resource) const;

    /// Throws when a process has ended that nobody killed, with its last words.
    void check();

    /// SIGTERM to all; gives the seats whose process did not end by itself, and in good order.
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
