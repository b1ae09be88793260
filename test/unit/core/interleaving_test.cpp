#include "harness.hpp"
#include "support/tier.hpp"
#include "support/virtual/model_master.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr unsigned nodes = 3;
constexpr auto ttl = 3s;

/// Takes all ways through a play, one after another.
class all_ways {
public:
    /// Chooses an option at the next fork of this way.
    unsigned choose(unsigned options)
    {
        if (at_ == forks_.size()) {
            forks_.push_back({0, options});
        }
        const fork& f = forks_[at_++];
        if (f.options != options) {
            FAIL("the same way is not the same");
        }
        return f.chosen;
    }

    /// False after the last way.
    bool next()
    {
        at_ = 0;
        while (!forks_.empty() && forks_.back().chosen + 1 == forks_.back().options) {
            forks_.pop_back();
        }
        if (forks_.empty()) {
            return false;
        }
        ++forks_.back().chosen;
        return true;
    }

private:
    struct fork {
        unsigned chosen;
        unsigned options;
    };

    std::vector<fork> forks_;
    std::size_t at_ = 0;
};

/// The fate of a command that has reached a node.
enum class fate {
    answered,
    without,  ///< the node forgot the key or gave it to a stranger
    unheard,  ///< executed, but the connection is lost with the answer
    undone,   ///< the connection is lost with the command
};
constexpr unsigned fates_of_a_set = 4;
/// A client cannot distinguish an extend that is not executed from one whose answer is lost.
constexpr unsigned fates_of_an_extend = 3;

/// How the lock is prolonged, if at all.
enum class prolonged { never, by_renewal, by_hand };

struct race_plan {
    prolonged how = prolonged::never;
    /// Maximum number of renewals before the end of the lock, answered or not.
    unsigned renewals = 1;
    /// SETs or extends meet all fates. Otherwise the node answers them.
    bool sets_vary = false;
    bool extends_vary = false;
    /// An unfinished operation may be cancelled before the end of the lock.
    bool cancels = false;
};

bool is_set(const words& command)
{
    return command.front() == "SET";
}

bool is_extend(const words& command)
{
    return command.front() == "EVALSHA" && command.at(1) == contract_scripts[1].sha1;
}

/// Plays in one world. Each play must leave it as new.
class race {
public:
    explicit race(race_plan plan) : plan_(plan), w_(nodes, config_of())
    {
        w_.start();
        w_.manual();
    }

    std::uint64_t play_all()
    {
        std::uint64_t plays = 0;
        do {
            play();
            ++plays;
        } while (ways_.next());
        return plays;
    }

private:
    enum class act { node_0, node_1, node_2, prolong, cancel, end_by_release, end_by_drop };

    static redlock::config config_of()
    {
        redlock::config c;
        c.ping_interval = 0s;  // nothing except the lock's commands
        c.reconnect_backoff_min = c.reconnect_backoff_max = 1ms;
        return c;
    }

    void play()
    {
        begin();
        for (;;) {
            const std::vector<act> possible = what_can_happen();
            if (possible.empty()) {
                break;
            }
            const auto choice = ways_.choose(static_cast<unsigned>(possible.size()));
            happen(possible[choice]);
            check_that_it_is_over();
        }
        look_at_the_end();
    }

    void begin()
    {
        steps_.clear();
        w_.entropy = entropy_;
        for (const auto& p : w_.peers) {
            p->log.clear();
            p->dials.clear();
            p->master.put("r", {.value = "nobody's", .end = w_.now});
        }
        w_.calls.clear();
        w_.news.clear();
        w_.log_lines.clear();
        w_.log_levels.clear();
        w_.debug_lines.clear();
        extend_ = release_ = loss_ = nullptr;
        is_over_ = was_lost_ = was_extended_ = false;
        sets_done_ = 0;
        prolongations_left_ = plan_.how == prolonged::never ? 0 : plan_.renewals;
        is_cancelled_ = !plan_.cancels;
        acquire_options o{.ttl = ttl, .timeout = 1s, .max_attempts = 1};
        if (plan_.how == prolonged::by_renewal) {
            o.keep_alive = keep_alive{};
        }
        acquire_ = &w_.acquire("r", o);
        token_ = acquire_->op->subject->token.view();
    }

    [[nodiscard]] std::vector<act> what_can_happen() const
    {
        std::vector<act> all;
        for (unsigned i = 0; i < nodes; ++i) {
            // Nodes are alike, so they execute their SETs in the order of their names.
            const auto& asked = w_.peers[i]->asked;
            if (!asked.empty() && (!is_set(asked.front()) || sets_done_ == i)) {
                all.push_back(static_cast<act>(i));
            }
        }
        const bool is_held = acquire_->held != nullptr && !is_over_;
        if (is_held && prolongations_left_ > 0 && acquire_->held->valid_until() > w_.now) {
            all.push_back(act::prolong);
        }
        const bool is_asking = !acquire_->done() || (extend_ != nullptr && !extend_->done());
        if (!is_cancelled_ && is_asking) {
            all.push_back(act::cancel);
        }
        if (is_held) {
            all.push_back(act::end_by_release);
            all.push_back(act::end_by_drop);
        }
        return all;
    }

    void happen(act what)
    {
        switch (what) {
            case act::node_0:
            case act::node_1:
            case act::node_2: serve(static_cast<unsigned>(what)); return;
            case act::prolong: prolong(); return;
            case act::cancel: cancel(); return;
            case act::end_by_release:
            case act::end_by_drop: end(what == act::end_by_release); return;
        }
    }

    /// The node executes its oldest command.
    void serve(unsigned i)
    {
        peer& p = *w_.peers[i];
        const fate what = choose_fate(p.asked.front());
        sets_done_ += is_set(p.asked.front()) ? 1U : 0U;
        note("n" + std::to_string(i) + " " + p.asked.front().front() + " " +
             std::to_string(static_cast<int>(what)));
        if (what == fate::without) {
            p.master.put("r", {.value = "a stranger's", .end = w_.now + ttl});
        }
        if (what == fate::undone) {
            lose(i);
            return;
        }
        const std::string reply = p.master.execute(w_.now, p.speaks, p.asked.front());
        if (what == fate::unheard) {
            lose(i);
        } else {
            w_.answer(i, reply);
        }
    }

    /// Loses the connection. The client reconnects before anything else happens.
    void lose(unsigned i)
    {
        w_.close(i);
        w_.advance(1ms);
    }

    fate choose_fate(const words& command)
    {
        unsigned options = 1;
        if (plan_.sets_vary && is_set(command)) {
            options = fates_of_a_set;
        } else if (plan_.extends_vary && is_extend(command)) {
            options = fates_of_an_extend;
        }
        return static_cast<fate>(options > 1 ? ways_.choose(options) : 0);
    }

    void prolong()
    {
        note("prolong");
        --prolongations_left_;
        if (plan_.how == prolonged::by_hand) {
            extend_ = &w_.extend(*acquire_->held, ttl);
            return;
        }
        core::lease& l = *acquire_->held;
        if (loss_ == nullptr) {
            loss_ = &w_.wait_lost(l);
        }
        const std::size_t before = extends();
        while (extends() == before && l.valid_until() > w_.now) {
            w_.advance(w_.core->next_deadline() - w_.now);
        }
    }

    void cancel()
    {
        note("cancel");
        is_cancelled_ = true;
        w_.cancel(acquire_->done() ? *extend_ : *acquire_);
    }

    void end(bool by_release)
    {
        note(by_release ? "release" : "drop");
        is_over_ = true;
        core::lease& l = *std::exchange(acquire_->held, nullptr);
        ended_ = &l;
        was_lost_ = l.valid_until() <= w_.now;
        was_extended_ = extend_ != nullptr && extend_->done();
        if (by_release) {
            release_ = &w_.release(l);
        } else {
            w_.drop(l);
        }
        sent_by_then_ = extends();
        told_by_then_ = w_.news.size();
    }

    /// How often nodes were asked to extend the key.
    [[nodiscard]] std::size_t extends() const
    {
        std::size_t all = 0;
        for (const auto& p : w_.peers) {
            all += static_cast<std::size_t>(std::count_if(p->log.begin(), p->log.end(), is_extend));
        }
        return all;
    }

    void check_that_it_is_over()
    {
        if (is_over_) {
            demand(extends() == sent_by_then_, "it is renewed after its end");
            demand(w_.news.size() == told_by_then_, "its keeping is told of after its end");
        }
        // The record exists until the release ends.
        if (release_ != nullptr && !release_->done()) {
            demand(ended_->valid_until() <= w_.now, "it is believed in after its end");
        }
    }

    /// Checks the end: every command is answered, except those lost with a connection.
    void look_at_the_end()
    {
        run_until(w_.now + ttl);
        for (const auto& p : w_.peers) {
            demand(p->master.value(w_.now, "r") != token_, "the key lives on");
        }
        // The client repeats a release for as long as a node may still execute an unanswered SET.
        run_until(w_.now + 1min);
        demand(w_.is_idle(), "a record is left");
        demand(w_.core->snapshot().kept_alive == 0, "it is kept still");
        w_.advance(2 * ttl);
        check_that_it_is_over();
        for (unsigned i = 0; i < nodes; ++i) {
            demand(w_.peers[i]->asked.empty(), "something is written when all is over");
            demand(w_.peers[i]->connected, "a connection is not made again");
        }
        demand(w_.core->next_deadline() == instant::max(), "a timer is left");
        for (const call* c : {acquire_, extend_, release_, loss_}) {
            demand(c == nullptr || c->completions == 1, "an operation has not ended once");
        }
        check_errors();
    }

    void check_errors() const
    {
        demand(release_ == nullptr || !release_->error, "a release did not end well");
        demand(extend_ == nullptr || was_extended_ || extend_->error,
               "it is extended after its end");
        demand(loss_ == nullptr || loss_->error == (was_lost_ ? errc::lost : errc::not_held),
               "who waited for its loss is not told what happened");
    }

    /// Runs until `end` or until nothing is left to do.
    void run_until(instant end)
    {
        while (!w_.is_idle() && w_.now < end) {
            w_.advance(std::min(w_.core->next_deadline(), end) - w_.now);
            answer_all();
        }
    }

    void answer_all()
    {
        for (unsigned i = 0; i < nodes; ++i) {
            peer& p = *w_.peers[i];
            while (!p.asked.empty()) {
                w_.answer(i, p.master.execute(w_.now, p.speaks, p.asked.front()));
            }
        }
    }

    void note(std::string_view step) { steps_.append(step).append("; "); }

    void demand(bool holds, std::string_view otherwise) const
    {
        if (!holds) {
            FAIL(otherwise << ": " << steps_);
        }
    }

    const race_plan plan_;
    const twister_entropy entropy_{1};
    bench_world w_;
    all_ways ways_;
    std::string steps_;
    std::string token_;
    call* acquire_ = nullptr;
    call* extend_ = nullptr;
    call* release_ = nullptr;
    call* loss_ = nullptr;
    const core::lease* ended_ = nullptr;
    unsigned prolongations_left_ = 0;
    bool is_cancelled_ = false;
    bool is_over_ = false;
    unsigned sets_done_ = 0;
    bool was_lost_ = false;
    bool was_extended_ = false;
    std::size_t sent_by_then_ = 0;
    std::size_t told_by_then_ = 0;
};

}  // namespace

TEST_CASE("p29: a lock that has ended stays ended for any order of votes and renewals",
          "[core][keep_alive][pitfall][p29]")
{
    constexpr race_plan plans[] = {
        {.how = prolonged::never, .sets_vary = true, .cancels = true},
        {.how = prolonged::by_renewal, .sets_vary = true},
        {.how = prolonged::by_renewal, .extends_vary = true},
        {.how = prolonged::by_renewal, .renewals = 2},
        {.how = prolonged::by_hand, .sets_vary = true},
        {.how = prolonged::by_hand, .extends_vary = true},
        {.how = prolonged::by_hand, .cancels = true},
    };
    // A part has one plan for each kind of prolongation.
    const std::size_t step = plays_a_part() ? 3 : 1;
    std::uint64_t plays = 0;
    for (std::size_t i = 0; i < std::size(plans); i += step) {
        plays += race(plans[i]).play_all();
    }
    CHECK(plays > (plays_a_part() ? 30'000u : 100'000u));
}
