#pragma once

#include "base/settings.hpp"
#include "cli/doctor/connection.hpp"
#include "cli/doctor/facts.hpp"
#include "cli/doctor/trials.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace redlock::cli {

/// Tries the commands that use keys, as a client uses them. All keys that it writes are its own and
/// get a ttl. The arguments of the constructor must outlive the object.
class key_trials {
public:
    key_trials(doctor_connection& talk, const base::settings& s, node_facts& facts, trials& all);

    /// Adds the commands that need no earlier reply to `all`.
    void ask();
    /// Tries a fencing counter.
    boost::asio::awaitable<void> count();
    /// Tries the commands that the node refuses inside a script, where clients use most of them. A
    /// proxy may refuse only what it sees.
    boost::asio::awaitable<void> try_in_scripts();
    /// Tries the queue of waiting clients with a ticket of the doctor's own. If that fails, tries
    /// each command of the queue.
    boost::asio::awaitable<void> queue();
    /// Looks at the keys of the named resource, and changes nothing.
    boost::asio::awaitable<void> look_at_resource();

private:
    void try_keys();
    void try_scripts();
    void try_tracking();
    boost::asio::awaitable<void> try_queue_scripts();
    boost::asio::awaitable<void> try_queue_commands();

    doctor_connection& talk_;
    const base::settings& settings_;
    node_facts& facts_;
    trials& trials_;
    const std::string value_;
    const std::string other_value_;
    const std::string key_;
    const std::string counter_;
    const std::string queue_;
    const std::string ticket_;
    const std::string ticket_key_;
};

}  // namespace redlock::cli
