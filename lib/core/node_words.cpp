#include "core/coordinator.hpp"
#include "core/label.hpp"
#include "core/node.hpp"
#include "resp/encoder.hpp"
#include "resp/scripts.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

// The words of the commands.
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

}  // namespace

resp::key node::key_of(std::string_view resource, std::string_view suffix) const noexcept
{
    return {c_.settings_.key_prefix, resource, suffix};
}

/// With a suffix, the keys of the counters follow the keys of the lease.
resp::script_keys node::keys_of(const lease& l, std::string_view suffix) const noexcept
{
    return {c_.settings_.key_prefix, l.resources(), suffix};
}

void node::append_of_row(command what, const round& r, form f)
{
    const lease& l = *r.of;
    switch (what) {
        case command::increment:
            resp::append(out_.last(), "INCR", key_of(l.resource, counter_suffix));
            return;
        case command::count: append_count(l, seed_of(r), f); return;
        case command::take: append_take(r, f); return;
        case command::marker: append_get_marker(); return;
        case command::holder_ttl: resp::append(out_.last(), "PTTL", key_of(l.resource)); return;
        case command::holder_label: append_holder_label(l.resource); return;
        case command::tracking: append_tracking("ON"); return;
        case command::caching: append_caching(); return;
        case command::set:
        case command::set_asked:
            resp::append(out_.last(), "SET", key_of(l.resource), l.token.view(), "NX", "PX",
                         in_ms(l.ttl));
            return;
        case command::set_label:
        case command::drop_label:
        case command::mend:
        case command::extend:
        case command::raise:
        case command::release:
        case command::give_back:
        case command::owed:
        case command::inspect:
        case command::admission:
        case command::watch:
        case command::role:
        case command::ping:
        case command::handshake: break;
    }
    assert(false && "no row has it");
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

void node::append_release(const lease& l, form f)
{
    if (l.group) {
        resp::append(out_.last(), call_of(resp::release_all_script, f), keys_of(l), l.token.view());
        return;
    }
    append_compare_and_delete(key_of(l.resource), l.token.view(), f);
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

/// A node that is out of votes must not be given a counter that it would vote with afterwards; and
/// there is none where no token is asked for.
std::int64_t node::seed_of(const round& r) const noexcept
{
    return r.fencing == nullptr || c_.settings_.guard ? 0 : r.fencing->date_us();
}

void node::append_count(const lease& l, std::int64_t seed, form f)
{
    const auto& s = c_.settings_;
    resp::append(out_.last(), call_of(resp::count_script, f), "1",
                 key_of(l.resource, counter_suffix), seed, in_us(s.counter_slack),
                 in_ms(s.counter_ttl));
}

/// What the node voted before it was last admitted lies below.
std::int64_t node::least_counter() const noexcept
{
    return std::max(least_seeded_counter,
                    admission_.admitted_us() - in_us(c_.settings_.counter_slack));
}

void node::append_raise(const round& r, form f)
{
    const auto& s = c_.settings_;
    resp::append(out_.last(), call_of(resp::raise_script, f), keys_of(*r.of, counter_suffix),
                 r.of->token.view(), r.target, r.partner->fencing->date_us(),
                 in_us(s.counter_slack), in_ms(s.counter_ttl), least_counter());
}

/// Of several resources: their keys and their counters in one script.
void node::append_take(const round& r, form f)
{
    const auto& s = c_.settings_;
    const lease& l = *r.of;
    const auto keys = keys_of(l, r.fencing != nullptr ? counter_suffix : std::string_view());
    resp::append(out_.last(), call_of(resp::take_script, f), keys, l.token.view(), in_ms(l.ttl),
                 static_cast<std::int64_t>(l.resources().size()), seed_of(r),
                 in_us(s.counter_slack), in_ms(s.counter_ttl), least_counter());
}

void node::append_extend(const round& r, form f)
{
    const lease& l = *r.of;
    const auto& script = l.group ? resp::extend_all_script : resp::extend_script;
    resp::append(out_.last(), call_of(script, f), keys_of(l), l.token.view(), in_ms(r.ttl));
}

/// Reads no more than a label may have, because another program may have stored a long value.
void node::append_holder_label(std::string_view resource)
{
    resp::append(out_.last(), "GETRANGE", key_of(resource, holder_suffix), "0",
                 std::int64_t{max_stored_label_size} - 1);
}

/// It ends with the key of the lock. A value that another program has stored there stays.
void node::append_set_label(const lease& l, std::string_view resource, form f)
{
    const std::int64_t left = std::max<std::int64_t>(in_ms(l.asked_until - c_.now_), 1);
    resp::append(out_.last(), call_of(resp::label_script, f), "1", key_of(resource, holder_suffix),
                 *l.label, left);
}

void node::append_drop_label(const lease& l, std::string_view resource, form f)
{
    append_compare_and_delete(key_of(resource, holder_suffix), *l.label, f);
}

void node::append_inspect(const lease& l, form f)
{
    resp::append(out_.last(), call_of(resp::inspect_script, f), "1", key_of(l.resource));
}

}  // namespace redlock::core
