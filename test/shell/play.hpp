#pragma once

#include "shell/clockwork.hpp"
#include "shell/probe.hpp"
#include "shell/sim_context.hpp"
#include "shell/sim_node.hpp"
#include "shell/sim_world.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace redlock::test {

/// What a play came to.
struct verdict {
    std::uint64_t seed = 0;
    std::uint64_t hash = 0;
    /// What is wrong; empty when nothing is.
    std::string failure;

    // What it was about, to see that many of them are about something.
    unsigned handlers = 0;
    unsigned locks = 0;
    unsigned aborted = 0;
    unsigned closed = 0;
    unsigned abandoned = 0;
    unsigned thrown = 0;
    unsigned steps = 0;
    bool tidy = false;
    /// With TLS to some node, and the locks of those in which the plain nodes are no majority: each
    /// took a vote over TLS.
    unsigned encrypted = 0;
    unsigned locks_encrypted = 0;

    verdict& operator+=(const verdict& o);
};

std::ostream& operator<<(std::ostream& out, const verdict& v);

/**
 * Two clients on an execution context of the test's own, some masters, and operations of every
 * kind, begun, cancelled, and ended in every way. The seed decides all of it.
 */
class play final : public audience {
public:
    explicit play(std::uint64_t seed, std::ostream* trace = nullptr);
    ~play();

    /// Once.
    [[nodiscard]] verdict run();

private:
    /// Where a client sits, one after the other.
    struct seat {
        enum class kind : std::uint8_t { plain, on_strand, thread_safe };

        kind how = kind::plain;
        redlock::config config;
        std::optional<asio::strand<sim_executor>> strand;
        asio::any_io_executor executor;
        std::optional<client> locks;
        life* now = nullptr;
    };
    struct held {
        lock l;
        seat* from;
    };
    struct handed_over {
        std::string name;
        std::string owner;
    };
    static constexpr std::array<std::string_view, 3> names{"a", "b", "c"};
    class shown;
    /// By a handler of ours.
    struct thrown {
        unsigned by;
    };

    // The loop.
    void step();
    void step(sim_context& c);
    void run_for(std::chrono::milliseconds time);
    void run_dry();
    void check_due();
    void check_work();
    void check_exclusion();
    void check_keys();
    void check_handlers();

    // Its end.
    void end_tidily();
    void end_abruptly();
    void end_contexts() noexcept;
    void heal();

    // What users do.
    void act();
    template <class F>
    void on_client(seat& s, F f);
    [[nodiscard]] bool may_touch(const seat& s) const;
    [[nodiscard]] seat& any_seat() { return seats_[clock_.below(2)]; }
    void make_client(seat& s);
    void end_client(seat& s);
    void ends(life& l);
    void upset_a_node();
    void cancel_one();
    void give_one_up();
    void begin_any(seat& s);
    void begin(seat& s, verb what);
    template <class Operation>
    void launch(seat& s, record& r, Operation op);
    template <class Operation>
    void initiate(seat& s, record& r, Operation op, unsigned token);
    template <class Operation>
    void initiate_bound(seat& s, record& r, Operation op);
    [[nodiscard]] record& new_record(seat& s, verb what);
    void mark_begun(record& r);
    void begin_script(seat& s);
    asio::awaitable<void> script(seat& s, record& r);
    [[nodiscard]] acquire_options any_options();
    [[nodiscard]] std::string_view any_name();
    [[nodiscard]] lock take_held(const seat* of);

    // What they are told.
    void on_called(record& r, error_code ec, lock l) override;
    void on_thrown(record& r, std::exception_ptr e) override;
    void on_destroyed(record& r) noexcept override;
    void check_call(record& r);
    void check_error(const record& r, const life& l, verb what, error_code ec, bool has_lock);
    void react(record& r);

    clockwork clock_;
    verdict verdict_;
    /// Busy executors: time goes by while handlers wait.
    const bool lags_;
    /// No client ends before the end, so that no key may be left.
    const bool tidy_;
    /// Of the nodes with TLS.
    std::optional<sim_identity> identity_;
    std::deque<sim_node> nodes_;
    /// The plain ones are no majority.
    bool needs_tls_ = false;
    std::optional<sim_context> main_;
    std::optional<sim_context> other_;
    std::array<seat, 2> seats_;
    std::deque<life> lives_;
    std::deque<record> records_;
    std::vector<record*> open_;
    std::vector<held> held_;
    std::vector<const lock*> shown_;
    std::deque<handed_over> handed_over_;
    /// So many of them, from the front on, were taken up again.
    std::size_t adopted_ = 0;
    unsigned actions_left_;
    unsigned thrown_ = 0;
    unsigned caught_ = 0;
    /// Nothing begins any more.
    bool over_ = false;
    bool may_abandon_ = false;
};

/// Where the client may be used: here, if this is such a place, or posted there.
template <class F>
void play::on_client(seat& s, F f)
{
    if (may_touch(s) && !clock_.one_in(4)) {
        f();
    } else if (s.executor) {
        asio::post(s.executor, std::move(f));
    }
}

/// Plays twice, as one seed must come to one hash.
[[nodiscard]] verdict play_twice(std::uint64_t seed);

}  // namespace redlock::test
