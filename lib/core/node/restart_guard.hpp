#pragma once

#include "base/instant.hpp"
#include "core/node/admission.hpp"
#include "core/node/handshake.hpp"
#include "core/node/requests.hpp"
#include "core/node/state.hpp"
#include "resp/reader.hpp"

#include <string>
#include <string_view>

namespace redlock::core {

/// The restart guard of one node: sends the steps of its admission, and logs what they lead to.
class restart_guard {
public:
    restart_guard(node_state& node, requests& r, core::admission& steps)
        : node_(node),
          requests_(r),
          admission_(steps)
    {}

    [[nodiscard]] bool is_on() const noexcept { return admission_.is_guarded(); }
    /// Why the node is in quarantine.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    /// Whether the node's vote for the lease counts only with a marker that was read after it. A
    /// proven grant needs no further proof: a restart would have taken its key away.
    [[nodiscard]] bool has_to_prove(const lease& l) const noexcept
    {
        return is_on() && (l.counted & bit(node_.index)) == 0;
    }

    /// Takes the run id and the marker that the handshake has read. False: clients with another
    /// configuration wrote the marker.
    [[nodiscard]] bool begin_connection(const handshake& greeting);
    /// The connection is ready. `is_first`: the first attempt to connect has succeeded.
    void on_ready(const handshake& greeting, bool is_first);
    /// Sends the step that is due, if one is.
    void send_step();
    /// Takes a marker that the node returned, or a null.
    marker_says on_marker(const resp::reply& marker);
    /// Takes the reply to a step. False: clients with another configuration wrote the marker.
    [[nodiscard]] bool on_answer(admission::step asked, const resp::reply& r);
    /// The node refuses a step of its admission. The client logs the reason once, and tries again.
    void cannot_be_admitted(std::string why);

private:
    void draw_consequences(marker_says says, bool is_missing) noexcept;
    void be_admitted() noexcept;
    void suspect(std::string_view reason) noexcept;
    void on_pending_left();

    node_state& node_;
    requests& requests_;
    core::admission& admission_;
    std::string reason_;
};

}  // namespace redlock::core
