#pragma once

#include "base/instant.hpp"
#include "base/login.hpp"
#include "core/node/node.hpp"
#include "core/operations/context.hpp"
#include "core/round.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

class connection;

/**
 * The connections to the nodes, for the engine: it reports their events, and collects what to
 * connect to, to close and to write.
 *
 * After `take_to_connect` named a node, the engine answers with on_connected or on_closed; after
 * `take_to_close`, with nothing. With `config::credentials` it calls on_credentials before
 * on_connected.
 */
class network {
public:
    explicit network(operation_context& c) noexcept : c_(c) {}

    /// Begins to connect to all nodes.
    void start(base::instant now) noexcept;
    /// False: the attempt to connect was given up.
    [[nodiscard]] bool on_credentials(base::instant now, unsigned node,
                                      const base::login& given) noexcept;
    /// The TCP connection to a node with TLS is made.
    void on_tls_handshake(unsigned node) noexcept;
    /// Whether the name of the node has addresses that were not tried yet. If this server can't be
    /// used, the client connects to the next one at once.
    void note_other_addresses(unsigned node, bool has_some) noexcept;
    /// Whether a connection to the node that was ready has ended since the last call.
    [[nodiscard]] bool take_was_useful(unsigned node) noexcept;
    void on_connected(base::instant now, unsigned node) noexcept;
    void on_bytes(base::instant now, unsigned node, std::string_view bytes) noexcept;
    void on_closed(base::instant now, unsigned node, std::string_view reason) noexcept;

    [[nodiscard]] node_mask take_to_connect() noexcept
    {
        return std::exchange(c_.shared.to_connect, 0);
    }
    [[nodiscard]] node_mask take_to_close() noexcept
    {
        return std::exchange(c_.shared.to_close, 0);
    }
    /// Ends the turn: the nodes to which there is something to write. If memory runs out, the core
    /// gives connections up and operations end, so the engine then also does what follows from
    /// `take_to_close`.
    [[nodiscard]] node_mask take_written() noexcept;
    [[nodiscard]] bool has_output(unsigned node) const noexcept
    {
        return !c_.nodes[node]->out().empty();
    }
    /// The bytes to write to a node next. The engine takes them and leaves an empty string. They
    /// count as buffered until on_written.
    [[nodiscard]] std::string& take_output(unsigned node) noexcept
    {
        return c_.nodes[node]->out().take();
    }
    /// `used`: the string that was taken, emptied and overwritten, for further bytes.
    void on_written(unsigned node, std::string used = {}) noexcept
    {
        c_.nodes[node]->out().on_written(std::move(used));
    }
    [[nodiscard]] std::size_t buffered_bytes(unsigned node) const noexcept
    {
        return c_.nodes[node]->out().size();
    }
    /// Whether no release is under way or about to be sent.
    [[nodiscard]] bool is_quiet() const noexcept;

    // The core.
    /// Lets each node do what is due.
    void on_time() noexcept;
    /// Ends all connections, and makes no further one.
    void stop() noexcept;
    /// When a node has something to do next.
    [[nodiscard]] base::instant next_wake_up() const noexcept;

private:
    template <class Step>
    bool step_or_break_off(unsigned index, Step step) noexcept;
    bool end_turn(node_mask of) noexcept;

    operation_context& c_;
};

}  // namespace redlock::core
