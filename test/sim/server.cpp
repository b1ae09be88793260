#include "sim/server.hpp"

#include "sim/world.hpp"

#include <algorithm>

namespace redlock::sim {

using namespace std::chrono_literals;

namespace {

constexpr const char* not_permitted = "NOPERM this user has no permissions to run the command";

skewed_clock clock_of(const plan& p, unsigned index)
{
    random_source r(p.seed, 200 + index);
    const nanos offset = p.has(fault::clock_offset) ? r.between(-100'000s, 100'000s) : 0s;
    // Half of what the drift allows for this clock, half of it for the client's.
    const auto most = static_cast<std::int64_t>(p.drift_factor * 0.49e9);
    const auto ppb = static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(2 * most + 1)));
    return {offset, p.has(fault::clock_rate) ? ppb - most : 0};
}

/// Whether the command comes from a handshake or from the restart guard.
bool is_probe(const test::words& command)
{
    return std::any_of(command.begin(), command.end(), [](const std::string& word) {
        return word.ends_with("redlock:probe") || word.find("redlock:pending:") != word.npos;
    });
}

bool is_counter(std::string_view key)
{
    return key.ends_with(":fencing");
}

bool is_raise(const test::words& command)
{
    constexpr const test::contract_script& raise = test::contract_scripts[4];
    return command.size() > 1 && (command[1] == raise.sha1 || command[1] == raise.text);
}

}  // namespace

server::server(world& w, unsigned index)
    : w_(w),
      index_(index),
      clock_(clock_of(w.planned(), index)),
      looks_(w.planned().seed, 50'000 + index),
      looks_every_(looks_.one_in(2) ? 100ms : looks_.between(2ms, 100ms))
{
    random_source r(w.planned().seed, 300 + index);
    master.watched_by = this;
    const nanos slack = w.planned().counter_slack;
    out_of_date_ =
        w.planned().has(fault::clock_offset) && index < (w.planned().nodes - 1) / 2 && r.one_in(2);
    date_error_ = out_of_date_ ? r.between(-100'000s, 100'000s) : r.between(-slack / 8, slack / 8);
    begin_run();
    if (w.planned().guard && !w.planned().new_masters) {
        const std::int64_t date = test::date_of(w.now() + date_error_);
        master.put(w.checks.marker_key(),
                   {w.checks.undated_marker_of(master.run_id) + std::to_string(date), std::nullopt,
                    false});
    }
    if (w.planned().has(fault::old_server)) {
        master.knows_hello = !r.one_in(3);
        master.has_delifeq = r.one_in(3);
        master.has_delex = r.one_in(3);
        if (r.one_in(4)) {
            master.refusals["EVALSHA"] = not_permitted;
        }
    }
}

bool server::is_paused() const noexcept
{
    return ill_ == illness::paused || paused_until_ > w_.now();
}

bool server::is_admitted() const
{
    return master.value(local_now(), w_.checks.marker_key()).starts_with(master.run_id);
}

instant server::local_now() const
{
    return clock_.shows(w_.now());
}

instant server::true_end(const test::model_master::entry& e) const
{
    return e.end ? clock_.when_shows(*e.end) : instant::max();
}

void server::on_link(link& l)
{
    l.session = {};
    l.session.client = l.client;
    l.session.life = l.generation;
    l.unread.clear();
}

void server::on_bytes(link& l, std::string_view bytes)
{
    if (l.ends) {
        return;
    }
    l.unread += bytes;
    if (!is_paused()) {
        serve(l);
    }
}

/// Executes every complete command and answers.
void server::serve(link& l)
{
    std::string replies;
    instant proof{};
    bool answers_raise = false;
    std::string_view rest = l.unread;
    for (std::string_view next = rest; auto command = test::take_command(next); rest = next) {
        if (holds_up(*command)) {
            break;  // and with it all later commands of this connection
        }
        replies += answer(l, *command);
        answers_raise = answers_raise || is_raise(*command);
        for (auto told = l.votes.rbegin(); told != l.votes.rend() && told->end == 0; ++told) {
            told->end = l.said + replies.size();
            told->is_unheard = l.is_left;
        }
        proof = is_of_a_lock(*command) && !is_probe(*command) ? w_.now() : proof;
    }
    l.unread.erase(0, l.unread.size() - rest.size());
    if (!replies.empty()) {
        w_.net.send_down(l, replies, proof, answers_raise);
    }
    tell();
}

void server::tell()
{
    if (std::exchange(master.has_told, false)) {
        push_to_all();
    }
}

/// Sends the notifications. They are hints, and may be lost, doubled or much later.
void server::push_to_all()
{
    random_source r(w_.planned().seed, 700 + ++pushes_);
    for (link* l : w_.net.of_node(index_)) {
        if (l->session.out.empty()) {
            continue;
        }
        const bool goes_wrong = w_.faults.spoils_push();
        const auto wrong = goes_wrong ? r.below(3) : 3;
        if (wrong == 0) {
            master.has_told = true;
            continue;
        }
        const std::string push = std::exchange(l->session.out, {});
        if (wrong != 1) {
            w_.net.send_down(*l, wrong == 2 ? push + push : push, {});
        }
    }
}

bool server::is_of_a_lock(const test::words& command)
{
    const std::string& name = command.front();
    return name == "SET" || name == "INCR" || name == "EVAL" || name == "EVALSHA" ||
           name == "DELIFEQ" || name == "DELEX";
}

/// Delays writes and scripts as CLIENT PAUSE WRITE does.
bool server::holds_up(const test::words& command) const
{
    return (ill_ == illness::blocked || blocked_until_ > w_.now()) && is_of_a_lock(command);
}

/// Loses keys before a SET, so that its key proves nothing, or between the SET and the proof.
void server::may_forget()
{
    if (w_.faults.happens(fault::forget)) {
        w_.say("n", index_, ": forgets");
        w_.checks.upset_node(index_, w_.now());
        lose_keys();
    }
}

std::string server::answer(link& l, const test::words& command)
{
    const bool is_set = command.front() == "SET" && !w_.checks.is_of_the_guard(command.at(1));
    if (is_set) {
        may_forget();
    }
    doing_ = &command;
    // The clock that ttls use does not change the date.
    master.date_offset = w_.now() - local_now() + date_error_;
    auto lied = lie(command);
    const std::string reply =
        lied ? std::move(*lied) : master.execute(local_now(), l.session, command);
    doing_ = nullptr;
    w_.say("  n", index_, " c", l.client, ": ", command.front(), " ",
           command.size() > 3 ? command[command.front() == "SET" ? 1 : 3] : "", " -> ",
           reply.substr(0, reply.find('\r')));
    w_.checks.on_reply(l, command, reply);
    std::string said = std::exchange(l.session.out, {}) + reply;
    if (is_set) {
        may_forget();
        said += std::exchange(l.session.out, {});
    }
    return said;
}

/// The answer that a lying node gives instead of executing the command.
std::optional<std::string> server::lie(const test::words& command) const
{
    const std::string& name = command.front();
    const beyond outside = index_ == 0 ? w_.planned().outside : beyond::nothing;
    if (outside == beyond::liar && name == "SET" && !w_.checks.is_of_the_guard(command.at(1))) {
        return "+OK\r\n";
    }
    if (outside == beyond::liar_of_counters && name == "INCR") {
        const auto* const counter = master.find(local_now(), command.at(1));
        return counter == nullptr ? std::nullopt : std::optional(":" + counter->value + "\r\n");
    }
    return std::nullopt;
}

void server::on_end(link& l)
{
    if (l.server_end && is_paused()) {
        l.ends = true;  // the node finds the end after the bytes that it has not read yet
        return;
    }
    l.server_end = false;
    l.unread.clear();
    master.forget(l.session);
}

void server::pause(nanos span)
{
    paused_until_ = std::max(paused_until_, w_.now() + span);
    w_.schedule(span, event_kind::wake, index_);
}

void server::block(nanos span)
{
    blocked_until_ = std::max(blocked_until_, w_.now() + span);
    w_.schedule(span, event_kind::wake, index_);
}

void server::wake()
{
    if (!up_ || is_paused()) {
        return;
    }
    for (link* l : w_.net.of_node(index_)) {
        serve(*l);
        if (l->ends) {
            on_end(*l);
        }
    }
}

void server::die(nanos away, memory keys)
{
    keys_ = keys;
    go_down();
    w_.schedule(away, event_kind::restarted, index_);
}

void server::go_down()
{
    up_ = false;
    for (link* l : w_.net.of_node(index_)) {
        w_.net.close_by_server(*l);
    }
}

/// A node that is already down comes back on time and is then suspended. A node that loses its keys
/// must stay away for long enough, but no longer.
void server::fall_ill(illness how)
{
    ill_ = how == illness::down && !up_ ? illness::paused : how;
    if (ill_ == illness::down) {
        go_down();
    }
    w_.checks.fall_ill(index_);
}

void server::heal()
{
    const illness had = std::exchange(ill_, illness::none);
    w_.checks.heal(index_);
    switch (had) {
        case illness::none: return;
        case illness::down: restart(); return;
        case illness::paused:
        case illness::blocked: wake(); return;
        case illness::unreachable: w_.net.let_through(index_); return;
    }
}

void server::restart()
{
    up_ = true;
    paused_until_ = blocked_until_ = {};
    master.flush_scripts();
    begin_run();
    w_.checks.on_restart(index_);
    switch (std::exchange(keys_, memory::kept)) {
        case memory::kept: return;
        case memory::lost:
            save();
            lose_keys();
            return;
        case memory::rolled_back: roll_back(); return;
    }
}

void server::save()
{
    earlier_ = master.all();
}

void server::lose_keys(bool tells)
{
    w_.checks.on_loss(index_);
    if (tells) {
        master.flush_keys();
    } else {
        master.swap_keys_away();
    }
}

void server::give_to_stranger(const std::string& key)
{
    master.put(key, {.value = "somebody else's", .end = local_now() + 1h});
}

void server::take_from_stranger(const std::string& key, parting how)
{
    master.watched_by = nullptr;
    const auto links = w_.net.of_node(index_);
    for (link* l : links) {
        if (how == parting::untold) {
            master.forget(l->session);
        } else if (how == parting::cut && l->session.tracks != test::session::tracking::off) {
            w_.net.close_by_server(*l);
        }
    }
    if (how == parting::told_of_all) {
        master.lose_among_all(key);
    } else {
        master.lose(key);
    }
    master.watched_by = this;
    tell();
}

/// Released keys may be back.
void server::roll_back()
{
    rolled_back_at_ = w_.now();
    w_.checks.on_loss(index_);
    const auto now = std::exchange(earlier_, master.all());
    master.flush_keys();
    master.watched_by = nullptr;
    for (const auto& [key, e] : now) {
        w_.checks.orphan(e.value, true);
        master.put(key, e);
    }
    master.watched_by = this;
    expect_ends();
}

test::words server::counters() const
{
    test::words keys;
    for (const auto& [key, e] : master.all()) {
        if (is_counter(key) && (!e.end || *e.end > local_now())) {
            keys.push_back(key);
        }
    }
    return keys;
}

bool server::has_counters() const
{
    return !counters().empty();
}

bool server::has_outlived_its_counters() const
{
    return had_counters_ && !has_counters();
}

void server::use_counters()
{
    const auto ttl =
        std::chrono::duration_cast<std::chrono::milliseconds>(w_.planned().counter_ttl);
    test::session other;
    for (const std::string& key : counters()) {
        w_.say("  n", index_, ": ", key, " is counted on");
        static_cast<void>(master.execute(local_now(), other,
                                         {"EVAL", std::string(test::contract_scripts[3].text), "1",
                                          key, "0", "0", std::to_string(ttl.count())}));
    }
    tell();
}

void server::delete_counters()
{
    test::words command{"DEL"};
    for (const auto& [key, e] : master.all()) {
        if (is_counter(key)) {
            command.push_back(key);
        }
    }
    test::session person;
    static_cast<void>(master.execute(local_now(), person, command));
    tell();
}

/// When the node next searches for expired keys. A server samples some of its keys each time.
void server::expect_end(instant end)
{
    if (end >= next_end_) {
        return;
    }
    next_end_ = end;
    const nanos lag = looks_.one_in(8) ? looks_.waiting(1s) : looks_.between(0ns, looks_every_);
    look_in(std::max(nanos{}, clock_.when_shows(end) - w_.now()) + lag);
}

void server::look_in(nanos span)
{
    looks_at_ = w_.now() + span;
    w_.schedule(span, event_kind::ends, index_);
}

void server::expect_ends()
{
    instant first = next_end_ = instant::max();
    for (const auto& [key, e] : master.all()) {
        first = std::min(first, e.end.value_or(first));
    }
    expect_end(first);
}

void server::look_for_ends()
{
    if (looks_at_ != w_.now()) {
        return;  // there was an earlier end
    }
    if (!up_ || is_paused() || blocked_until_ > w_.now() || master.is_loading) {
        look_in(100ms);
        return;
    }
    const bool is_late = std::exchange(master.has_told, false);
    master.expire(local_now());
    w_.counts.ends_told += static_cast<std::uint64_t>(master.has_told);
    master.has_told = master.has_told || is_late;
    tell();
    expect_ends();
}

bool server::tell_for_nothing(random_source& r)
{
    if (!up_ || is_paused()) {
        return false;
    }
    master.give_up_tracking(r.next());
    const bool has_told = master.has_told;
    tell();
    return has_told;
}

/// Each run of a server has another name of 40 hexadecimal digits.
void server::begin_run()
{
    random_source r(w_.planned().seed, 600 + index_ + 100 * ++runs_);
    master.run_id.clear();
    while (master.run_id.size() < 40) {
        master.run_id += "0123456789abcdef"[r.below(16)];
    }
}

void server::step_clock(nanos ahead)
{
    clock_.step(ahead);
    expect_ends();
}

void server::flush_scripts()
{
    master.flush_scripts();
    // The script for several locks calls MGET.
    const bool is_native = master.has_delifeq || master.has_delex;
    const auto changed = is_native ? std::vector{"DELIFEQ", "DELEX"} : std::vector{"MGET"};
    const bool was_refused = master.refusals.contains(changed.back());
    for (const char* name : changed) {
        if (was_refused) {
            master.refusals.erase(name);
        } else {
            master.refusals[name] = not_permitted;
        }
    }
}

void server::on_change(const std::string& key, const test::model_master::entry* before,
                       const test::model_master::entry* after, const test::session* by)
{
    if (after != nullptr && after->end) {
        expect_end(*after->end);
    }
    if (w_.checks.is_of_the_guard(key)) {
        w_.checks.on_guard_change(index_, key, after);
        return;
    }
    had_counters_ = had_counters_ || is_counter(key);
    w_.checks.on_change(index_, key, before, after, by);
}

}  // namespace redlock::sim
