#include "core/node/words.hpp"

#include "core/label.hpp"
#include "core/lease.hpp"
#include "core/node/batch.hpp"
#include "core/node/pending_release.hpp"
#include "core/round.hpp"
#include "resp/encoder.hpp"
#include "resp/scripts.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::core {

using base::counter_suffix;
using base::holder_suffix;
using base::nanos;

namespace {

std::int64_t in_ms(nanos n) noexcept
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(n).count();
}

std::int64_t in_us(nanos n) noexcept
{
    return std::chrono::duration_cast<std::chrono::microseconds>(n).count();
}

resp::script_call call_of(const resp::script& what, form f) noexcept
{
    return {what, f == form::evalsha};
}

/// The lease whose keys a release deletes.
const lease& lease_to_release(const pending& p) noexcept
{
    return p.what == command::release           ? *p.of_round().of
           : p.what == command::pending_release ? *p.of_pending_release().of
                                                : p.of_lease();
}

resp::key key_of(const wording& w, std::string_view resource, std::string_view suffix = {}) noexcept
{
    return {w.shared.settings.key_prefix, resource, suffix};
}

/// With a suffix, the keys of the counters follow the keys of the lease.
resp::script_keys keys_of(const wording& w, const lease& l, std::string_view suffix = {}) noexcept
{
    return {w.shared.settings.key_prefix, l.resources(), suffix};
}

/// The seed of a new fencing counter. Zero: the node must not begin one. An attempt without a token
/// has none. Neither has a guarded node, which might vote with that counter after a quarantine.
std::int64_t seed_of(const wording& w, const round& r) noexcept
{
    return r.fencing == nullptr || w.shared.settings.guard ? 0 : r.fencing->date_us();
}

void append_count_of(std::string& out, const wording& w, const lease& l, std::int64_t seed, form f)
{
    const auto& s = w.shared.settings;
    resp::append(out, call_of(resp::count_script, f), "1", key_of(w, l.resource, counter_suffix),
                 seed, in_us(s.counter_slack), in_ms(s.counter_ttl));
}

void append_compare_and_delete(std::string& out, const resp::key& k, std::string_view value, form f)
{
    switch (f) {
        case form::evalsha:
        case form::eval: resp::append(out, call_of(resp::release_script, f), "1", k, value); return;
        case form::delifeq: resp::append(out, "DELIFEQ", k, value); return;
        case form::delex: resp::append(out, "DELEX", k, "IFEQ", value); return;
        case form::batch: break;  // the batch has these words
    }
}

/// The words before the first key. `arguments`: how many there are for each key.
void begin_batch(std::string& out, const resp::script& what, const pending& p,
                 std::size_t arguments)
{
    const std::size_t size = p.of_batch().size;
    resp::append_size(out, 3 + (1 + arguments) * size);
    resp::append_part(out, call_of(what, p.sent_as), static_cast<std::int64_t>(size));
}

}  // namespace

void append_set(std::string& out, const wording& w, const pending& p)
{
    const lease& l = *p.of_round().of;
    resp::append(out, "SET", key_of(w, l.resource), l.token.view(), "NX", "PX", in_ms(l.ttl));
}

/// The keys and the counters of all resources are in one script.
void append_take(std::string& out, const wording& w, const pending& p)
{
    const auto& s = w.shared.settings;
    const round& r = p.of_round();
    const lease& l = *r.of;
    const auto keys = keys_of(w, l, r.fencing != nullptr ? counter_suffix : std::string_view());
    resp::append(out, call_of(resp::take_script, p.sent_as), keys, l.token.view(), in_ms(l.ttl),
                 static_cast<std::int64_t>(l.resources().size()), seed_of(w, r),
                 in_us(s.counter_slack), in_ms(s.counter_ttl), least_counter(w));
}

void append_marker(std::string& out, const wording& w, const pending&)
{
    resp::append(out, "GET", key_of(w, base::marker_resource));
}

void append_holder_ttl(std::string& out, const wording& w, const pending& p)
{
    resp::append(out, "PTTL", key_of(w, p.of_round().of->resource));
}

/// Reads no more than a label may have, because another program may have stored a long value.
void append_holder_label(std::string& out, const wording& w, const pending& p)
{
    const round& r = p.of_round();
    const std::string& resource = r.of->resources()[r.member > 0 ? r.member - 1 : 0];
    resp::append(out, "GETRANGE", key_of(w, resource, holder_suffix), "0",
                 std::int64_t{max_stored_label_size} - 1);
}

/// The label expires when the key of the lock does. A value that another program has stored there
/// stays.
void append_set_label(std::string& out, const wording& w, const lease& l, std::string_view resource,
                      form f)
{
    const std::int64_t left = std::max<std::int64_t>(in_ms(l.asked_until - w.shared.now), 1);
    resp::append(out, call_of(resp::label_script, f), "1", key_of(w, resource, holder_suffix),
                 *l.label, left);
}

void append_drop_label(std::string& out, const wording& w, const lease& l,
                       std::string_view resource, form f)
{
    append_compare_and_delete(out, key_of(w, resource, holder_suffix), *l.label, f);
}

void append_watch(std::string& out, const wording& w, std::string_view resource,
                  const std::optional<ticket>& waiter)
{
    if (!waiter) {
        resp::append(out, "PTTL", key_of(w, resource));
        return;
    }
    std::array<char, 1 + ticket::size + base::ticket_suffix.size()> suffix{':'};
    const auto end = std::ranges::copy(waiter->name(), suffix.begin() + 1).out;
    std::ranges::copy(base::ticket_suffix, end);
    resp::append(out, "PTTL", key_of(w, resource, {suffix.data(), suffix.size()}));
}

void append_queue(std::string& out, const wording& w, const place_request& asked, form f)
{
    resp::append(out, call_of(resp::queue_script, f), "2", key_of(w, asked.resource),
                 key_of(w, asked.resource, base::queue_suffix), asked.own.name(), asked.ttl.count(),
                 asked.number, static_cast<std::int64_t>(asked.still_before));
}

void append_leave(std::string& out, const wording& w, std::string_view resource,
                  std::string_view name, form f)
{
    resp::append(out, call_of(resp::leave_script, f), "2", key_of(w, resource),
                 key_of(w, resource, base::queue_suffix), name);
}

void append_increment(std::string& out, const wording& w, const pending& p)
{
    resp::append(out, "INCR", key_of(w, p.of_round().of->resource, counter_suffix));
}

void append_count(std::string& out, const wording& w, const pending& p)
{
    const round& r = p.of_round();
    append_count_of(out, w, *r.of, seed_of(w, r), p.sent_as);
}

void append_repair(std::string& out, const wording& w, const pending& p)
{
    append_count_of(out, w, p.of_lease(), 0, p.sent_as);
}

std::int64_t least_counter(const wording& w) noexcept
{
    return std::max(least_seeded_counter,
                    w.admission.admitted_us() - in_us(w.shared.settings.counter_slack));
}

void append_align(std::string& out, const wording& w, const pending& p)
{
    const auto& s = w.shared.settings;
    const round& r = p.of_round();
    resp::append(out, call_of(resp::align_script, p.sent_as), keys_of(w, *r.of, counter_suffix),
                 r.of->token.view(), r.target, r.partner->fencing->date_us(),
                 in_us(s.counter_slack), in_ms(s.counter_ttl), least_counter(w));
}

void append_extend(std::string& out, const wording& w, const pending& p)
{
    const round& r = p.of_round();
    const lease& l = *r.of;
    const auto& script = l.group ? resp::extend_all_script : resp::extend_script;
    resp::append(out, call_of(script, p.sent_as), keys_of(w, l), l.token.view(), in_ms(r.ttl));
}

void append_release(std::string& out, const wording& w, const pending& p)
{
    const lease& l = lease_to_release(p);
    if (l.group) {
        resp::append(out, call_of(resp::release_all_script, p.sent_as), keys_of(w, l),
                     l.token.view());
        return;
    }
    append_compare_and_delete(out, key_of(w, l.resource), l.token.view(), p.sent_as);
}

void append_release_batch(std::string& out, const wording& w, const pending& p)
{
    const batch& b = p.of_batch();
    begin_batch(out, resp::release_batch_script, p, 1);
    for (const pending& each : b.commands()) {
        resp::append_part(out, key_of(w, lease_to_release(each).resource));
    }
    for (const pending& each : b.commands()) {
        resp::append_part(out, lease_to_release(each).token.view());
    }
}

void append_extend_batch(std::string& out, const wording& w, const pending& p)
{
    const batch& b = p.of_batch();
    begin_batch(out, resp::extend_batch_script, p, 2);
    for (const pending& each : b.commands()) {
        resp::append_part(out, key_of(w, each.of_round().of->resource));
    }
    for (const pending& each : b.commands()) {
        resp::append_part(out, each.of_round().of->token.view());
    }
    for (const pending& each : b.commands()) {
        resp::append_part(out, in_ms(each.of_round().ttl));
    }
}

void append_inspect(std::string& out, const wording& w, const pending& p)
{
    resp::append(out, call_of(resp::inspect_script, p.sent_as), "1",
                 key_of(w, p.of_round().of->resource));
}

void append_queue_state(std::string& out, const wording& w, const pending& p)
{
    resp::append(out, call_of(resp::queue_state_script, form::eval), "1",
                 key_of(w, p.of_round().of->resource, base::queue_suffix));
}

void append_admission(std::string& out, const wording& w, const pending& p)
{
    switch (w.admission.under_way()) {
        case admission::step::none: break;
        case admission::step::leave_pending: {
            const auto life =
                std::chrono::ceil<std::chrono::milliseconds>(w.admission.pending_life());
            resp::append(out, "SET", key_of(w, w.admission.pending_key()), w.admission.run_id(),
                         "NX", "PX", life.count());
            return;
        }
        case admission::step::look: append_marker(out, w, p); return;
        case admission::step::admit:
            resp::append(out, "EVAL", resp::admit_script, "2", key_of(w, w.admission.pending_key()),
                         key_of(w, base::marker_resource), w.admission.run_id(),
                         w.admission.undated_marker());
            return;
    }
    assert(false && "no step is under way");
}

/// NOLOOP: the client knows of its own releases.
void append_start_tracking(std::string& out, const wording&, const pending&)
{
    resp::append(out, "CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP");
}

void append_end_tracking(std::string& out, const wording&, const pending&)
{
    resp::append(out, "CLIENT", "TRACKING", "OFF", "OPTIN", "NOLOOP");
}

void append_caching(std::string& out, const wording&, const pending&)
{
    resp::append(out, "CLIENT", "CACHING", "YES");
}

void append_role(std::string& out, const wording& w, const pending&)
{
    append_role_query(out, w.greeting.role_reported_by());
}

void append_ping(std::string& out, const wording& w, const pending& p)
{
    if (w.admission.is_guarded()) {
        append_marker(out, w, p);
    } else {
        resp::append(out, "PING");
    }
}

}  // namespace redlock::core
