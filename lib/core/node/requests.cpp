#include "core/node/requests.hpp"

#include "core/node/pending_release.hpp"
#include "resp/error_text.hpp"

namespace redlock::core {

namespace {

/// The longest key in a batch, in bytes.
constexpr std::size_t longest_in_batch = 256;

/// The room for the words of a batch, which never need more: its script, and the key, token and ttl
/// of each lock.
constexpr std::size_t room_for(const batch& b) noexcept
{
    return 2048 + b.size * (longest_in_batch + 128);
}

command_subject subject_of(const pending& p) noexcept
{
    switch (traits_of(p.what).subject) {
        case command_subject::kind::none: break;
        case command_subject::kind::round: return p.of_round();
        case command_subject::kind::lease: return p.of_lease();
        case command_subject::kind::pending_release: return p.of_pending_release();
        case command_subject::kind::batch: break;  // its commands are sent again, each by itself
    }
    return {};
}

/// Null: the command is for no lock.
const lease* lease_of(command_subject subject) noexcept
{
    switch (subject.what) {
        case command_subject::kind::round: return static_cast<round*>(subject.at)->of;
        case command_subject::kind::lease: return static_cast<lease*>(subject.at);
        case command_subject::kind::pending_release:
            return static_cast<pending_release*>(subject.at)->of;
        case command_subject::kind::none:
        case command_subject::kind::batch: break;
    }
    return nullptr;
}

}  // namespace

void requests::on_ready() noexcept
{
    is_stalled_ = false;
    refuses_native_ = refuses_digests_ = refuses_increment_ = false;
    knows_label_script_ = knows_release_batch_ = knows_extend_batch_ = refuses_batches_ = false;
}

/// Whether no unanswered command is older than `node_timeout`.
bool requests::has_caught_up() const noexcept
{
    return empty() || oldest().sent + node_.shared.settings.node_timeout > node_.now();
}

void requests::send(const command_row& row, command_subject subject)
{
    send(row, subject, script_form());
}

/// Whether a batch may have a command for the same resource, which must reach the node first.
bool requests::may_follow_a_batch(command_subject subject) const noexcept
{
    const lease* const l = lease_of(subject);
    return l != nullptr && (l->group || batches_.contains(l->resource_hash));
}

/// Whether the scripts for several locks can have this one.
bool requests::can_batch(const lease& l) const noexcept
{
    const std::size_t key_size = node_.shared.settings.key_prefix.size() + l.resource.size();
    return !l.group && !refuses_batches_ && key_size <= longest_in_batch;
}

void requests::send_release(command what, command_subject subject, lease& l, encoded_row* same)
{
    const form f = release_form(l);
    if (is_script(f) && can_batch(l)) {
        add_to_batch(command::release_batch, what, subject, l);
    } else {
        send(what, subject, f, same);
    }
}

void requests::send_extend(round& r)
{
    if (can_batch(*r.of)) {
        add_to_batch(command::extend_batch, command::extend, r, *r.of);
    } else {
        send(command::extend, r, script_form());
    }
}

void requests::add_to_batch(command kind, command what, command_subject subject, const lease& l)
{
    if (batches_.contains(l.resource_hash)) {
        send_batches_early();
    } else if (batches_.is_full(kind)) {
        encoded_batch none;
        send_batch(kind, none);
    }
    batches_.add(kind, {subject.at, node_.now(), what, form::batch, subject.member},
                 l.resource_hash);
    count_reference(what, subject);
    ++further_in_batches_;
    node_.shared.written |= bit(node_.index);
}

void requests::send_batches(encoded_batches& same)
{
    send_batch(command::release_batch, same.releases);
    send_batch(command::extend_batch, same.extends);
}

/// Before the end of the turn, because a command for one of their keys follows.
void requests::send_batches_early()
{
    encoded_batches none;
    send_batches(none);
}

/// A single command goes out as if there were no batches.
void requests::send_batch(command kind, encoded_batch& same)
{
    batch* const b = batches_.find(kind);
    if (b == nullptr) {
        return;
    }
    const bool is_single = b->size == 1;
    const std::size_t room = room_for(*b);
    fifo_.reserve(1);
    out_.make_room(room);
    std::string& out = out_.last();
    const std::size_t before = out.size();
    pending p = is_single ? b->all[0] : pending{.subject = b, .what = kind};
    p.sent = node_.now();
    p.sent_as = is_single || knows_script_of(kind) ? script_form() : form::eval;
    const bool fits =
        same.source != nullptr && same.sent_as == p.sent_as && same.source->has_same_commands(*b);
    if (fits) {
        out.append(same.bytes);
    } else {
        traits_of(p.what).append(out, words_, p);
    }
    assert(out.size() - before <= room);  // so appending has moved no bytes, and cannot throw
    same = is_single || fits ? same
                             : encoded_batch{b, p.sent_as, std::string_view(out).substr(before)};
    batch& sent = *batches_.take(kind);
    if (is_single) {
        node_.shared.batches.give(sent);
    } else {
        knows_script_of(kind) = true;
    }
    fifo_.push(p);
    --further_in_batches_;
    note_sent(1);
}

bool requests::take_lost(pending& p) noexcept
{
    if (!fifo_.empty()) {
        p = fifo_.pop();
        return true;
    }
    for (const command kind : {command::release_batch, command::extend_batch}) {
        if (batch* const b = batches_.take(kind)) {
            p = {.subject = b, .what = kind};
            --further_in_batches_;
            return true;
        }
    }
    return false;
}

/// The script's text also loads the script, so queued commands by its digest find it. A lock of a
/// batch was not asked for by itself before, and a node may permit only the digest.
void requests::send_again(const pending& p)
{
    send(p.what, subject_of(p), is_script(p.sent_as) ? form::eval : script_form());
}

void requests::expect_handshake(unsigned replies)
{
    for (; replies > 0; --replies) {
        fifo_.reserve(1);
        expect(command::handshake, {}, form::evalsha);
    }
}

/// A label that a node refuses is not sent again before the next extend.
void requests::store_label(const lease& l)
{
    if (!node_.is_ready() || !has_room() || (l.granted & bit(node_.index)) == 0) {
        return;
    }
    const form f = knows_label_script_ ? script_form() : form::eval;
    for (const std::string& resource : l.resources()) {
        send_words(command::set_label, {}, f, [&](std::string& out, const wording& w) {
            append_set_label(out, w, l, resource, f);
        });
    }
}

/// Goes out with the release, or before it if that is in a batch. A label that stays ends with its
/// ttl.
void requests::drop_label(const lease& l)
{
    if (!node_.is_ready() || !has_room()) {
        return;
    }
    const form f = release_form(l);
    for (const std::string& resource : l.resources()) {
        send_words(command::drop_label, {}, f, [&](std::string& out, const wording& w) {
            append_drop_label(out, w, l, resource, f);
        });
    }
}

void requests::append(std::string& out, const command_row& row, command_subject subject,
                      form f) const
{
    pending p{subject.at, node_.now(), command::ping, f};
    for (const command what : row) {
        const auto append_words = traits_of(what).append;
        assert(append_words != nullptr);
        p.what = what;
        append_words(out, words_, p);
    }
}

form requests::script_form() const noexcept
{
    return words_.greeting.wants_text() || refuses_digests_ ? form::eval : form::evalsha;
}

form requests::release_form(const lease& l) const noexcept
{
    if (refuses_native_ || l.group) {
        return script_form();
    }
    switch (words_.greeting.deletes_by()) {
        case compare_and_delete::delifeq: return form::delifeq;
        case compare_and_delete::delex: return form::delex;
        case compare_and_delete::script: break;
    }
    return script_form();
}

bool requests::note_refused_form(const pending& p, const resp::reply& r) noexcept
{
    if (p.sent_as == form::eval || !resp::may_refuse_form(r.text())) {
        return false;
    }
    (p.sent_as == form::evalsha ? refuses_digests_ : refuses_native_) = true;
    return true;
}

script_result requests::take_script_reply(const pending& p, const resp::reply& r) noexcept
{
    // The scripts, DELIFEQ and DELEX return 1 or 0 on every server.
    if (r.is_integer() && (r.integer() == 0 || r.integer() == 1)) {
        return r.integer() == 1 ? script_result::yes : script_result::no;
    }
    if (!r.is_error()) {
        return script_result::nonsense;
    }
    if (resp::says_wrong_type(r.text())) {
        return script_result::no;
    }
    const bool is_unknown = p.sent_as == form::evalsha && resp::has_code(r.text(), "NOSCRIPT");
    node_.shared.stats.script_reloads += is_unknown ? 1 : 0;
    if (!is_unknown && !note_refused_form(p, r)) {
        return script_result::error;
    }
    return has_room_or_is_idle() ? script_result::again : script_result::no_room;
}

void requests::drop_subject(const pending& p) noexcept
{
    const command_traits& traits = traits_of(p.what);
    releases_ -= traits.is_for == command_traits::purpose::release ? 1U : 0U;
    switch (traits.subject) {
        case command_subject::kind::round: node_.shared.unref(p.of_round()); return;
        case command_subject::kind::lease: node_.shared.unref(p.of_lease()); return;
        case command_subject::kind::batch:
            for (const pending& each : p.of_batch().commands()) {
                drop_subject(each);
            }
            further_in_batches_ -= p.of_batch().size - 1;
            node_.shared.batches.give(p.of_batch());
            return;
        case command_subject::kind::none:
        case command_subject::kind::pending_release: return;
    }
}

}  // namespace redlock::core
