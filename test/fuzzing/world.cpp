#include "world.hpp"

#include <algorithm>
#include <utility>

namespace redlock::test {

using core::bit;
using core::node_mask;
using kind = core::operation::kind;
using std::chrono::milliseconds;

namespace {

bool is_greeting(const words& w)
{
    constexpr std::string_view names[] = {"HELLO",  "AUTH",    "CLIENT", "SELECT",
                                          "SCRIPT", "COMMAND", "INFO",   "ROLE"};
    return std::find(std::begin(names), std::end(names), w[0]) != std::end(names) ||
           std::any_of(w.begin(), w.end(),
                       [](const std::string& word) { return word.ends_with("redlock:probe"); });
}

bool asks_for_marker(const words& w)
{
    return w[0] == "GET" && w.at(1).ends_with(base::marker_resource);
}

/// Excludes the library's own keys and fencing counters, which outlive their locks.
bool is_of_a_lock(std::string_view key)
{
    return key.find("redlock:") == std::string_view::npos && !key.ends_with(base::counter_suffix);
}

answer evidence_of(const resp::reply& r)
{
    using kind = answer::kind;
    if (r.type() == resp::reply_type::simple_string && r.text() == "OK") {
        return {kind::ok};
    }
    if (r.is_error()) {
        return {kind::error};
    }
    const bool is_pair = r.type() == resp::reply_type::array && r.size() == 2;
    if (is_pair && r.at(0).is_integer() && r.at(0).integer() == 0) {
        return {kind::taken};
    }
    if (r.is_integer() && (r.integer() == 0 || r.integer() == 1)) {
        return {r.integer() == 1 ? kind::one : kind::zero};
    }
    if (r.is_string() && r.text().find_first_not_of("01") == std::string_view::npos) {
        return {kind::digits, std::string(r.text())};
    }
    return {};
}

}  // namespace

bool world::repeated_entropy::fill(std::span<std::byte> out) noexcept
{
    for (std::byte& b : out) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        b = static_cast<std::byte>(state_ >> 56U);
    }
    return !broken_;
}

redlock::config world::completed(redlock::config c, unsigned nodes)
{
    for (unsigned i = 0; i < nodes; ++i) {
        c.nodes.push_back("redis://tiger:hunter2%23@10.0.0." + std::to_string(i + 1) + "/1");
    }
    c.log = [this](log_level, std::string_view line) { check_text(line); };
    return c;
}

world::world(redlock::config c, unsigned nodes, std::uint8_t seed)
    : config_(completed(std::move(c), nodes)),
      settings_(base::make_settings(config_)),
      entropy_(seed, no_entropy),
      ledger_(nodes, config_.drift_factor),
      core_(settings_, entropy_, date_)
{
    for (unsigned i = 0; i < nodes; ++i) {
        peers_.push_back(std::make_unique<peer>());
        peers_.back()->master.password = node_password;
        peers_.back()->master.run_id.front() = "0123456789abcdef"[i % 16];
    }
    ledger_.add_token(nobodys_token);
}

void world::start()
{
    if (!started_ && !closed_) {
        started_ = true;
        core_.network().start(now_);
    }
    settle();
}

// Nodes.

void world::connect(unsigned node)
{
    if (peers_[node]->dialled) {
        accept(node);
        settle();
    }
}

void world::accept(unsigned node)
{
    peer& p = *peers_[node];
    p.dialled = false;
    p.connected = true;
    p.master.forget(p.speaks);
    p.speaks = {};
    p.cutter = std::make_unique<resp::reader>();
    core_.network().on_connected(now_, node);
}

void world::hang_up(unsigned node)
{
    peer& p = *peers_[node];
    if (p.connected || p.dialled) {
        forget_connection(node);
        core_.network().on_closed(now_, node, "closed by the node");
        settle();
    }
}

void world::forget_connection(unsigned node)
{
    peer& p = *peers_[node];
    if (p.may_have_granted()) {
        ledger_.distrust_grants(node);
    }
    if (p.may_have_decided()) {
        ledger_.distrust(node);
    }
    for (std::size_t i = p.served; i < p.asked.size(); ++i) {
        p.strays.push_back(std::move(p.asked[i].command));
    }
    p.dialled = p.connected = p.writing = p.odd = p.has_told_marker = false;
    p.asked.clear();
    p.served = 0;
    p.early.clear();
    p.held_back.clear();
}

void world::say(unsigned node, std::string_view bytes)
{
    lied = peers_[node]->odd = true;
    deliver(node, bytes);
    settle();
}

/// Also reads the core's input with a reader of its own.
void world::deliver(unsigned node, std::string_view bytes)
{
    peer& p = *peers_[node];
    if (!p.connected) {
        return;
    }
    // In a separate block, so that a sanitizer sees reads past the end.
    const std::vector<char> block(bytes.begin(), bytes.end());
    const std::string_view chunk(block.data(), block.size());
    core_.network().on_bytes(now_, node, chunk);
    p.cutter->feed(chunk);
    resp::reply r;
    while (p.cutter->next(r) == resp::read_status::ready) {
        if (!r.is_push()) {
            p.early.push_back(evidence_of(r));
        }
    }
    collect(node);
    match(node);
}

/// Takes the output unless the last write is unfinished.
void world::collect(unsigned node)
{
    peer& p = *peers_[node];
    while (!p.writing && core_.network().has_output(node)) {
        require(p.connected, "nothing is written without a connection");
        std::string bytes;
        bytes.swap(core_.network().take_output(node));
        p.writing = p.slow;
        p.odd = p.odd || p.slow;
        if (!p.slow) {
            core_.network().on_written(node);
        }
        for (words& w : parse_commands(bytes)) {
            p.asked.push_back({std::move(w), now_});
            ledger_.note_request(node, p.asked.back());
        }
    }
}

void world::match(unsigned node)
{
    peer& p = *peers_[node];
    while (!p.asked.empty() && !p.early.empty()) {
        ledger_.note_answer(node, p.asked.front(), p.early.front());
        p.has_told_marker = p.has_told_marker || asks_for_marker(p.asked.front().command);
        p.asked.pop_front();
        p.early.pop_front();
        p.served -= std::min<std::size_t>(p.served, 1);
    }
}

/// Answers by the habit of this node.
bool world::serve(unsigned node)
{
    peer& p = *peers_[node];
    if (p.dialled && p.does != peer::habit::nothing) {
        accept(node);
        return true;
    }
    const bool has_request = p.connected && p.served < p.asked.size();
    const bool acts =
        p.does == peer::habit::answers ||
        (p.does == peer::habit::greets && has_request && is_greeting(p.asked[p.served].command));
    if (!has_request || !acts) {
        return false;
    }
    const std::string reply = p.execute_next(now_);
    deliver(node, std::exchange(p.held_back, {}) + reply);
    return true;
}

void world::answer_right(unsigned node, std::size_t bytes)
{
    peer& p = *peers_[node];
    if (!p.connected || p.served == p.asked.size()) {
        return;
    }
    std::string reply = std::exchange(p.held_back, {});
    reply += p.execute_next(now_);
    bytes = std::min(bytes, reply.size());
    p.held_back = reply.substr(bytes);
    deliver(node, reply.substr(0, bytes));
    settle();
}

void world::answer_with(unsigned node, bool executed, std::string_view reply)
{
    peer& p = *peers_[node];
    if (!p.connected || p.served == p.asked.size()) {
        return;
    }
    if (executed) {
        (void)p.execute_next(now_);
    } else {
        ++p.served;
    }
    p.odd = true;
    lied = lied || !reply.starts_with('-');
    deliver(node, std::exchange(p.held_back, {}) + std::string(reply));
    settle();
}

void world::answer_with_echo(unsigned node)
{
    peer& p = *peers_[node];
    if (!p.connected || p.served == p.asked.size()) {
        return;
    }
    const words& w = p.asked[p.served].command;
    std::string reply = "-ERR unknown command '" + w[0] + "', with args beginning with: ";
    for (std::size_t i = 1; i < w.size(); ++i) {
        const bool is_line = w[i].find_first_of("\r\n") == std::string::npos;
        reply += is_line ? "'" + w[i] + "' " : std::string("? ");
    }
    answer_with(node, false, reply + "\r\n");
}

void world::say_rest(unsigned node)
{
    deliver(node, std::exchange(peers_[node]->held_back, {}));
    settle();
}

/// Sends notifications of expired keys, and of one that may be unchanged.
void world::push(unsigned node)
{
    peer& p = *peers_[node];
    if (p.held_back.empty() && p.speaks.protocol == 3) {
        p.master.expire(now_);
        deliver(node, std::exchange(p.speaks.out, {}) + ">2\r\n$10\r\ninvalidate\r\n*1\r\n+a\r\n");
        settle();
    }
}

void world::execute_stray(unsigned node)
{
    peer& p = *peers_[node];
    if (!p.strays.empty()) {
        // Such late commands may arrive after the last release of their key.
        may_leave_keys_ = may_leave_keys_ || p.overtaken > 0;
        p.overtaken -= std::min<std::size_t>(p.overtaken, 1);
        session gone;
        gone.authenticated = true;
        (void)p.master.execute(now_, gone, p.strays.front());
        p.master.forget(gone);
        p.strays.pop_front();
    }
}

void world::flush(unsigned node)
{
    peers_[node]->master.flush_keys();
    lied = lied || !settings_.guard;
}

void world::restart(unsigned node, bool keeps_keys)
{
    peer& p = *peers_[node];
    hang_up(node);
    p.strays.clear();
    p.overtaken = 0;
    const std::string digits = std::to_string(++runs_);
    std::string& id = p.master.run_id;
    id.replace(id.size() - digits.size(), digits.size(), digits);
    p.master.flush_scripts();
    if (!keeps_keys) {
        flush(node);
    }
}

void world::admit_all()
{
    for (const auto& p : peers_) {
        p->master.put(config_.key_prefix + std::string(base::marker_resource),
                      {p->master.run_id + settings_.guard->fingerprint +
                           " since=" + std::to_string(date_of(now_)),
                       std::nullopt, false});
    }
}

void world::take_written(unsigned node)
{
    peer& p = *peers_[node];
    if (std::exchange(p.writing, false)) {
        core_.network().on_written(node);
        collect(node);
        match(node);
    }
    settle();
}

// Turns and time.

void world::settle()
{
    for (bool again = true; again;) {
        take_finished();
        (void)core_.network().take_written();
        const node_mask given_up = core_.network().take_to_close();
        const node_mask wanted = core_.network().take_to_connect();
        for (unsigned i = 0; i < nodes(); ++i) {
            peer& p = *peers_[i];
            if ((given_up & bit(i)) != 0) {
                check_given_up(p);
                forget_connection(i);
            }
            if ((wanted & bit(i)) != 0) {
                require(!p.connected && !p.dialled, "one connection to a node");
                p.dialled = true;
                p.dialled_at = now_;
            }
            collect(i);
            match(i);
        }
        again = false;
        for (unsigned i = 0; i < nodes(); ++i) {
            const bool has_more = core_.network().has_output(i) && !peers_[i]->writing;
            again = serve(i) || has_more || again;
        }
        again = again || core_.operations().finished() > 0 || core_.news() > 0;
    }
    check();
}

/// The core closes a connection only for a reason.
void world::check_given_up(const peer& p) const
{
    require(p.connected || p.dialled, "only what is open is closed");
    if (stopped_ || p.odd) {
        return;
    }
    const words* const next = p.asked.empty() ? nullptr : &p.asked.front().command;
    // Under the restart guard the first query of the marker ends the handshake.
    const bool looks = next != nullptr && asks_for_marker(*next) && !p.has_told_marker;
    const bool greets = p.dialled || looks || (next != nullptr && is_greeting(*next));
    const bool in_time = greets            ? p.dialled_at + settings_.connect_timeout > now_
                         : p.asked.empty() ? true
                                           : p.asked.front().at + settings_.stall_timeout > now_;
    require(!in_time, "a node that does as masters do is not given up");
}

/// An acquire that waits for its first attempt may make it when it wakes up late.
void world::set_clock(instant to)
{
    constexpr nanos longest_run = 24h * 365 * 50;
    now_ = std::min(to, instant{} + longest_run);
    for (caller& c : callers_) {
        if (!c.done() && c.what == kind::acquire && c.op->attempts_made == 0) {
            c.due = std::max(c.due, now_ + settings_.node_timeout);
        }
    }
}

void world::tick()
{
    core_.on_time(now_);
    settle();
    for (const caller& c : callers_) {
        require(c.done() || c.due > now_, "an operation ends in time");
    }
}

void world::advance(nanos span)
{
    constexpr unsigned most_steps = 100;
    const instant end = now_ + span;
    unsigned at_one_instant = 0;
    instant next = core_.next_deadline();
    for (unsigned n = 0; n < most_steps && next <= end; ++n) {
        at_one_instant = next <= now_ ? at_one_instant + 1 : 0;
        require(at_one_instant < 100, "time does not stand still");
        set_clock(std::max(now_, next));
        tick();
        next = core_.next_deadline();
    }
    if (next > end) {
        set_clock(end);
    }
}

void world::jump(nanos span)
{
    set_clock(now_ + span);
    tick();
}

void world::let_pass(nanos span)
{
    set_clock(now_ + span);
}

// The end.

void world::heal()
{
    if (stopped_) {
        return;
    }
    no_entropy = false;
    while (std::any_of(callers_.begin(), callers_.end(), [](auto& c) { return !c.done(); })) {
        cancel(0);
    }
    while (!held_.empty()) {
        drop(0);
    }
    for (unsigned i = 0; i < nodes(); ++i) {
        peers_[i]->slow = false;
        peers_[i]->does = peer::habit::answers;
        hang_up(i);
    }
    advance(settings_.connect_timeout + settings_.stall_timeout +
            2 * settings_.reconnect_backoff_max);
    require(core_.network().is_quiet(), "what is owed to nodes that work is given to them");
    require(!started_ || core_.snapshot().nodes_ready == nodes(), "nodes that work are found");
    check_given_back();
}

/// No caller holds a lock: once no release is pending, no key is left to expire.
void world::check_given_back()
{
    constexpr int most_jumps = 40;
    if (!started_ || lied || may_leave_keys_) {
        return;
    }
    for (int i = 0; i < most_jumps && core_.snapshot().pending_releases > 0; ++i) {
        jump(5s);
    }
    const redlock::stats s = core_.snapshot();
    for (const auto& p : peers_) {
        const auto& all = p->master.all();
        const bool is_empty = std::none_of(all.begin(), all.end(), [&](const auto& k) {
            return is_of_a_lock(k.first) && p->master.find(now_, k.first) != nullptr;
        });
        require(is_empty || s.pending_releases > 0 || s.pending_releases_dropped > 0,
                "what was taken is given back");
    }
}

void world::end()
{
    stop();
    while (!held_.empty()) {
        drop(0);
    }
    const redlock::stats s = core_.snapshot();
    require(s.in_flight == 0 && s.leases == 0 && s.unanswered == 0 && s.pending_releases == 0 &&
                s.buffered_bytes == 0 && s.nodes_ready == 0,
            "after the end nothing is in use");
    require(core_.next_deadline() == instant::max(), "after the end nothing is due");
    for (const caller& c : callers_) {
        require(c.completions == 1, "every operation ends once");
    }
}

}  // namespace redlock::test
