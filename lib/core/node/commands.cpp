#include "core/node/commands.hpp"
#include "core/label.hpp"
#include "core/node/node.hpp"
#include "resp/encoder.hpp"
#include "resp/scripts.hpp"

#include <algorithm>
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

}  // namespace

void node::send(const command_row& row, command_subject subject)
{
    send(row, subject, script_form());
}

void node::append(const command_row& row, command_subject subject, form f)
{
    for (const command what : row) {
        const auto append_words = traits_of(what).append;
        assert(append_words != nullptr);
        (this->*append_words)({subject.at, context_.now, what, f});
    }
}

resp::key node::key_of(std::string_view resource, std::string_view suffix) const noexcept
{
    return {context_.settings.key_prefix, resource, suffix};
}

/// With a suffix, the keys of the counters follow the keys of the lease.
resp::script_keys node::keys_of(const lease& l, std::string_view suffix) const noexcept
{
    return {context_.settings.key_prefix, l.resources(), suffix};
}

form node::script_form() const noexcept
{
    return handshake_.wants_text() || digest_refused_ ? form::eval : form::evalsha;
}

form node::release_form(const lease& l) const noexcept
{
    if (native_refused_ || l.group) {
        return script_form();
    }
    switch (handshake_.deletes_by()) {
        case compare_and_delete::delifeq: return form::delifeq;
        case compare_and_delete::delex: return form::delex;
        case compare_and_delete::script: break;
    }
    return script_form();
}

// The words.

void node::append_set(const pending& p)
{
    const lease& l = *p.of_round().of;
    resp::append(out_.last(), "SET", key_of(l.resource), l.token.view(), "NX", "PX", in_ms(l.ttl));
}

/// The keys and the counters of all resources are in one script.
void node::append_take(const pending& p)
{
    const auto& s = context_.settings;
    const round& r = p.of_round();
    const lease& l = *r.of;
    const auto keys = keys_of(l, r.fencing != nullptr ? counter_suffix : std::string_view());
    resp::append(out_.last(), call_of(resp::take_script, p.sent_as), keys, l.token.view(),
                 in_ms(l.ttl), static_cast<std::int64_t>(l.resources().size()), seed_of(r),
                 in_us(s.counter_slack), in_ms(s.counter_ttl), least_counter());
}

void node::append_marker(const pending&)
{
    resp::append(out_.last(), "GET", key_of(base::marker_resource));
}

void node::append_holder_ttl(const pending& p)
{
    resp::append(out_.last(), "PTTL", key_of(p.of_round().of->resource));
}

/// Reads no more than a label may have, because another program may have stored a long value.
void node::append_holder_label(const pending& p)
{
    const round& r = p.of_round();
    const std::string& resource = r.of->resources()[r.held > 0 ? r.held - 1 : 0];
    resp::append(out_.last(), "GETRANGE", key_of(resource, holder_suffix), "0",
                 std::int64_t{max_stored_label_size} - 1);
}

/// The label expires when the key of the lock does. A value that another program has stored there
/// stays.
void node::append_set_label(const lease& l, std::string_view resource, form f)
{
    const std::int64_t left = std::max<std::int64_t>(in_ms(l.asked_until - context_.now), 1);
    resp::append(out_.last(), call_of(resp::label_script, f), "1", key_of(resource, holder_suffix),
                 *l.label, left);
}

void node::append_drop_label(const lease& l, std::string_view resource, form f)
{
    append_compare_and_delete(key_of(resource, holder_suffix), *l.label, f);
}

void node::append_increment(const pending& p)
{
    resp::append(out_.last(), "INCR", key_of(p.of_round().of->resource, counter_suffix));
}

/// Zero: the node may not begin a counter. There is none where no token is asked for, and a node in
/// quarantine must not get one that it would vote with later.
std::int64_t node::seed_of(const round& r) const noexcept
{
    return r.fencing == nullptr || context_.settings.guard ? 0 : r.fencing->date_us();
}

void node::append_count(const pending& p)
{
    const round& r = p.of_round();
    append_count_of(*r.of, seed_of(r), p.sent_as);
}

void node::append_repair(const pending& p)
{
    append_count_of(p.of_lease(), 0, p.sent_as);
}

void node::append_count_of(const lease& l, std::int64_t seed, form f)
{
    const auto& s = context_.settings;
    resp::append(out_.last(), call_of(resp::count_script, f), "1",
                 key_of(l.resource, counter_suffix), seed, in_us(s.counter_slack),
                 in_ms(s.counter_ttl));
}

/// What the node voted before it was last admitted lies below.
std::int64_t node::least_counter() const noexcept
{
    return std::max(least_seeded_counter,
                    admission_.admitted_us() - in_us(context_.settings.counter_slack));
}

void node::append_align(const pending& p)
{
    const auto& s = context_.settings;
    const round& r = p.of_round();
    resp::append(out_.last(), call_of(resp::raise_script, p.sent_as),
                 keys_of(*r.of, counter_suffix), r.of->token.view(), r.target,
                 r.partner->fencing->date_us(), in_us(s.counter_slack), in_ms(s.counter_ttl),
                 least_counter());
}

void node::append_extend(const pending& p)
{
    const round& r = p.of_round();
    const lease& l = *r.of;
    const auto& script = l.group ? resp::extend_all_script : resp::extend_script;
    resp::append(out_.last(), call_of(script, p.sent_as), keys_of(l), l.token.view(), in_ms(r.ttl));
}

void node::append_release(const pending& p)
{
    const lease& l = lease_to_release(p);
    if (l.group) {
        resp::append(out_.last(), call_of(resp::release_all_script, p.sent_as), keys_of(l),
                     l.token.view());
        return;
    }
    append_compare_and_delete(key_of(l.resource), l.token.view(), p.sent_as);
}

void node::append_compare_and_delete(const resp::key& k, std::string_view value, form f)
{
    switch (f) {
        case form::evalsha:
        case form::eval:
            resp::append(out_.last(), call_of(resp::release_script, f), "1", k, value);
            return;
        case form::delifeq: resp::append(out_.last(), "DELIFEQ", k, value); return;
        case form::delex: resp::append(out_.last(), "DELEX", k, "IFEQ", value); return;
    }
}

void node::append_inspect(const pending& p)
{
    resp::append(out_.last(), call_of(resp::inspect_script, p.sent_as), "1",
                 key_of(p.of_round().of->resource));
}

void node::append_admission(const pending& p)
{
    switch (admission_.under_way()) {
        case admission::step::none: break;
        case admission::step::leave_pending: {
            const auto life =
                std::chrono::ceil<std::chrono::milliseconds>(admission_.pending_life());
            resp::append(out_.last(), "SET", key_of(admission_.pending_key()), admission_.run_id(),
                         "NX", "PX", life.count());
            return;
        }
        case admission::step::look: append_marker(p); return;
        case admission::step::admit:
            resp::append(out_.last(), "EVAL", resp::admit_script, "2",
                         key_of(admission_.pending_key()), key_of(base::marker_resource),
                         admission_.run_id(), admission_.undated_marker());
            return;
    }
    assert(false && "no step is under way");
}

/// NOLOOP: the client knows of its own releases.
void node::append_start_tracking(const pending&)
{
    resp::append(out_.last(), "CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP");
}

void node::append_end_tracking(const pending&)
{
    resp::append(out_.last(), "CLIENT", "TRACKING", "OFF", "OPTIN", "NOLOOP");
}

void node::append_caching(const pending&)
{
    resp::append(out_.last(), "CLIENT", "CACHING", "YES");
}

void node::append_role(const pending&)
{
    append_role_query(out_.last(), handshake_.tells_role_by());
}

void node::append_ping(const pending& p)
{
    if (admission_.is_guarded()) {
        append_marker(p);
    } else {
        resp::append(out_.last(), "PING");
    }
}

}  // namespace redlock::core
