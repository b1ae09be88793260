// redlock-sim: plays seeds of the deterministic simulation, and repeats one that failed.

#include "sim/last_words.hpp"
#include "sim/runner.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace redlock::sim;
using clock_type = std::chrono::steady_clock;

struct settings {
    options what;
    std::uint64_t seeds = 1000;
    double seconds = 0;
    unsigned jobs = 1;
    bool trace = false;
    bool fresh = false;
    bool twice = false;
    std::optional<result::kind> expected;
    bool wants_overlaps = false;
    bool progress = false;
};

/// The results of all threads so far.
struct campaign {
    explicit campaign(const settings& s) : wants(s), next(s.what.seed), began(clock_type::now()) {}

    const settings& wants;
    std::atomic<std::uint64_t> next;
    std::atomic<std::uint64_t> played{0};
    std::atomic<bool> enough{false};
    const clock_type::time_point began;
    std::mutex mutex;  ///< guards the members below
    tally sum;
    std::vector<options> failed;
    std::vector<result> results;
    /// Other violations after a broken assumption, and how often each occurred.
    std::map<std::string, std::uint64_t> besides;

    [[nodiscard]] double elapsed() const
    {
        return std::chrono::duration<double>(clock_type::now() - began).count();
    }
    [[nodiscard]] bool goes_on() const
    {
        return !enough && (wants.seconds > 0 ? elapsed() < wants.seconds : played < wants.seeds);
    }
};

void play_seeds(campaign& c)
{
    const spare_stack own;
    tally sum;
    while (c.goes_on()) {
        options o = c.wants.what;
        o.seed = c.next++;
        if (c.wants.seconds <= 0 && o.seed - c.wants.what.seed >= c.wants.seeds) {
            break;
        }
        const result r = play(o, c.wants.twice);
        ++c.played;
        sum.add(r.counts);
        if (r.ended == result::kind::well) {
            continue;
        }
        const std::lock_guard guard(c.mutex);
        const bool is_excused = c.wants.expected && r.ended == result::kind::violated;
        if (is_excused || (r.ended == result::kind::disorder && c.wants.expected &&
                           *c.wants.expected == result::kind::two_leases)) {
            ++c.besides[gist_of(r.what)];
            continue;
        }
        c.failed.push_back(o);
        c.results.push_back(r);
        c.enough = true;
    }
    const std::lock_guard guard(c.mutex);
    c.sum.add(sum);
}

void show_progress(const campaign& c)
{
    std::fprintf(stderr, "\r%10.0f s %12llu seeds %8.0f seeds/s ", c.elapsed(),
                 static_cast<unsigned long long>(c.played.load()),
                 static_cast<double>(c.played.load()) / c.elapsed());
}

void play_all(campaign& c)
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < c.wants.jobs; ++i) {
        threads.emplace_back([&c] { play_seeds(c); });
    }
    while (c.wants.progress && c.goes_on()) {
        std::this_thread::sleep_for(std::chrono::milliseconds{500});
        show_progress(c);
    }
    for (std::thread& t : threads) {
        t.join();
    }
    if (c.wants.progress) {
        show_progress(c);
        std::fputc('\n', stderr);
    }
}

void print_counts(const tally& t)
{
    std::cout << "events " << t.events << ", acquired " << t.acquired << ", extended " << t.extended
              << ", released " << t.released << ", adopted " << t.adopted << ", nested " << t.nested
              << ", contended " << t.contended << ", unavailable " << t.unavailable
              << ", timed out " << t.timed_out << ", expired " << t.expired << ", lost " << t.lost
              << ", cancelled " << t.cancelled << ", closed " << t.closed << ", without room "
              << t.without_room << ", too many " << t.too_many << ", renewed " << t.renewed
              << ", limits reached " << t.limits_reached << ", losses told " << t.losses_told
              << ", served in the quiet " << t.served_when_quiet << ", with some ill "
              << t.with_some_ill << ", proved so " << t.proved_with_some_ill
              << ", woken and granted " << t.woken_granted << ", woken and refused "
              << t.woken_refused << ", polls " << t.polls << ", raises " << t.raises
              << ", raises spoiled " << t.raises_spoiled << ", answers to raises spoiled "
              << t.answers_spoiled << ", counters expired " << t.counters_expired
              << ", overlapping leases " << t.overlaps << ", ends told " << t.ends_told
              << ", judged " << t.judged << '\n';
    std::cout << "faults:";
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        if (t.struck[i] > 0) {
            std::cout << ' ' << name_of(static_cast<fault>(i)) << ' ' << t.struck[i];
        }
    }
    std::cout << '\n';
}

/// Whether the campaign saw enough events to prove something.
bool is_about_something(const campaign& c)
{
    const tally& t = c.sum;
    const std::uint64_t often = c.played / 2;
    const std::uint64_t at_times = c.played / 2000;
    bool all = t.acquired > often && t.extended > often && t.released > often &&
               t.contended > often && t.unavailable > often && t.timed_out > often &&
               t.cancelled > often && t.closed > often && t.expired > at_times &&
               t.lost > at_times && t.adopted > at_times && t.nested > c.played / 10 &&
               t.served_when_quiet > at_times && t.with_some_ill > c.played / 5 &&
               t.proved_with_some_ill > c.played / 10 && t.renewed > often &&
               t.limits_reached > at_times && t.losses_told > at_times &&
               t.without_room > at_times && t.too_many > at_times && t.woken_granted > at_times &&
               t.woken_refused > at_times && t.polls > often && t.raises > often &&
               t.raises_spoiled > at_times && t.answers_spoiled > at_times &&
               t.counters_expired > often && t.ends_told > at_times && t.judged > 10 * c.played;
    // Faults that a play has from its beginning never strike later.
    const fault_set standing =
        only(fault::old_server) | only(fault::clock_rate) | only(fault::clock_offset);
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        const bool strikes = (standing & only(static_cast<fault>(i))) == 0;
        all = all && (!strikes || t.struck[i] > at_times);
    }
    return all;
}

void report_failure(const std::string& program, const options& o, const result& r)
{
    std::cout << "FAILED: " << r.what << '\n';
    std::cout << "  faults: " << names_of(make_plan(o).faults) << '\n';
    std::cout << "  again:  " << program << ' ' << arguments_of(o) << '\n';
    if (r.ended != result::kind::not_repeatable) {
        std::cout << "  least:  " << program << ' ' << arguments_of(shrink(o)) << " --trace\n";
    }
}

int run_campaign(const settings& s, const std::string& program)
{
    const watchdog until_the_end;
    campaign c(s);
    if (s.fresh) {
        std::cout << "seeds from " << s.what.seed << " on\n";
    }
    play_all(c);
    std::cout << c.played << " seeds, "
              << static_cast<std::uint64_t>(static_cast<double>(c.played.load()) / c.elapsed())
              << " a second, hash of all plays " << std::hex << c.sum.hashes << std::dec << '\n';
    print_counts(c.sum);
    for (const auto& [what, often] : c.besides) {
        std::cout << "besides, in " << often << " plays: " << what << '\n';
    }
    if (s.expected) {
        if (c.failed.empty()) {
            std::cout << "FAILED: what was expected was not seen, though nothing forbids it here\n";
            return 1;
        }
        for (std::size_t i = 0; i < c.results.size(); ++i) {
            if (c.results[i].ended != *s.expected) {
                report_failure(program, c.failed[i], c.results[i]);
                return 1;
            }
        }
        std::cout << "as expected: " << c.results[0].what << '\n';
        std::cout << "  again: " << program << ' ' << arguments_of(c.failed[0]) << '\n';
        std::cout << "  least: " << program << ' ' << arguments_of(shrink(c.failed[0])) << '\n';
        return 0;
    }
    if (!c.failed.empty()) {
        report_failure(program, c.failed[0], c.results[0]);
        return 1;
    }
    if (s.wants_overlaps && c.sum.overlaps < c.played / 100) {
        std::cout << "FAILED: hardly ever did two believe that they hold the same\n";
        return 1;
    }
    const bool judges_all = s.what.allowed == all_faults && !s.what.only_tokens;
    if (judges_all && c.played >= 1000 && !is_about_something(c)) {
        std::cout << "FAILED: the plays are not about what they are to be about\n";
        return 1;
    }
    return 0;
}

int run_one(const settings& s)
{
    const result r = play(s.what, true, s.trace ? &std::cout : nullptr);
    std::cout << "hash " << std::hex << r.hash << std::dec << '\n';
    if (r.ended == result::kind::well) {
        return s.expected ? 1 : 0;
    }
    std::cout << (s.expected == r.ended ? "as expected: " : "FAILED: ") << r.what << '\n';
    return s.expected == r.ended ? 0 : 1;
}

fault_set faults_named(const std::string& list)
{
    fault_set all = 0;
    std::stringstream names(list == "none" ? "" : list);
    for (std::string name; std::getline(names, name, ',');) {
        const auto f = fault_named(name);
        if (!f) {
            throw CLI::ValidationError("--faults", "no such fault: " + name);
        }
        all |= only(*f);
    }
    return all;
}

/// The options of a play other than its seed.
struct play_options {
    std::string faults;
    std::string outside;

    void add_to(CLI::App& app, options& what)
    {
        app.add_option("--faults", faults, "no other faults than these, by commas; none");
        app.add_option("--acquires", what.acquires, "so many, and not what the seed says");
        app.add_option("--beyond", outside,
                       "leave the algorithm's assumptions: clock_step, amnesia, ignores_owns, "
                       "rollback, date_back, swapped, liar, liar_of_counters, unequal_nodes, "
                       "counter_deleted, expired_date_back, used_date_back, expiring_date_back, "
                       "unequal_counter_ttl, date_back_borne, guarded_date_back, "
                       "date_back_before, admitted_at_once, one_unguarded, restored, "
                       "false_durable, unequal_max_ttl");
        app.add_flag("--only-tokens", what.only_tokens,
                     "every lock has a fencing token, and exclusion is not looked at");
    }
    void apply_to(options& what) const
    {
        if (!faults.empty()) {
            what.allowed = faults_named(faults);
        }
        if (!outside.empty()) {
            const auto b = beyond_named(outside);
            if (!b) {
                throw CLI::ValidationError("--beyond", "no such thing: " + outside);
            }
            what.outside = *b;
        }
    }
};

/// Reads a line of the file of kept seeds: the arguments of a play, and the defect it found.
options kept_in(const std::string& line)
{
    const std::size_t comment = line.find('#');
    if (comment == std::string::npos || line.find_first_not_of("# ", comment) == line.npos) {
        throw CLI::ValidationError("--kept", "does not say what it found: " + line);
    }
    options what;
    play_options further;
    CLI::App app;
    app.add_option("--seed", what.seed)->required();
    further.add_to(app, what);
    app.parse(line.substr(0, comment));
    further.apply_to(what);
    return what;
}

/// Plays each kept seed twice. Each play must end well.
int run_kept(const std::string& file, const std::string& program)
{
    const watchdog until_the_end;
    std::ifstream lines(file);
    unsigned played = 0;
    bool well = true;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() == '#') {
            continue;
        }
        const options o = kept_in(line);
        const result r = play(o, true);
        ++played;
        if (r.ended != result::kind::well) {
            well = false;
            std::cout << "found again: " << line << '\n';
            report_failure(program, o, r);
        }
    }
    std::cout << played << " kept seeds, each played twice\n";
    return well && played > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv)
{
    settings s;
    play_options further;
    std::string kept;
    CLI::App app("Plays seeds of the deterministic simulation of clients, network and masters.");
    auto* seed = app.add_option("--seed", s.what.seed, "play this one seed, twice");
    app.add_flag("--trace", s.trace, "with --seed: tell each step");
    app.add_option("--from", s.what.seed, "the first seed of many")->excludes(seed);
    app.add_option("--seeds", s.seeds, "how many")->excludes(seed)->capture_default_str();
    app.add_option("--seconds", s.seconds, "as many as fit into this time")->excludes(seed);
    app.add_flag("--fresh", s.fresh, "begin at a seed never seen, and say which")->excludes(seed);
    app.add_flag("--twice", s.twice, "play each seed twice, which must give the same");
    app.add_option("--jobs", s.jobs, "threads")->check(CLI::Range(1, 256))->capture_default_str();
    app.add_flag("--progress", s.progress, "keep a line on the standard error");
    app.add_option("--kept", kept, "play the seeds of this file, each twice")->excludes(seed);
    further.add_to(app, s.what);
    const auto expect = [&s](result::kind k) { return [&s, k](std::int64_t) { s.expected = k; }; };
    app.add_flag("--expect-double-lease", expect(result::kind::two_leases),
                 "fail if there is none");
    app.add_flag("--expect-overlaps", s.wants_overlaps,
                 "with --only-tokens: fail unless two leases of a resource overlap, in one play of "
                 "a hundred or more")
        ->excludes(seed);
    app.add_flag("--expect-disorder", expect(result::kind::disorder),
                 "fail if all fencing tokens are in order");
    try {
        app.parse(argc, argv);
        further.apply_to(s.what);
        if (!kept.empty()) {
            const spare_stack own;
            return run_kept(kept, argv[0]);
        }
    } catch (const CLI::ParseError& e) {
        return app.exit(e);
    }
    const spare_stack own;
    speak_when_killed(further_arguments_of(s.what));
    if (*seed) {
        return run_one(s);
    }
    if (s.fresh) {
        std::random_device random;
        s.what.seed = (std::uint64_t{random()} << 31U) ^ random();
    }
    return run_campaign(s, argv[0]);
}
