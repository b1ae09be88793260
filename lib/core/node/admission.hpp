#pragma once

#include "base/instant.hpp"
#include "base/settings.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

/// The settings that a restart guard's marker names. All clients must have the same ones.
struct guard_terms {
    std::int64_t nodes = 0;
    std::chrono::milliseconds max_ttl{};
    std::int64_t drift_ppb = 0;
};

/// Reads the settings from a marker. Any program may have written it. Empty: it has none.
[[nodiscard]] std::optional<guard_terms> terms_in(std::string_view marker) noexcept;

/// The log text for a marker that names the run of the server, and another configuration.
[[nodiscard]] std::string disagreement(std::string_view marker, std::string_view run_id);

/// The meaning of a marker for the node.
enum class marker_says : std::uint8_t {
    admitted,
    not_admitted,         ///< There is no marker, or it names another run of the server.
    other_configuration,  ///< The marker names another configuration, or has no date.
};

/**
 * Whether one node may vote, and the steps until it may: the logic of the restart guard, without
 * sending and receiving.
 *
 * A node is admitted while its marker names the run of the server that this connection leads to,
 * and the configuration. The marker must also have the date of the admission by the server's own
 * clock.
 *
 * A node that is not admitted is in quarantine. The client leaves a pending key on it, and waits
 * from the time at which it knows that the key is there. Then a script writes the marker if the
 * pending key is still there. The wait goes on while connections come and go. For another run of
 * the server it begins again.
 */
class admission {
public:
    /// A step of the admission. Only one at a time is under way.
    enum class step : std::uint8_t {
        none,
        leave_pending,  ///< SET the pending key
        look,           ///< GET the marker, which another client may have written
        admit,          ///< the script that writes the marker
    };

    /// `g` may be null: a node that is not guarded is always admitted.
    explicit admission(const base::guard_settings* g) noexcept
        : guard_(g),
          wait_(g != nullptr ? g->quarantine : base::nanos{})
    {}

    [[nodiscard]] bool is_guarded() const noexcept { return guard_ != nullptr; }
    [[nodiscard]] bool is_quarantined() const noexcept { return quarantined_; }

    /// The client is connected to a server with this run id.
    void on_connected(std::string_view run_id);
    void on_disconnected() noexcept;

    /// `marker`: the marker's value as read on this connection; empty: there is none. Keeps the
    /// date of a marker that admits the node.
    [[nodiscard]] marker_says judge(std::optional<std::string_view> marker) noexcept;
    /// The date of the admission by the node's own clock, in microseconds, as last read; 0: not
    /// known.
    [[nodiscard]] std::int64_t admitted_us() const noexcept { return admitted_us_; }

    /// The node has shown that it is admitted. True: that is news.
    bool admit() noexcept;
    /// The node has shown that it is not admitted. True: that is news.
    bool suspend(base::instant now) noexcept;
    /// The node need not wait, because it is known to have no keys. To be called after `suspend`,
    /// once for a node.
    void trust() noexcept { wait_ = {}; }

    /// Begins the step that is due; `none`: no step is. The step is under way until `end_step`.
    [[nodiscard]] step begin_step(base::instant now) noexcept;
    [[nodiscard]] step under_way() const noexcept { return under_way_; }
    /// The answer has come. Returns the step that was under way.
    [[nodiscard]] step end_step() noexcept { return std::exchange(under_way_, step::none); }
    /// The instant at which the next step is due; `max`: there is none.
    [[nodiscard]] base::instant next_step() const noexcept { return next_; }
    /// The time that the node will still be in quarantine.
    [[nodiscard]] base::nanos remaining(base::instant now) const noexcept;

    /// Names the next pending key. Each has a new name, so its presence shows that the node has
    /// lost nothing since the client left it.
    void name_pending(std::string_view random);
    [[nodiscard]] const std::string& pending_key() const noexcept { return pending_; }
    /// The ttl of the pending key. It exceeds the wait, even if the client loses its connection for
    /// some time.
    [[nodiscard]] base::nanos pending_life() const noexcept;
    [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
    /// The marker that admits the node, up to where its date begins.
    [[nodiscard]] std::string_view undated_marker() const noexcept
    {
        return std::string_view(marker_).substr(0, undated_size_);
    }

    // The outcomes of a step that show nothing else about the node.
    /// The pending key is there: the wait begins.
    void on_pending_left(base::instant now) noexcept;
    /// The pending key has gone: the node has lost keys, and the wait begins again.
    void on_pending_gone(base::instant now) noexcept;
    /// The step has changed nothing, or the node has refused it.
    void on_unchanged(base::instant now) noexcept;

private:
    void forget_wait() noexcept;
    [[nodiscard]] base::nanos pace() const noexcept;
    [[nodiscard]] base::instant end_of_wait() const noexcept;

    const base::guard_settings* guard_;
    bool quarantined_ = false;
    step under_way_ = step::none;
    /// The run id of the server that the connection leads to, or last led to.
    std::string run_id_;
    /// The marker as last read, so that equal bytes need no second check. It has no date until one
    /// was read.
    std::string marker_;
    std::size_t undated_size_ = 0;
    std::int64_t admitted_us_ = 0;
    std::string pending_;
    /// The length of the wait, and when it began; `max` while the pending key is not known to be
    /// there.
    base::nanos wait_;
    base::instant waits_since_ = base::instant::max();
    base::instant next_ = base::instant::max();
};

}  // namespace redlock::core
