#include "world.hpp"

#include <chrono>
#include <string_view>

// The link to one node. It gets any bytes in any pieces and is closed at any time, during a few
// operations. The input is a byte for the kind of node, then chunks, each after a byte with its
// length. A length above 200 is another event: a step of time, a call, a connection that is closed
// or made, or the right answer.

namespace redlock::test {
namespace {

using std::chrono::milliseconds;

void begin_something(world& w, unsigned what)
{
    switch (what % 12) {
        case 0: w.acquire({"a"}, {.ttl = 1000ms, .timeout = 0ms}); return;
        case 1: w.acquire({"a"}, {.ttl = 1000ms, .timeout = 300ms}); return;
        case 2: w.inspect("a"); return;
        case 3: w.extend(0, 1000ms); return;
        case 4: w.release(0); return;
        case 5: w.drop(0); return;
        case 6: w.adopt({"a"}, w.token_of(0), 1000ms); return;
        case 7: w.cancel(0); return;
        case 8: w.acquire({"a", "b"}, {.ttl = 1000ms, .timeout = 300ms, .fencing = true}); return;
        case 9:
            w.acquire({"a"}, {.ttl = 1000ms, .timeout = 0ms, .keep_alive = keep_alive{}},
                      whose::ones);
            return;
        case 10: w.wait_lost(0); return;
        case 11: w.acquire({"a"}, {.ttl = 1000ms, .timeout = 0ms, .fencing = true}); return;
    }
}

void step(world& w, unsigned what, input& in)
{
    switch (what) {
        case 201: w.connect(0); return;
        case 202: w.hang_up(0); return;
        case 203: w.answer_right(0, std::string_view::npos); return;
        case 204: w.answer_right(0, in.byte()); return;
        case 205: w.answer_with_echo(0); return;
        case 206: w.advance(milliseconds{in.byte()}); return;
        case 207: w.jump(milliseconds{in.byte() * 20}); return;
        case 208: w.at(0).does = static_cast<peer::habit>(in.below(3)); return;
        case 209: w.take_written(0); return;
        case 210: w.push(0); return;
        default: begin_something(w, what); return;
    }
}

}  // namespace

void run_target(std::string_view bytes)
{
    constexpr unsigned longest_chunk = 200;
    input in(bytes);
    const unsigned how = in.byte();
    redlock::config c;
    c.connect_timeout = c.stall_timeout = 200ms;
    c.reconnect_backoff_max = 100ms;
    c.max_pending_releases = (how & 1U) != 0 ? 2 : 1000;
    if ((how & 64U) != 0) {
        c.restart_guard = guard_config{.max_ttl = milliseconds{1000}, .admit_new_nodes = true};
    }
    world w(c, 1, static_cast<std::uint8_t>(how));
    w.with_reports = (how & 2U) != 0;
    w.at(0).slow = (how & 4U) != 0;
    w.at(0).master.knows_hello = (how & 8U) == 0;
    w.at(0).does = (how & 16U) != 0 ? peer::habit::greets : peer::habit::nothing;
    w.start();
    while (!in.empty()) {
        const unsigned what = in.byte();
        if (what > longest_chunk) {
            step(w, what, in);
        } else {
            w.say(0, in.bytes(what));
        }
    }
    if ((how & 32U) != 0) {
        w.heal();
    }
    w.end();
}

}  // namespace redlock::test
