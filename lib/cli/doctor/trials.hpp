#pragma once

#include "cli/doctor/connection.hpp"
#include "cli/doctor/facts.hpp"
#include "resp/reader.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The outcome of a command that the doctor tried, from the node's answer. The text of an error
/// leaves `password` out.
[[nodiscard]] trial outcome_of(needed n, const resp::reply& r, std::string_view password);

/// The outcome of commands that the doctor tried inside a script, from the script's answer.
[[nodiscard]] trial outcome_in_script(const resp::reply& r, std::string_view password);

/// The fault in the value of a fencing counter, after its name. Empty: there is none.
[[nodiscard]] std::string fault_of_counter(const resp::reply& value);

/// The fault in the value of a holder's label, after its name. Empty: there is none.
[[nodiscard]] std::string fault_of_label(const resp::reply& value);

/// Tries commands on one connection, and adds their outcomes to the facts. The arguments of the
/// constructor must outlive the object.
class trials {
public:
    using words = std::initializer_list<std::string_view>;
    using listener = std::function<void(needed, const resp::reply&)>;

    trials(doctor_connection& talk, node_facts& facts, std::string_view password)
        : talk_(talk),
          facts_(facts),
          password_(password)
    {}

    /// Adds a command to the next `send` of the connection.
    void put(words command);
    /// Adds a command whose outcome `hear` adds to the facts.
    void attempt(needed n, words command);
    /// Sends the commands and waits for their replies. `also` gets each reply too.
    /// @throws no_answer
    boost::asio::awaitable<void> hear(listener also = {});
    /// Waits for the answer of one script, and returns the outcome of the commands inside it.
    /// @throws no_answer
    boost::asio::awaitable<trial> hear_script();

private:
    doctor_connection& talk_;
    node_facts& facts_;
    const std::string_view password_;
    /// The commands whose replies are outstanding, in order.
    std::vector<needed> asked_;
};

}  // namespace redlock::cli
