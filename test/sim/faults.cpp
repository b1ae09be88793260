#include "sim/faults.hpp"

#include "sim/world.hpp"

#include <algorithm>
#include <functional>

namespace redlock::sim {

using namespace std::chrono_literals;

namespace {

/// Does not change when a kind of fault is added.
constexpr std::uint64_t stream_of_the_beyond = 1024;
constexpr std::uint64_t stream_of_the_ill = 1025;

}  // namespace

fault_injector::fault_injector(world& w)
    : w_(w),
      full_until_(w.planned().nodes),
      loading_until_(w.planned().nodes),
      demoted_until_(w.planned().nodes),
      set_back_(w.planned().nodes)
{
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        random_.emplace_back(w.planned().seed, 1000 + i);
    }
    random_.emplace_back(w.planned().seed, stream_of_the_beyond);
}

void fault_injector::begin()
{
    for (unsigned i = 0; i < fault_kinds; ++i) {
        if (w_.planned().has(static_cast<fault>(i))) {
            schedule(i);
        }
    }
    if (w_.planned().outside != beyond::nothing) {
        schedule(fault_kinds);
    }
}

void fault_injector::schedule(unsigned kind)
{
    const nanos mean = kind < fault_kinds ? w_.planned().every[kind] : nanos{150ms};
    w_.schedule(random_[kind].waiting(mean), event_kind::strike, 0, kind);
}

void fault_injector::strike(unsigned kind)
{
    if (w_.is_quiet()) {
        return;
    }
    if (kind == fault_kinds) {
        go_beyond();
    } else {
        befall(static_cast<fault>(kind));
    }
    schedule(kind);
}

/// Does one fault of a kind. Faults that come with a message, clock or operation happen elsewhere.
void fault_injector::befall(fault f)
{
    random_source& r = random_[static_cast<std::size_t>(f)];
    const auto node = static_cast<unsigned>(r.below(w_.servers.size()));
    const auto client = static_cast<unsigned>(r.below(w_.clients.size()));
    switch (f) {
        case fault::cut:
        case fault::black_hole: befall_link(f, client, node); return;
        case fault::node_pause:
        case fault::node_block:
        case fault::restart:
        case fault::restart_empty:
        case fault::full:
        case fault::loading:
        case fault::demoted:
        case fault::script_flush: befall_node(f, node); return;
        case fault::forget: make_forget(node); return;
        case fault::client_pause:
        case fault::client_kill:
        case fault::client_destroy:
        case fault::client_close: befall_client(f, client); return;
        case fault::delay:
        case fault::split:
        case fault::half_open:
        case fault::slow_write:
        case fault::slow_dial:
        case fault::old_server:
        case fault::clock_rate:
        case fault::clock_offset:
        case fault::cancel:
        case fault::drop:
        case fault::hand_over:
        case fault::raise: return;
        case fault::push:
            w_.counts.struck[static_cast<std::size_t>(f)] +=
                static_cast<std::uint64_t>(w_.servers[node]->tell_for_nothing(r));
            return;
    }
}

void fault_injector::befall_link(fault f, unsigned client, unsigned node)
{
    random_source& r = random_[static_cast<std::size_t>(f)];
    const nanos span = r.between(5ms, 800ms);
    const bool up = r.one_in(2);
    for (link* l : w_.net.between(client, node)) {
        if (!l->client_end || !l->server_end) {
            continue;
        }
        ++w_.counts.struck[static_cast<std::size_t>(f)];
        w_.say("c", client, " n", node, ": ", name_of(f));
        if (f == fault::cut) {
            w_.checks.upset(client, node, w_.now());
            w_.net.cut(*l);
        } else {
            w_.checks.upset(client, node, w_.now() + span);
            (up ? l->up : l->down).blocked_until = w_.now() + span;
        }
    }
}

void fault_injector::befall_node(fault f, unsigned node)
{
    random_source& r = random_[static_cast<std::size_t>(f)];
    server& s = *w_.servers[node];
    if (!s.is_up()) {
        return;
    }
    ++w_.counts.struck[static_cast<std::size_t>(f)];
    nanos span = r.between(5ms, 800ms);
    if (f == fault::restart_empty && !w_.planned().guard) {
        span = w_.planned().longest_ttl() * 6 / 5 + 10ms;
    }
    w_.say("n", node, ": ", name_of(f), " for ", span.count() / 1000, " us");
    w_.checks.upset_node(node, w_.now() + (f == fault::script_flush ? nanos{} : span));
    switch (f) {
        case fault::node_pause: s.pause(span); return;
        case fault::node_block: s.block(span); return;
        case fault::restart: s.die(span, memory::kept); return;
        case fault::restart_empty: s.die(span, memory::lost); return;
        case fault::full:
            s.master.is_full = true;
            full_until_[node] = w_.now() + span;
            w_.schedule(span, event_kind::relief, node);
            return;
        case fault::loading:
            s.master.is_loading = true;
            loading_until_[node] = w_.now() + span;
            w_.schedule(span, event_kind::relief, node);
            return;
        case fault::demoted:
            s.master.role = "slave";
            s.master.is_read_only = r.one_in(2);
            demoted_until_[node] = w_.now() + span;
            w_.schedule(span, event_kind::relief, node);
            return;
        case fault::script_flush: s.flush_scripts(); return;
        default: return;
    }
}

void fault_injector::forget_once_more()
{
    if (w_.planned().has(fault::forget)) {
        befall(fault::forget);
    }
}

/// Makes one node or all nodes lose keys. A node loses them while it runs, with or without a
/// notification. Or it restarts without keys or with keys of an earlier time.
void fault_injector::make_forget(unsigned node)
{
    random_source& r = random_[static_cast<std::size_t>(fault::forget)];
    const auto way = r.below(3);
    // Counters of an earlier time matter if a majority has them.
    const bool all = r.one_in(way == 2 ? 2 : 6);
    const nanos span = r.between(1ms, 50ms);
    for (unsigned n = 0; n < w_.servers.size(); ++n) {
        server& s = *w_.servers[n];
        if (!s.is_up()) {
            continue;
        }
        if (!all && n != node) {
            s.save();
            continue;
        }
        ++w_.counts.struck[static_cast<std::size_t>(fault::forget)];
        w_.say("n", n, ": forgets");
        w_.checks.upset_node(n, w_.now() + (way == 0 ? nanos{} : span));
        switch (way) {
            case 0:
                s.save();
                s.lose_keys(r.one_in(2));
                break;
            case 1: s.die(span, memory::lost); break;
            default: s.die(span, memory::rolled_back); break;
        }
    }
}

void fault_injector::befall_client(fault f, unsigned index)
{
    random_source& r = random_[static_cast<std::size_t>(f)];
    client& c = *w_.clients[index];
    if (!c.is_alive()) {
        return;
    }
    if (f == fault::client_pause) {
        ++w_.counts.struck[static_cast<std::size_t>(f)];
        halt(index);
        return;
    }
    const nanos span = r.between(1ms, 300ms);
    if (f != fault::client_kill && c.is_paused()) {
        return;
    }
    ++w_.counts.struck[static_cast<std::size_t>(f)];
    switch (f) {
        case fault::client_kill: c.kill(span); return;
        case fault::client_destroy: c.destroy(span); return;
        default: c.close(span); return;
    }
}

void fault_injector::halt(unsigned client)
{
    random_source& r = random_[static_cast<std::size_t>(fault::client_pause)];
    const nanos span = r.between(1ms, std::min<nanos>(2 * w_.planned().longest_ttl(), 3s));
    w_.checks.upset_client(client, w_.now() + span);
    w_.say("c", client, ": stands still for ", span.count() / 1000, " us");
    w_.clients[client]->pause(span);
}

/// Breaks the assumption of the play.
void fault_injector::go_beyond()
{
    random_source& r = random_[fault_kinds];
    const std::size_t node = r.below(w_.servers.size());
    server& s = *w_.servers[node];
    switch (w_.planned().outside) {
        case beyond::nothing:
        case beyond::liar:
        case beyond::liar_of_counters:
        case beyond::unequal_nodes: return;
        case beyond::clock_step:
            w_.say("a clock steps ahead");
            s.step_clock(2 * w_.planned().longest_ttl());
            s.set_date(2 * w_.planned().longest_ttl());
            return;
        case beyond::amnesia:
        case beyond::one_unguarded:
            if (s.is_up()) {
                w_.say("a node forgets");
                s.die(r.between(1ms, 20ms), memory::lost);
            }
            return;
        case beyond::rollback:
            if (s.is_up()) {
                w_.say("a node comes back as it was before");
                s.die(r.between(1ms, 20ms), memory::rolled_back);
            }
            return;
        case beyond::swapped:
            if (s.is_up()) {
                w_.say("a node's database is swapped with an empty one");
                s.lose_keys(false);
            }
            return;
        case beyond::counter_deleted:
            if (s.is_up()) {
                w_.say("a node's counters are deleted");
                s.delete_counters();
            }
            return;
        case beyond::expired_date_back:
            if (s.has_outlived_its_counters()) {
                set_date_back_once(node, 2 * w_.planned().counter_ttl);
            }
            return;
        case beyond::used_date_back:
            if (s.is_up() && s.has_counters() &&
                set_date_back_once(node, 2 * w_.planned().counter_ttl)) {
                s.use_counters();
            }
            return;
        case beyond::expiring_date_back:
            set_date_back_once(node, w_.planned().counter_ttl - 2 * w_.planned().counter_slack);
            return;
        case beyond::unequal_counter_ttl:
            if (s.has_outlived_its_counters()) {
                set_date_back_once(
                    node, w_.planned().longest_counter_ttl - 2 * w_.planned().counter_slack);
            }
            return;
        case beyond::restored:
            if (s.is_up() && r.one_in(2)) {
                s.save();
            } else if (s.is_up()) {
                w_.say("a node's keys are as they were before");
                s.roll_back();
            }
            return;
        case beyond::false_durable:
            if (w_.servers.front()->is_up()) {
                w_.say("a node that was to be durable forgets");
                w_.servers.front()->die(r.between(1ms, 20ms), memory::lost);
            }
            return;
        case beyond::unequal_max_ttl:
            // Seldom enough that clients can take locks in between.
            if (r.one_in(4)) {
                w_.say("all nodes forget");
                for (const auto& each : w_.servers) {
                    each->lose_keys();
                }
            }
            return;
        case beyond::date_back:
            if (s.is_up() && w_.planned().longest_ttl() < 10s) {
                w_.say("a node's date is set back, and it forgets");
                s.set_date(-2s);
                s.die(w_.planned().longest_ttl() * 6 / 5 + 10ms, memory::lost);
            }
            return;
        case beyond::date_back_borne:
            set_date_back(s, w_.planned().longest_ttl() - 2 * w_.planned().counter_slack,
                          r.one_in(2) ? memory::lost : memory::rolled_back);
            return;
        case beyond::guarded_date_back:
            set_date_back(s, 2 * w_.planned().longest_ttl(), memory::lost);
            return;
        case beyond::date_back_before:
            if (s.is_up() && s.is_admitted() && w_.planned().longest_ttl() < 10s) {
                if (!set_back_[node]) {
                    set_back_[node] = true;
                    w_.say("a node's date is set back");
                    s.set_date(-2 * w_.planned().longest_ttl());
                } else {
                    w_.say("a node whose date was set back forgets");
                    s.die(r.between(1ms, 20ms), memory::lost);
                }
            }
            return;
        case beyond::admitted_at_once:
            if (s.is_up()) {
                w_.say("a node forgets, and then a client begins");
                s.die(r.between(1ms, 20ms), memory::lost);
                begin_anew(static_cast<unsigned>(r.below(w_.clients.size())), 20ms);
            }
            return;
        case beyond::ignores_owns:
            befall_client(fault::client_pause, static_cast<unsigned>(r.below(w_.clients.size())));
            return;
    }
}

/// Sets the date back once while the node is away.
void fault_injector::set_date_back(server& s, nanos by, memory keys)
{
    if (s.is_up() && s.is_admitted() && w_.planned().longest_ttl() < 10s) {
        w_.say("a node's date is set back, and it forgets");
        s.set_date(-by);
        s.die(random_[fault_kinds].between(1ms, 20ms), keys);
        for (const auto& other : w_.servers) {
            if (other.get() != &s) {
                other->save();
            }
        }
    }
}

/// Sets the date back while the node runs.
bool fault_injector::set_date_back_once(std::size_t node, nanos by)
{
    const bool may_expire = w_.planned().counter_ttl < 10s;
    if (!may_expire || set_back_[node]) {
        return false;
    }
    set_back_[node] = true;
    w_.say("a node's date is set back");
    w_.servers[node]->set_date(-by);
    return true;
}

void fault_injector::begin_anew(unsigned client, nanos away)
{
    if (w_.clients[client]->is_alive()) {
        w_.clients[client]->kill(away);
    }
}

void fault_injector::relieve(unsigned node)
{
    auto& master = w_.servers[node]->master;
    master.is_full = master.is_full && full_until_[node] > w_.now();
    master.is_loading = master.is_loading && loading_until_[node] > w_.now();
    if (demoted_until_[node] <= w_.now()) {
        master.role = "master";
        master.is_read_only = false;
    }
}

void fault_injector::stop()
{
    for (unsigned n = 0; n < w_.servers.size(); ++n) {
        full_until_[n] = loading_until_[n] = demoted_until_[n] = {};
        relieve(n);
    }
    w_.net.unblock();
}

void fault_injector::leave_some_ill()
{
    const plan& p = w_.planned();
    random_source r(p.seed, stream_of_the_ill);
    if (p.nodes < 3 || p.outside != beyond::nothing || r.one_in(2)) {
        return;
    }
    const std::uint64_t wanted = r.between(1, (p.nodes - 1) / 2);
    const auto how = static_cast<illness>(1 + r.below(4));
    make_ill(r.below(p.nodes), wanted, how);
}

/// Together with the nodes whose date forbids votes for fencing tokens, these nodes are a minority.
void fault_injector::make_ill(std::uint64_t first, std::uint64_t wanted, illness how)
{
    const plan& p = w_.planned();
    const auto is_useless = [&p](const auto& s) { return p.fencing && s->is_out_of_date(); };
    auto able = static_cast<std::uint64_t>(
        std::count_if(w_.servers.begin(), w_.servers.end(), std::not_fn(is_useless)));
    for (unsigned i = 0; i < p.nodes && ill_.size() < wanted; ++i) {
        const auto n = static_cast<unsigned>((first + i) % p.nodes);
        if (!is_useless(w_.servers[n]) && able-- <= p.nodes / 2 + 1) {
            break;
        }
        ill_.push_back(n);
        w_.say("n", n, ": stays ill");
        w_.servers[n]->fall_ill(how);
    }
}

void fault_injector::heal()
{
    for (const unsigned n : ill_) {
        w_.say("n", n, ": is healed");
        w_.servers[n]->heal();
    }
    ill_.clear();
}

bool fault_injector::happens(fault f, std::uint32_t one_in)
{
    const auto i = static_cast<std::size_t>(f);
    const bool may = w_.planned().has(f) && !w_.is_quiet() && one_in > 0;
    if (!may || !random_[i].one_in(one_in)) {
        return false;
    }
    ++w_.counts.struck[i];
    return true;
}

bool fault_injector::happens(fault f)
{
    return happens(f, w_.planned().one_in[static_cast<std::size_t>(f)]);
}

bool fault_injector::delays(bool up)
{
    const plan& p = w_.planned();
    return happens(fault::delay, up ? p.delay_up_one_in : p.delay_down_one_in);
}

bool fault_injector::spoils_push()
{
    return happens(fault::push, 1 + w_.planned().one_in[static_cast<std::size_t>(fault::push)] / 4);
}

}  // namespace redlock::sim
