#include "core/coordinator.hpp"
#include "core/label.hpp"
#include "core/node.hpp"
#include "resp/encoder.hpp"
#include "resp/scripts.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>
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

/// A number as a word of a command.
class digits {
public:
    explicit digits(std::int64_t n)
        : end_(std::to_chars(text_.data(), text_.data() + text_.size(), n).ptr)
    {}
    operator std::string_view() const noexcept { return {text_.data(), end_}; }

private:
    std::array<char, 20> text_;
    const char* end_;
};

}  // namespace

void node::append_of_row(command what, const round& r, form f)
{
    const std::string& prefix = c_.settings_.key_prefix;
    const lease& l = *r.of;
    switch (what) {
        case command::increment:
            resp::append_incr(out_.last(), prefix, l.resource, counter_suffix);
            return;
        case command::count: append_count(l, seed_of(r), f); return;
        case command::take: append_take(r, f); return;
        case command::marker: append_get_marker(); return;
        case command::holder_ttl: resp::append_pttl(out_.last(), prefix, l.resource); return;
        case command::holder_label: append_holder_label(l.resource); return;
        case command::tracking: append_tracking("ON"); return;
        case command::caching:
            resp::append_command(out_.last(), {"CLIENT", "CACHING", "YES"});
            return;
        case command::set:
        case command::set_asked:
            resp::append_set_nx_px(out_.last(), prefix, l.resource, l.token.view(), in_ms(l.ttl));
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
    const auto token = l.token.view();
    if (l.group) {
        append_to_all(l, f, resp::release_all_script, {}, {token});
        return;
    }
    append_compare_and_delete(l.resource, token, f);
}

void node::append_compare_and_delete(std::string_view resource, std::string_view value, form f)
{
    const auto& prefix = c_.settings_.key_prefix;
    const auto& script = resp::release_script;
    switch (f) {
        case form::evalsha:
            resp::append_evalsha(out_.last(), script.sha1, prefix, resource, value);
            return;
        case form::eval:
            resp::append_eval(out_.last(), script.text, prefix, resource, value);
            return;
        case form::delifeq: resp::append_delifeq(out_.last(), prefix, resource, value); return;
        case form::delex: resp::append_delex(out_.last(), prefix, resource, value); return;
    }
}

/// A script of any number of keys: those of the lease, and with a suffix their counters.
void node::append_to_all(const lease& l, form f, const resp::script& script,
                         std::string_view suffix, std::initializer_list<std::string_view> args)
{
    const bool by_digest = f == form::evalsha;
    resp::append_script(out_.last(), by_digest ? "EVALSHA" : "EVAL",
                        by_digest ? script.sha1 : script.text,
                        {c_.settings_.key_prefix, l.resources(), suffix}, args);
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
    const resp::count_arguments args{seed, in_us(s.counter_slack), in_ms(s.counter_ttl)};
    const std::string& resource = l.resource;
    const auto& script = resp::count_script;
    if (f == form::eval) {
        resp::append_eval_count(out_.last(), script.text, s.key_prefix, resource, counter_suffix,
                                args);
    } else {
        resp::append_evalsha_count(out_.last(), script.sha1, s.key_prefix, resource, counter_suffix,
                                   args);
    }
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
    append_to_all(
        *r.of, f, resp::raise_script, counter_suffix,
        {r.of->token.view(), digits(r.target), digits(r.partner->fencing->date_us()),
         digits(in_us(s.counter_slack)), digits(in_ms(s.counter_ttl)), digits(least_counter())});
}

/// Of several resources: their keys and their counters in one script.
void node::append_take(const round& r, form f)
{
    const auto& s = c_.settings_;
    const lease& l = *r.of;
    const bool counts = r.fencing != nullptr;
    append_to_all(
        l, f, resp::take_script, counts ? counter_suffix : std::string_view{},
        {l.token.view(), digits(in_ms(l.ttl)),
         digits(static_cast<std::int64_t>(l.resources().size())), digits(seed_of(r)),
         digits(in_us(s.counter_slack)), digits(in_ms(s.counter_ttl)), digits(least_counter())});
}

void node::append_extend(const round& r, form f)
{
    const auto& prefix = c_.settings_.key_prefix;
    const auto& script = resp::extend_script;
    const lease& l = *r.of;
    const std::int64_t ttl = in_ms(r.ttl);
    if (l.group) {
        append_to_all(l, f, resp::extend_all_script, {}, {l.token.view(), digits(ttl)});
        return;
    }
    if (f == form::eval) {
        resp::append_eval(out_.last(), script.text, prefix, l.resource, l.token.view(), ttl);
    } else {
        resp::append_evalsha(out_.last(), script.sha1, prefix, l.resource, l.token.view(), ttl);
    }
}

/// Reads no more than a label may have, because another program may have stored a long value.
void node::append_holder_label(std::string_view resource)
{
    resp::append_getrange(out_.last(), c_.settings_.key_prefix, resource, holder_suffix,
                          max_stored_label_size - 1);
}

/// It ends with the key of the lock. A value that another program has stored there stays.
void node::append_set_label(const lease& l, std::string_view resource, form f)
{
    const std::int64_t left = std::max<std::int64_t>(in_ms(l.asked_until - c_.now_), 1);
    const auto& prefix = c_.settings_.key_prefix;
    const auto& script = resp::label_script;
    const std::string key = std::string(resource).append(holder_suffix);
    if (f == form::eval) {
        resp::append_eval(out_.last(), script.text, prefix, key, *l.label, left);
    } else {
        resp::append_evalsha(out_.last(), script.sha1, prefix, key, *l.label, left);
    }
}

void node::append_drop_label(const lease& l, std::string_view resource, form f)
{
    const std::string key = std::string(resource).append(holder_suffix);
    append_compare_and_delete(key, *l.label, f);
}

void node::append_inspect(const lease& l, form f)
{
    const auto& prefix = c_.settings_.key_prefix;
    if (f == form::eval) {
        resp::append_eval(out_.last(), resp::inspect_script.text, prefix, l.resource);
    } else {
        resp::append_evalsha(out_.last(), resp::inspect_script.sha1, prefix, l.resource);
    }
}

}  // namespace redlock::core
