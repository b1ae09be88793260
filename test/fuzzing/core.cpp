#include "world.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

// The whole core under any order of events, with 1 to 7 nodes. The input is 5 bytes for the kind of
// world, then events. An event is a byte that names it, and its arguments.

namespace redlock::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds ttls[] = {200ms, 1000ms, 10'000ms, base::max_ttl};
constexpr milliseconds deadlines[] = {0ms, 1ms, 60ms, 400ms, 10'000ms, milliseconds::max()};

/// The locks: one resource, or several as one.
const names resources[] = {{"a"}, {"b"}, {"a", "b"}, {"b", "a"}, {"b", "c"}, {"c", "a", "b"}};

/// Texts of a node that are no answer, or the answer to something else.
constexpr std::string_view replies[] = {
    "+OK\r\n",
    "$-1\r\n",
    "_\r\n",
    ":0\r\n",
    ":1\r\n",
    ":-2\r\n",
    ":9223372036854775807\r\n",
    ":1700000000000007\r\n",
    ":-1700000000000009\r\n",
    "*2\r\n$3\r\nabc\r\n:5000\r\n",
    "*2\r\n_\r\n:-2\r\n",
    "*0\r\n",
    "*2\r\n:0\r\n:1700000000000007\r\n",
    "*2\r\n:1\r\n:5000\r\n",
    "%1\r\n+proto\r\n:3\r\n",
    "#t\r\n",
    "$3\r\nabc\r\n",
    ">1\r\n+x\r\n",
    "|1\r\n+a\r\n+b\r\n+OK\r\n",
    "+OK\r\n+OK\r\n",
};
constexpr std::string_view errors[] = {
    "-ERR broken\r\n",
    "-NOSCRIPT No matching script.\r\n",
    "-WRONGTYPE Operation against a key\r\n",
    "-NOPERM no permissions to run the 'eval' command\r\n",
    "-ERR unknown command 'DELIFEQ'\r\n",
    "-LOADING Redis is loading\r\n",
    "-OOM command not allowed\r\n",
    "-READONLY You can't write\r\n",
};

/// How the restart guard begins.
enum class guarded : std::uint8_t { by_new_masters, by_admitted_ones, by_waiting };

/// The last two bits choose how the guard begins.
guarded guard_of(unsigned kind)
{
    constexpr guarded all[] = {guarded::by_new_masters, guarded::by_admitted_ones,
                               guarded::by_admitted_ones, guarded::by_waiting};
    return all[kind % 4];
}

redlock::config configured(unsigned how, unsigned kind)
{
    redlock::config c;
    c.connect_timeout = 200ms;
    c.reconnect_backoff_max = 100ms;
    c.stall_timeout = 200ms;
    c.ping_interval = (how & 1U) != 0 ? 500ms : 0ms;
    c.key_prefix = (how & 2U) != 0 ? "app:" : "";
    c.drift_factor = (how & 4U) != 0 ? 0.25 : 0.01;
    c.max_pending_releases = (how & 8U) != 0 ? 2 : 1000;
    c.backoff_min = (how & 16U) != 0 ? 0ms : 5ms;
    c.backoff_max = (how & 32U) != 0 ? c.backoff_min : 250ms;
    c.client_name = (how & 64U) != 0 ? "" : "redlock";
    if ((how & 128U) != 0) {
        c.restart_guard = guard_config{
            .max_ttl = 1000ms, .admit_new_nodes = guard_of(kind) == guarded::by_new_masters};
    }
    if ((kind & 4U) != 0) {
        c.on_renewal = [](const renewal&) {};
    }
    return c;
}

class play {
public:
    explicit play(std::string_view bytes)
        : in_(bytes),
          options_(in_.byte()),
          kind_(in_.byte()),
          // braces fix the order of evaluation
          w_{configured(options_, kind_), 1 + in_.below(7), in_.byte()}
    {
        if ((options_ & 128U) != 0 && guard_of(kind_) == guarded::by_admitted_ones) {
            w_.admit_all();
        }
        const unsigned how = in_.byte();
        w_.with_reports = (how & 1U) != 0;
        for (unsigned i = 0; i < w_.nodes(); ++i) {
            peer& p = w_.at(i);
            p.does = static_cast<peer::habit>((how >> 1U) % 3);
            p.master.knows_hello = (how & 8U) == 0;
            p.master.has_delifeq = (how & 16U) != 0 && i % 2 == 0;
            p.master.has_delex = (how & 32U) != 0;
        }
        if ((how & 64U) == 0) {
            w_.start();
        }
        heals_ = (how & 128U) != 0;
    }

    void run()
    {
        while (!in_.empty()) {
            step();
        }
        if (heals_) {
            w_.heal();
        }
        w_.end();
    }

private:
    unsigned node() { return in_.below(w_.nodes()); }
    const names& some_resources() { return resources[in_.below(std::size(resources))]; }
    std::string_view name() { return in_.flag() ? "b" : "a"; }
    whose some_owner(unsigned how)
    {
        if ((how & 16U) == 0) {
            return whose::nobodys;
        }
        return (how & 32U) == 0 ? whose::ones : whose::anothers;
    }
    template <class T, std::size_t N>
    T one_of(const T (&values)[N])
    {
        return values[in_.below(N)];
    }

    void acquire()
    {
        const names& what = some_resources();
        acquire_options o{.ttl = one_of(ttls), .timeout = one_of(deadlines)};
        const unsigned how = in_.byte();
        o.max_attempts = how % 4 == 0 ? unlimited : how % 4;
        o.min_validity = (how & 4U) != 0 ? o.ttl / 2 : 0ms;
        o.fencing = (how & 8U) != 0;
        if ((how & 64U) != 0) {
            o.keep_alive = (how & 128U) == 0
                               ? keep_alive{}
                               : keep_alive{.max_hold = o.ttl + o.ttl / 2, .max_renewals = how % 4};
        }
        w_.acquire(what, o, some_owner(how));
    }

    void step()
    {
        switch (in_.below(6)) {
            case 0: call(); return;
            case 1: change_time(); return;
            case 2: w_.answer_right(node(), std::string::npos); return;
            case 3: answer_all(); return;
            case 4: connection(); return;
            case 5: trouble(); return;
        }
    }

    void call()
    {
        switch (in_.below(12)) {
            case 0:
            case 1: acquire(); return;
            case 2: extend(); return;
            case 3: w_.release(in_.byte()); return;
            case 4: w_.drop(in_.byte()); return;
            case 5: w_.inspect(name()); return;
            case 6: adopt(); return;
            case 7: w_.cancel(in_.byte()); return;
            case 8: end_client(); return;
            case 9: w_.start(); return;
            case 10: w_.wait_lost(in_.byte()); return;
            case 11: hand_over(); return;
        }
    }

    // The compiler must not choose the order in which arguments are read.

    void extend()
    {
        const unsigned which = in_.byte();
        w_.extend(which, one_of(ttls));
    }

    void adopt()
    {
        const std::string token = w_.token_of(in_.byte());
        const names& what = some_resources();
        w_.adopt(what, token, one_of(ttls));
    }

    void hand_over()
    {
        const bool back = in_.flag();
        const unsigned which = in_.byte();
        if (back) {
            w_.adopt_again(which, one_of(ttls));
        } else {
            w_.hand_over(which);
        }
    }

    template <std::size_t N>
    void answer_with_one_of(unsigned node, const std::string_view (&all)[N])
    {
        const bool executed = in_.flag();
        w_.answer_with(node, executed, one_of(all));
    }

    /// Rarely, as little happens after it.
    void end_client()
    {
        switch (in_.below(16)) {
            case 0: w_.close(); return;
            case 1: w_.stop(); return;
            default: w_.no_entropy = in_.flag(); return;
        }
    }

    void change_time()
    {
        switch (in_.below(6)) {
            case 0: w_.advance(milliseconds{in_.byte()}); return;
            case 1: w_.advance(milliseconds{in_.byte() * 10}); return;
            case 2: w_.jump(milliseconds{in_.byte()}); return;
            case 3: w_.jump(std::chrono::seconds{in_.byte()}); return;
            case 4: w_.jump(std::chrono::hours{24 * in_.byte()}); return;
            case 5: w_.let_pass(std::chrono::microseconds{in_.byte() * 100}); return;
        }
    }

    void answer_all()
    {
        for (unsigned i = 0; i < w_.nodes(); ++i) {
            w_.answer_right(i, std::string::npos);
        }
    }

    void connection()
    {
        const unsigned i = node();
        switch (in_.below(6)) {
            case 0: w_.connect(i); return;
            case 1: w_.hang_up(i); return;
            case 2: w_.at(i).does = static_cast<peer::habit>(in_.below(3)); return;
            case 3: w_.at(i).slow = in_.flag(); return;
            case 4: w_.take_written(i); return;
            case 5: w_.execute_stray(i); return;
        }
    }

    void trouble()
    {
        const unsigned i = node();
        switch (in_.below(11)) {
            case 0: w_.answer_right(i, in_.byte() % 8); return;
            case 1: w_.say_rest(i); return;
            case 2: answer_with_one_of(i, replies); return;
            case 3: answer_with_one_of(i, errors); return;
            case 4: w_.answer_with_echo(i); return;
            case 5: w_.say(i, in_.bytes(in_.below(64))); return;
            case 6: w_.say(i, one_of(replies)); return;
            case 7: w_.at(i).master.flush_scripts(); return;
            case 8: w_.flush(i); return;
            case 9: w_.push(i); return;
            case 10: w_.restart(i, in_.flag()); return;
        }
    }

    input in_;
    const unsigned options_;
    const unsigned kind_;
    world w_;
    bool heals_ = false;
};

}  // namespace

void run_target(std::string_view bytes)
{
    play(bytes).run();
}

}  // namespace redlock::test
