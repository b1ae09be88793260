#include "chaos/director.hpp"

#include "chaos/chronicle.hpp"
#include "chaos/interruption.hpp"
#include "chaos/mischief.hpp"
#include "chaos/packet_filter.hpp"
#include "chaos/probe.hpp"
#include "chaos/report.hpp"
#include "chaos/watch.hpp"

#include "support/run.hpp"
#include "support/temp_dir.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::chaos {

using namespace std::chrono_literals;

namespace {

constexpr unsigned masters = 5;
constexpr unsigned quorum = masters / 2 + 1;
constexpr auto turn_time = 5ms;
constexpr auto reading_time = 100ms;
/// How long a client may go without its own lock while a majority answers. A key of its killed
/// predecessor lives for up to two ttls of a second. An attempt takes the rest.
constexpr auto own_patience = 3s;
/// How late an operation may end if only the processor and the disk delay it. A process that is
/// suspended completely reports that itself.
constexpr auto most_overdue = 3s;
/// The additional time for faults that a run has not done yet, and for the watch of progress. On a
/// slow machine each fault waits long for a victim. Only a run that never ends takes this long.
constexpr auto last_resort = 180s;

std::vector<std::unique_ptr<site>> start_sites(const site_options& options)
{
    std::vector<std::unique_ptr<site>> result;
    for (unsigned i = 0; i < masters; ++i) {
        result.push_back(std::make_unique<site>(i, options));
        result.back()->server.launch();
    }
    for (auto& each : result) {
        each->server.await();
    }
    return result;
}

std::vector<std::uint16_t> ports_of(const std::vector<std::unique_ptr<site>>& sites)
{
    std::vector<std::uint16_t> result;
    for (const auto& each : sites) {
        result.push_back(each->network.port());
    }
    return result;
}

fleet_options fleet_of(const run_options& o, const std::filesystem::path& folder,
                       const std::vector<std::unique_ptr<site>>& sites)
{
    fleet_options result{.program = o.program, .client = {}, .clients = o.clients};
    result.client.place = {folder};
    for (const auto& each : sites) {
        result.client.nodes.push_back(each->network.url());
    }
    result.client.shared = o.resources;
    result.client.workers = o.workers;
    result.client.ttl = o.play->ttl;
    result.client.hold = o.play->hold;
    result.client.wait = o.play->wait;
    result.client.heedless = o.play->heedless;
    result.client.guarded = o.play->guarded;
    result.client.seed = o.seed;
    return result;
}

/// One run, from the start of the first node to the end of the last client.
class performance {
public:
    performance(const run_options& o, const packet_filter* packets, std::string packets_kept)
        : options_(o),
          play_(*o.play),
          packets_kept_(std::move(packets_kept)),
          chance_(o.seed),
          sites_(start_sites({play_.remembers, folder_.path(), o.shim})),
          clients_(fleet_of(o, folder_.path(), sites_)),
          reference_(ports_of(sites_), client_options{}.node_timeout),
          mischief_(play_.faults({sites_, clients_, chance_, packets, play_.ttl}), sites_, clients_,
                    reference_, chance_, play_.most_impaired, play_.pace)
    {}

    outcome play()
    {
        await_first_locks();
        begun_ = now();
        nanos next_line = begun_;
        while (goes_on() && !disease_is_seen()) {
            if (now() >= end() && !is_unwatched()) {
                mischief_.catch_up();
            }
            turn();
            if (now() >= next_line) {
                next_line += 1'000'000'000;
                print_line(std::cout, (now() - begun_) / 1'000'000'000, past_.counts(), shown_,
                           mischief_.in_force());
                shown_ = past_.counts();
            }
        }
        // Read before everything is healed, when progress is easy.
        watched_ = progress_.seen();
        time_ = now() - begun_;
        mischief_.heal();
        await_recovery();
        end_clients();
        return judge();
    }

private:
    [[nodiscard]] nanos end() const
    {
        return begun_ + std::chrono::nanoseconds(options_.time).count();
    }

    /// Whether the run continues beyond its time because it has tested nothing yet.
    [[nodiscard]] bool goes_on() const
    {
        return now() < end() || (now() < end() + std::chrono::nanoseconds(last_resort).count() &&
                                 (is_unwatched() || !mischief_.never_done().empty()));
    }

    [[nodiscard]] bool is_unwatched() const
    {
        return play_.wanted == demand::safety_and_progress &&
               too_little(progress_.seen(), now() - begun_);
    }

    void turn()
    {
        throw_if_interrupted();
        mischief_.turn();
        if (now() >= next_reading_) {
            next_reading_ = now() + std::chrono::nanoseconds(reading_time).count();
            clients_.check();
            clients_.read(past_);
            watch_progress();
        }
        std::this_thread::sleep_for(turn_time);
    }

    /// New nodes have no vote under the restart guard, until the longest ttl has passed. So faults
    /// and the watch of progress begin after each client has had a lock.
    void await_first_locks()
    {
        const auto started = now();
        const bool all_have = test::wait_for([&] {
            throw_if_interrupted();
            clients_.check();
            clients_.read(past_);
            return not_taken_since(started, look_around()).empty();
        });
        if (!all_have) {
            complain("no start: not taken " + not_taken_since(started, look_around()));
        }
    }

    [[nodiscard]] outlook look_around() const
    {
        outlook result;
        for (unsigned i = 0; i < clients_.size(); ++i) {
            result.clients.push_back(
                {clients_.goes(i), clients_.going_since(i), clients_.last_own(past_, i)});
        }
        for (unsigned i = 0; i < options_.resources; ++i) {
            result.shared.push_back({past_.last_acquired(i), past_.held_until(i)});
        }
        return result;
    }

    void watch_progress()
    {
        const auto complaint =
            progress_.look(now(), reference_.answering() >= quorum, look_around());
        if (complaint && play_.wanted == demand::safety_and_progress) {
            complain(*complaint);
        }
    }

    /// The machine causes a late update if it delays a worker between the check and the step for
    /// longer than the margin. Heedless workers do not check.
    [[nodiscard]] std::vector<std::uint64_t> judged_updates(unsigned resource) const
    {
        return play_.heedless ? past_.written(resource) : past_.written_apart_from_late(resource);
    }

    [[nodiscard]] std::uint64_t lost_updates() const
    {
        std::uint64_t result = 0;
        for (unsigned i = 0; i < clients_.resources(); ++i) {
            // Read after the records, so that each recorded element has been written.
            result += missing(judged_updates(i), clients_.elements(i)).size();
        }
        return result;
    }

    [[nodiscard]] bool disease_is_seen() const
    {
        switch (play_.wanted) {
            case demand::safety_and_progress:
            case demand::safety_and_recovery: return false;
            case demand::double_lease: return !overlaps(past_.leases()).empty();
            case demand::lost_update: return lost_updates() != 0;
        }
        return false;
    }

    /// Each client must take its own lock again, and some client each shared lock.
    void await_recovery()
    {
        const auto healed = now();
        const auto recovered = [&] {
            turn();
            return mischief_.impaired() == 0 && not_taken_since(healed, look_around()).empty();
        };
        if (test::wait_for(recovered)) {
            std::cout << "recovered within " << in_ms(now() - healed) << '\n';
        } else {
            complain("no recovery: in force " + mischief_.in_force() + ", not taken again " +
                     not_taken_since(healed, look_around()));
        }
    }

    void end_clients()
    {
        clients_.check();
        for (const auto seat : clients_.finish(test::patience)) {
            complain("client " + std::to_string(seat) + " does not come to its end");
        }
        clients_.read(past_);
        for (const auto& each : past_.open_operations()) {
            complain("an operation of worker " + std::to_string(each.worker) + " in process " +
                     std::to_string(each.process) + " never ended");
        }
        for (const auto& each : past_.overdue(std::chrono::nanoseconds(most_overdue).count())) {
            complain("an operation of worker " + std::to_string(each.worker) + " in process " +
                     std::to_string(each.process) + " took " + in_ms(each.ended - each.begun) +
                     ", and may take " + in_ms(each.allowed));
        }
    }

    outcome judge()
    {
        findings f;
        f.complaints = complaints_;
        f.counts = past_.counts();
        f.leases = past_.leases().size();
        f.double_leases = overlaps(past_.leases());
        f.tokens = past_.tokens().size();
        f.tokens_hold = play_.remembers || play_.guarded;
        f.disordered = disorder(past_.tokens());
        f.steps_at_once = overlaps(past_.steps()).size();
        f.lost_updates = lost_updates();
        for (unsigned i = 0; i < clients_.resources(); ++i) {
            f.updates_judged += judged_updates(i).size();
        }
        f.longest_operation = past_.longest_operation();
        f.most_overdue = past_.most_overdue();
        f.watched = watched_;
        f.time = time_;
        f.never_done = mischief_.never_done();
        f.packets_kept = packets_kept_;
        std::cout << '\n';
        mischief_.print(std::cout);
        if (!print_verdict(std::cout, play_.wanted, f)) {
            return outcome::failed;
        }
        return packets_kept_.empty() ? outcome::as_demanded : outcome::in_part;
    }

    void complain(std::string what)
    {
        std::cout << "! " << what << std::endl;
        complaints_.push_back(std::move(what));
    }

    const run_options& options_;
    const scenario& play_;
    const std::string packets_kept_;
    dice chance_;
    test::temp_dir folder_;
    std::vector<std::unique_ptr<site>> sites_;
    fleet clients_;
    probe reference_;
    mischief mischief_;
    chronicle past_;
    tally shown_;
    progress_watch progress_{own_patience, play_.shared_patience};
    watch_record watched_;
    nanos begun_ = 0;
    nanos time_ = 0;
    std::vector<std::string> complaints_;
    nanos next_reading_ = 0;
};

}  // namespace

outcome run(run_options options)
{
    const auto complete = [](unsigned& number, unsigned usual) {
        number = number != 0 ? number : usual;
    };
    complete(options.clients, options.play->clients);
    complete(options.workers, options.play->workers);
    complete(options.resources, options.play->resources);
    std::cout << options.play->name << ": " << options.play->what << "\nseed " << options.seed
              << std::endl;
    std::string why_not;
    std::unique_ptr<packet_filter> packets;
    if (options.play->packets) {
        packets = packet_filter::make(why_not);
    }
    if (!why_not.empty()) {
        std::cout << "packets are left alone: " << why_not << std::endl;
    }
    return performance(options, packets.get(), why_not).play();
}

}  // namespace redlock::chaos
