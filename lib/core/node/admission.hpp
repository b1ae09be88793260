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

/// What clients agree on in a restart guard's marker.
struct guard_terms {
    std::int64_t nodes = 0;
    std::chrono::milliseconds max_ttl{};
    std::int64_t drift_ppb = 0;
};

/// Those of a marker, of which any program may have written another. No value: it has none.
[[nodiscard]] std::optional<guard_terms> terms_in(std::string_view marker) noexcept;

/// What is to be said of a marker that names the run of the server and another configuration.
[[nodiscard]] std::string disagreement(std::string_view marker, std::string_view run_id);

/// What the marker that was read says of the node.
enum class marker_says : std::uint8_t {
    admitted,
    not_admitted,         ///< there is none, or it names another run of the server
    other_configuration,  ///< admitted, by clients that are configured differently, or undated
};

/**
 * Whether one master may vote, and what it takes until it may: the restart guard, without what is
 * sent and received for it.
 *
 * A master is admitted while its marker names the run of the server that this connection leads to,
 * and the configuration, and the date by the server's own clock at which that was. One that is not
 * is in quarantine: the client leaves a pending key there, waits from when it knows the key to be
 * there, and lets a script write the marker if the key is there still. Connections come and go
 * meanwhile; another run of the server begins anew.
 */
class admission {
public:
    /// What is to be asked of the node next, one at a time.
    enum class step : std::uint8_t {
        none,
        leave_pending,  ///< SET the pending key
        look,           ///< GET the marker, which another client may have written
        admit,          ///< the script
    };

    /// `g` may be null: a node that is not guarded is always admitted.
    explicit admission(const base::guard_settings* g) noexcept
        : guard_(g),
          wait_(g != nullptr ? g->quarantine : base::nanos{})
    {}

    [[nodiscard]] bool is_guarded() const noexcept { return guard_ != nullptr; }
    [[nodiscard]] bool is_quarantined() const noexcept { return quarantined_; }

    /// A connection stands, to a server that calls itself `run_id`.
    void on_connected(std::string_view run_id);
    void on_disconnected() noexcept;

    /// `marker`: the marker's value as read on this connection; nothing: there is none. One that
    /// admits the node tells when that was.
    [[nodiscard]] marker_says judge(std::optional<std::string_view> marker) noexcept;
    /// The node's own date in microseconds when this run of it was admitted, as last read; 0: that
    /// is not known.
    [[nodiscard]] std::int64_t admitted_us() const noexcept { return admitted_us_; }

    /// The node has shown that it is admitted. True: that is news.
    bool admit() noexcept;
    /// The node has shown that it is not. True: that is news.
    bool suspend(base::instant now) noexcept;
    /// It need not wait: its keys are known to be none. Behind `suspend`, once for a node.
    void trust() noexcept { wait_ = {}; }

    /// What is due now, if anything; it is under way until end_step().
    [[nodiscard]] step begin_step(base::instant now) noexcept;
    [[nodiscard]] step under_way() const noexcept { return under_way_; }
    /// The answer has come: to what.
    [[nodiscard]] step end_step() noexcept { return std::exchange(under_way_, step::none); }
    [[nodiscard]] base::instant next_step() const noexcept { return next_; }
    /// How long it will be in quarantine yet.
    [[nodiscard]] base::nanos remaining(base::instant now) const noexcept;

    /// The key to be left is a new one each time. Only then it shows, by being there, that nothing
    /// was lost since.
    void name_pending(std::string_view random);
    [[nodiscard]] const std::string& pending_key() const noexcept { return pending_; }
    /// Longer than it is waited for, also by who loses his connection.
    [[nodiscard]] base::nanos pending_life() const noexcept;
    [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
    /// The marker that admits the node, up to the date.
    [[nodiscard]] std::string_view undated_marker() const noexcept
    {
        return std::string_view(marker_).substr(0, undated_size_);
    }

    // How a step went that showed nothing else of the node.
    /// The pending key is there: the wait begins.
    void on_pending_left(base::instant now) noexcept;
    /// It is there no more: keys were lost meanwhile, and the wait begins anew.
    void on_pending_gone(base::instant now) noexcept;
    /// Nothing has changed, or the node has refused.
    void on_unchanged(base::instant now) noexcept;

private:
    void forget_wait() noexcept;
    [[nodiscard]] base::nanos pace() const noexcept;
    [[nodiscard]] base::instant end_of_wait() const noexcept;

    const base::guard_settings* guard_;
    bool quarantined_ = false;
    step under_way_ = step::none;
    /// Of the server that the connection leads to, or last led to.
    std::string run_id_;
    /// As last read: the same bytes need no second look. Without a date until one was read.
    std::string marker_;
    std::size_t undated_size_ = 0;
    std::int64_t admitted_us_ = 0;
    std::string pending_;
    /// How long, and since when; `max` while the pending key is not known to be there.
    base::nanos wait_;
    base::instant waits_since_ = base::instant::max();
    base::instant next_ = base::instant::max();
};

}  // namespace redlock::core
