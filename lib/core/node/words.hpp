#pragma once

#include "base/settings.hpp"
#include "core/node/admission.hpp"
#include "core/node/command.hpp"
#include "core/node/context.hpp"
#include "core/node/handshake.hpp"
#include "core/ticket.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The words of the commands for a node.
namespace redlock::core {

/// The data that the words depend on, apart from their subject.
struct wording {
    const node_context& shared;
    const handshake& greeting;
    const core::admission& admission;
};

/// The least value of a fencing counter that a node votes for. Values from before its last
/// admission are lower.
[[nodiscard]] std::int64_t least_counter(const wording& w) noexcept;

// Each function appends the words of one command. `command_table.hpp` names the command.
void append_set(std::string& out, const wording& w, const pending& p);
void append_take(std::string& out, const wording& w, const pending& p);
void append_marker(std::string& out, const wording& w, const pending& p);
void append_holder_ttl(std::string& out, const wording& w, const pending& p);
void append_holder_label(std::string& out, const wording& w, const pending& p);
void append_increment(std::string& out, const wording& w, const pending& p);
void append_count(std::string& out, const wording& w, const pending& p);
void append_repair(std::string& out, const wording& w, const pending& p);
void append_align(std::string& out, const wording& w, const pending& p);
void append_extend(std::string& out, const wording& w, const pending& p);
void append_release(std::string& out, const wording& w, const pending& p);
void append_release_batch(std::string& out, const wording& w, const pending& p);
void append_extend_batch(std::string& out, const wording& w, const pending& p);
void append_inspect(std::string& out, const wording& w, const pending& p);
void append_queue_state(std::string& out, const wording& w, const pending& p);
void append_admission(std::string& out, const wording& w, const pending& p);
void append_start_tracking(std::string& out, const wording& w, const pending& p);
void append_end_tracking(std::string& out, const wording& w, const pending& p);
void append_caching(std::string& out, const wording& w, const pending& p);
void append_role(std::string& out, const wording& w, const pending& p);
void append_ping(std::string& out, const wording& w, const pending& p);

// The same for commands that name one resource, and are sent for each of several.
void append_set_label(std::string& out, const wording& w, const lease& l, std::string_view resource,
                      form f);
void append_drop_label(std::string& out, const wording& w, const lease& l,
                       std::string_view resource, form f);
void append_watch(std::string& out, const wording& w, std::string_view resource,
                  const std::optional<ticket>& waiter);
void append_queue(std::string& out, const wording& w, const place_request& asked, form f);
void append_leave(std::string& out, const wording& w, std::string_view resource,
                  std::string_view name, form f);

}  // namespace redlock::core
