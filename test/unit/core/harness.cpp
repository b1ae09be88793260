#include "harness.hpp"

#include "support/allocation_count.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

namespace redlock::test {

using core::node_mask;

std::vector<std::string> node_urls(unsigned count)
{
    std::vector<std::string> urls;
    for (unsigned i = 0; i < count; ++i) {
        urls.push_back("redis://10.0.0." + std::to_string(i + 1));
    }
    return urls;
}

namespace {

redlock::config completed(redlock::config c, unsigned nodes, bench_world& w)
{
    if (c.nodes.empty()) {
        c.nodes = node_urls(nodes);
    }
    // A test that wants fencing says so in its acquire. Most tests are easier to read without.
    c.fencing = false;
    c.log = [&w](log_level level, std::string_view line) {
        if (level == log_level::debug) {
            w.debug_lines.emplace_back(line);
            return;
        }
        w.log_levels.push_back(level);
        w.log_lines.emplace_back(line);
    };
    c.on_renewal = [](const renewal&) {};
    return c;
}

}  // namespace

bench_world::bench_world(unsigned nodes, redlock::config c, std::uint32_t seed)
    : config(completed(std::move(c), nodes, *this)),
      settings(base::make_settings(config)),
      entropy(seed)
{
    for (std::size_t i = 0; i < settings.nodes.size(); ++i) {
        peers.push_back(std::make_unique<peer>());
        peers.back()->master.run_id[0] = "0123456789abcdef"[i % 16];
        peers.back()->master.run_id[1] = "0123456789abcdef"[i / 16];
    }
    core = std::make_unique<core::client_core>(settings, entropy, date);
}

bench_world::~bench_world() = default;

/// Memory is scarce only within the core.
template <class What>
decltype(auto) bench_world::inside(What what)
{
    const scarce_memory scarce{fail_every};
    return what();
}

void bench_world::start()
{
    inside([&] { core->network().start(now); });
    settle();
}

// Operations.

/// `begin` starts the operation. If it throws, there is no operation.
template <class Begin>
call& bench_world::begin(Begin begin)
{
    call& c = calls.emplace_back();
    c.begun = now;
    redlock::report* const r = with_report ? &c.report : nullptr;
    try {
        c.op = &inside([&]() -> core::operation& { return begin(r); });
    } catch (const std::bad_alloc&) {
        calls.pop_back();
        settle();
        throw;
    }
    c.op->user = &c;
    settle();
    return c;
}

call& bench_world::acquire(std::string_view resource, const acquire_options& o)
{
    return begin([&](redlock::report* r) -> core::operation& {
        acquire_options with = o;
        with.report = r;
        return core->operations().acquire(now, resource, with);
    });
}

call& bench_world::acquire(const std::vector<std::string>& resources, const acquire_options& o)
{
    const auto names = std::make_shared<const std::vector<std::string>>(resources);
    return begin([&](redlock::report* r) -> core::operation& {
        acquire_options with = o;
        with.report = r;
        return core->operations().acquire(now, names, with);
    });
}

call& bench_world::adopt(const std::vector<std::string>& resources, const base::owner_token& owner,
                         nanos ttl)
{
    return begin([&](report* r) -> core::operation& {
        return core->operations().adopt(
            now, std::make_shared<const std::vector<std::string>>(resources), owner, ttl, r);
    });
}

call& bench_world::adopt(std::string_view resource, const base::owner_token& owner, nanos ttl)
{
    return begin([&](redlock::report* r) -> core::operation& {
        return core->operations().adopt(now, resource, owner, ttl, r);
    });
}

call& bench_world::extend(core::lease& l, nanos ttl)
{
    return begin([&](redlock::report* r) -> core::operation& {
        return core->operations().extend(now, l, ttl, r);
    });
}

call& bench_world::release(core::lease& l)
{
    return begin([&](redlock::report* r) -> core::operation& {
        return core->operations().release(now, l, r);
    });
}

call& bench_world::inspect(std::string_view resource, bool every_node, std::string_view owner_token)
{
    return begin([&](redlock::report* r) -> core::operation& {
        return core->operations().inspect(now, resource, {r, every_node, owner_token});
    });
}

call& bench_world::wait_lost(core::lease& l)
{
    return begin(
        [&](redlock::report*) -> core::operation& { return core->operations().wait_lost(now, l); });
}

void bench_world::cancel(call& c)
{
    if (!c.done()) {
        inside([&] { core->operations().cancel(now, *c.op); });
    }
    settle();
}

void bench_world::drop(core::lease& l)
{
    inside([&] { core->operations().drop(now, l); });
    settle();
}

void bench_world::stop()
{
    inside([&] { core->stop(now); });
    settle();
}

core::lease& bench_world::lock(std::string_view resource, const acquire_options& o)
{
    call& c = acquire(resource, o);
    if (!c.done() || c.held == nullptr) {
        throw std::runtime_error("the lock was not had: " + c.error.message());
    }
    return *c.held;
}

bool bench_world::take_finished()
{
    bool any = false;
    inside([&] { core->check_leases(now); });
    for (core::renewal_news told; core->take_news(told);) {
        news.push_back(told.outcome);
        failures.push_back(std::move(told.report));
        core->forget(told);
    }
    while (core::operation* op = core->operations().take_finished(now)) {
        call& c = *static_cast<call*>(op->user);
        ++c.completions;
        c.error = op->error;
        c.released = op->released;
        c.found = op->inspection ? *op->inspection : inspection{};
        c.ended = now;
        const bool gives =
            op->what == core::operation::kind::acquire || op->what == core::operation::kind::adopt;
        c.held = gives && !op->error ? op->subject : nullptr;
        c.op = nullptr;
        core->operations().recycle(*op);
        any = true;
    }
    return any;
}

// Connections.

bool bench_world::is_handshake(const peer&, const words& w) const
{
    for (const char* name : {"HELLO", "AUTH", "SELECT", "SCRIPT", "COMMAND", "INFO", "ROLE"}) {
        if (w[0] == name) {
            return true;
        }
    }
    if (w[0] == "CLIENT") {
        return w[1] == "SETNAME";
    }
    return std::any_of(w.begin(), w.end(),
                       [](const std::string& word) { return word.ends_with("redlock:probe"); });
}

bool bench_world::is_role_query(const peer& p, const words& w)
{
    return p.greeted && !p.manual_handshake &&
           (w == words{"HELLO", "3"} || w == words{"INFO", "replication"} ||
            (w == words{"ROLE"} && p.said_role));
}

bool bench_world::answers_itself(const peer& p, const words& w)
{
    return is_role_query(p, w) || w[0] == "GETRANGE";
}

std::size_t bench_world::role_queries(unsigned node) const
{
    return peers[node]->role_queries;
}

void bench_world::dial(unsigned node)
{
    peer& p = *peers[node];
    p.dials.push_back(now);
    switch (p.dial) {
        case peer::dialling::silent: return;
        case peer::dialling::refused:
            inside([&] { core->network().on_closed(now, node, "connection refused"); });
            return;
        case peer::dialling::at_once: break;
    }
    if (settings.credentials &&
        !inside([&] { return core->network().on_credentials(now, node, p.given); })) {
        return;
    }
    p.connected = true;
    ++p.connects;
    ++p.connection;
    p.greeted = p.said_role = false;
    p.master.forget(p.speaks);
    p.speaks = {};
    inside([&] { core->network().on_connected(now, node); });
}

bool bench_world::close_given_up()
{
    const node_mask given_up = core->network().take_to_close();
    for (unsigned i = 0; i < peers.size(); ++i) {
        if ((given_up & core::bit(i)) != 0) {
            peer& p = *peers[i];
            p.connected = false;
            ++p.closes;
            p.asked.clear();
            p.coming.clear();
        }
    }
    return given_up != 0;
}

void bench_world::carry_out(unsigned node)
{
    peer& p = *peers[node];
    std::string bytes;
    while (core->network().has_output(node)) {
        bytes += std::exchange(core->network().take_output(node), {});
        core->network().on_written(node);
        ++p.writes;
    }
    for (words& w : parse_commands(bytes)) {
        if (!p.connected) {
            throw std::runtime_error("something was written without a connection");
        }
        const bool asks_role = is_role_query(p, w);
        const bool greets = !asks_role && is_handshake(p, w);
        if (asks_role) {
            ++p.role_queries;
        } else if (!greets) {
            p.log.push_back(w);
        }
        // The last command of every handshake, with HELLO and without.
        p.greeted = p.greeted || w == words{"INFO", "replication"};
        p.said_role = p.said_role || w == words{"ROLE"};
        const bool is_mine = greets ? p.manual_handshake : !p.automatic;
        if (is_mine && !(answers_itself(p, w) && p.asked.empty())) {
            p.asked.push_back(std::move(w));
        } else {
            p.arriving.push_back({now + p.way_there, p.connection, std::move(w)});
        }
    }
}

bool bench_world::serve_strays(unsigned node)
{
    peer& p = *peers[node];
    const auto due = [&](const peer::request& r) { return !p.frozen && r.at <= now; };
    session gone;
    gone.authenticated = true;
    for (const peer::request& r : p.strays) {
        if (due(r)) {
            (void)p.master.execute(now, gone, r.command);
        }
    }
    p.master.forget(gone);
    return std::erase_if(p.strays, due) > 0;
}

/// The node executes the commands that have arrived.
bool bench_world::serve(unsigned node)
{
    peer& p = *peers[node];
    bool any = false;
    while (!p.frozen && !p.arriving.empty() && p.arriving.front().at <= now) {
        const peer::request r = std::move(p.arriving.front());
        p.arriving.pop_front();
        session gone;
        const bool alive = p.connected && r.connection == p.connection;
        gone.authenticated = true;
        std::string reply = p.master.execute(now, alive ? p.speaks : gone, r.command);
        if (alive) {
            p.coming.push_back({now + p.way_back, std::move(reply)});
        } else {
            p.master.forget(gone);
        }
        any = true;
    }
    // Notifications.
    if (std::string pushes = std::exchange(p.speaks.out, {}); p.connected && !pushes.empty()) {
        p.coming.push_back({now + p.way_back, std::move(pushes)});
        any = true;
    }
    return any;
}

bool bench_world::deliver(unsigned node)
{
    peer& p = *peers[node];
    bool any = false;
    while (p.connected && !p.coming.empty() && p.coming.front().at <= now) {
        const std::string bytes = std::move(p.coming.front().bytes);
        p.coming.pop_front();
        inside([&] { core->network().on_bytes(now, node, bytes); });
        any = true;
        // The core must read nothing after a connection is closed.
        close_given_up();
    }
    return any;
}

void bench_world::settle()
{
    for (bool again = true; again;) {
        again = take_finished();
        const auto each = [&](node_mask set, auto what) {
            for (unsigned i = 0; i < peers.size(); ++i) {
                if ((set & core::bit(i)) != 0) {
                    what(i);
                    again = true;
                }
            }
        };
        again = close_given_up() || again;
        each(core->network().take_to_connect(), [&](unsigned i) { dial(i); });
        const node_mask written = inside([&] { return core->network().take_written(); });
        each(written, [&](unsigned i) { carry_out(i); });
        for (unsigned i = 0; i < peers.size(); ++i) {
            again = serve_strays(i) || again;
            again = serve(i) || again;
            again = deliver(i) || again;
        }
    }
}

instant bench_world::next_event() const
{
    instant next = core->next_deadline();
    for (const auto& p : peers) {
        if (!p->frozen && !p->arriving.empty()) {
            next = std::min(next, p->arriving.front().at);
        }
        for (const peer::request& r : p->strays) {
            next = p->frozen ? next : std::min(next, r.at);
        }
        if (p->connected && !p->coming.empty()) {
            next = std::min(next, p->coming.front().at);
        }
    }
    return next;
}

void bench_world::advance(nanos span)
{
    const instant end = now + span;
    settle();
    unsigned at_one_instant = 0;
    for (instant next = next_event(); next <= end; next = next_event()) {
        at_one_instant = next <= now ? at_one_instant + 1 : 0;
        if (at_one_instant > 10'000) {
            throw std::runtime_error("time stands still: something is always due");
        }
        now = std::max(now, next);
        // Bytes come before timers, as in the engine.
        settle();
        inside([&] { core->on_time(now); });
        settle();
    }
    now = end;
}

// The test as a node.

void bench_world::manual(bool on)
{
    for (auto& p : peers) {
        p->automatic = !on;
    }
}

void bench_world::send(unsigned node, std::string_view bytes)
{
    // In a separate chunk, so that a sanitizer sees reads past the end.
    const std::vector<char> chunk(bytes.begin(), bytes.end());
    inside([&] { core->network().on_bytes(now, node, {chunk.data(), chunk.size()}); });
    settle();
}

void bench_world::answer(unsigned node, std::string_view bytes)
{
    peer& p = *peers[node];
    if (p.asked.empty()) {
        throw std::runtime_error("there is nothing to answer");
    }
    p.asked.pop_front();
    while (!p.asked.empty() && answers_itself(p, p.asked.front())) {
        p.arriving.push_back({now + p.way_there, p.connection, std::move(p.asked.front())});
        p.asked.pop_front();
    }
    send(node, bytes);
}

void bench_world::close(unsigned node, std::string_view reason)
{
    peer& p = *peers[node];
    p.connected = false;
    p.asked.clear();
    p.coming.clear();
    inside([&] { core->network().on_closed(now, node, reason); });
    settle();
}

void bench_world::lose(unsigned node)
{
    peers[node]->dial = peer::dialling::refused;
    close(node);
}

void bench_world::go_astray(unsigned node, std::size_t kept, nanos delay)
{
    peer& p = *peers[node];
    for (std::size_t i = 0; i < std::min(kept, p.arriving.size()); ++i) {
        p.strays.push_back(p.arriving[i]);
        p.strays.back().at = std::max(p.arriving[i].at, now + delay);
    }
    p.arriving.clear();
}

void bench_world::thaw(unsigned node)
{
    peers[node]->frozen = false;
    settle();
}

void bench_world::set_dialling(peer::dialling how)
{
    for (auto& p : peers) {
        p->dial = how;
    }
}

void bench_world::set_ways(nanos there, nanos back)
{
    for (auto& p : peers) {
        p->way_there = there;
        p->way_back = back;
    }
}

template <class What>
void bench_world::on_each_master(What what)
{
    for (auto& p : peers) {
        what(p->master);
    }
}

void bench_world::refuse(const std::string& command, const std::string& error)
{
    on_each_master([&](model_master& m) { m.refusals[command] = error; });
}

void bench_world::refuse_nothing()
{
    on_each_master([](model_master& m) { m.refusals.clear(); });
}

void bench_world::flush_keys()
{
    on_each_master([](model_master& m) { m.flush_keys(); });
}

void bench_world::flush_scripts()
{
    on_each_master([](model_master& m) { m.flush_scripts(); });
}

void bench_world::occupy(const std::string& key, nanos span)
{
    on_each_master([&](model_master& m) { m.put(key, {.value = stranger, .end = now + span}); });
}

void bench_world::occupy(const std::string& key, std::initializer_list<unsigned> nodes, nanos span)
{
    for (const unsigned i : nodes) {
        peers[i]->master.put(key, {.value = stranger, .end = now + span});
    }
}

std::vector<std::string> bench_world::pending(unsigned node) const
{
    std::vector<std::string> names;
    for (const words& w : peers[node]->asked) {
        if (!answers_itself(*peers[node], w)) {
            names.push_back(w[0]);
        }
    }
    return names;
}

std::size_t bench_world::count(unsigned node, std::string_view name) const
{
    const auto& log = peers[node]->log;
    return static_cast<std::size_t>(
        std::count_if(log.begin(), log.end(), [&](const words& w) { return w[0] == name; }));
}

std::size_t bench_world::keys() const
{
    std::size_t all = 0;
    for (const auto& p : peers) {
        for (const auto& [key, e] : p->master.all()) {
            const bool is_lock = !key.ends_with(base::counter_suffix) &&
                                 !key.ends_with(base::queue_suffix) &&
                                 !key.ends_with(base::ticket_suffix);
            all += is_lock && p->master.find(now, key) != nullptr ? 1u : 0u;
        }
    }
    return all;
}

std::string bench_world::why_unused(unsigned node)
{
    with_report = true;
    const call& c = acquire("r", {.timeout = 0ms, .max_attempts = 1});
    advance(60ms);
    if (c.error != errc::unavailable) {
        throw std::runtime_error("the acquire ended with: " + c.error.message());
    }
    return c.report.nodes.at(node).error;
}

std::size_t bench_world::lines_with(std::string_view text) const
{
    return static_cast<std::size_t>(std::ranges::count_if(
        log_lines, [&](const std::string& line) { return line.find(text) != line.npos; }));
}

bool bench_world::is_idle() const
{
    return core->snapshot().unanswered == 0 && core->waiters().resources() == 0 &&
           core->records_in_use() == 0;
}

}  // namespace redlock::test
