#pragma once

#include <redlock/log.hpp>

#include "base/settings.hpp"
#include "core/node/context.hpp"

#include <string>
#include <string_view>

namespace redlock::core {

/// The reason why a node is out of use. Logs each reason once, and its end.
class trouble {
public:
    trouble(node_context& shared, const base::address& at) : shared_(shared), address_(at) {}

    /// The reason; empty while the node is ready.
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    /// Whether the last connection was given up because an answer said that the node is unfit, and
    /// the node has granted nothing since.
    [[nodiscard]] bool is_unfit() const noexcept { return !unfit_.empty(); }

    void on_connected();
    void on_ready() noexcept;
    /// The connection, or the attempt to make one, has ended.
    void on_ended(std::string_view reason, log_level level) noexcept;
    /// The connection has ended because an answer said that the node is unfit. `reason` must be a
    /// literal.
    void on_unfit(std::string_view reason) noexcept { unfit_ = reason; }
    void on_granted() noexcept;

private:
    void log_end() noexcept;

    static constexpr const char* never_connected = "no connection yet";

    node_context& shared_;
    const base::address& address_;
    std::string text_ = never_connected;
    std::string_view unfit_;
    /// A reason is in the log, and its end is not.
    bool is_logged_ = false;
};

}  // namespace redlock::core
