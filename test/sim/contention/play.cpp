#include "sim/contention/play.hpp"

#include "base/settings.hpp"
#include "core/client_core.hpp"
#include "sim/contention/contender.hpp"
#include "sim/contention/faults.hpp"
#include "sim/contention/network.hpp"
#include "support/virtual/random.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::contention {

namespace {

using namespace std::chrono_literals;

constexpr auto deadline = std::chrono::milliseconds{600'000};
/// The wanted resources. The second one counts only if some clients want both.
const std::vector<std::string> resources{"r", "s"};

/// Takes the lock and releases it.
struct worker {
    unsigned client = 0;
    /// A bit for each resource.
    unsigned wants = 1;
    instant wanted{};
    core::lease* held = nullptr;
    /// The acquire; null: none is under way.
    const core::operation* acquire = nullptr;
    std::uint64_t grants = 0;
};

class play final : private connection_events, private client_control {
public:
    explicit play(const plan& p);

    outcome run();

private:
    [[nodiscard]] instant now() const { return events_.now(); }
    void at(instant when, std::function<void()> what) { events_.at(when, std::move(what)); }
    void at(instant when, unsigned client, std::function<void()> what);
    void run_until(const std::function<bool()>& done);
    void on_connected(unsigned client, unsigned node) override;
    void on_bytes(unsigned client, unsigned node, std::string_view bytes) override;
    void on_closed(unsigned client, unsigned node) override;
    [[nodiscard]] std::optional<unsigned> queue_node(const std::string& resource) const override;
    [[nodiscard]] std::optional<unsigned> first_in_queue() const override;
    void kill(unsigned client) override;
    void restart(unsigned client) override;
    [[nodiscard]] std::unique_ptr<contender> make_client(unsigned client) const;
    void pump(unsigned client);
    void begin(worker& w);
    void give_back(worker& w);
    void note_wait(const worker& w);
    void on_granted(worker& w, core::lease& l);
    void summarize();
    void end();
    void take_finished(unsigned client);
    [[nodiscard]] std::uint64_t sum_of(std::uint64_t stats::*counter) const;

    [[nodiscard]] bool is_unnotified(unsigned client) const
    {
        return client > plan_.clients && client <= plan_.clients + plan_.unnotified;
    }
    [[nodiscard]] bool is_one_of_many(const worker& w) const { return w.client <= plan_.clients; }

    plan plan_;
    base::settings settings_;
    base::settings without_notifications_;
    test::random_source random_;
    timeline events_{1s};
    network network_;
    std::vector<std::unique_ptr<contender>> clients_;
    /// Their statistics count, and events refer to them.
    std::vector<std::unique_ptr<contender>> killed_clients_;
    /// The first worker holds the lock at the beginning and has its own client.
    std::vector<worker> workers_;
    bool goes_on_ = true;
    std::vector<nanos> waits_;
    nanos longest_unnotified_{};
    nanos longest_of_both_{};
    nanos longest_far_{};
    std::vector<nanos> handovers_;
    std::optional<instant> free_since_;
    /// A bit for each resource.
    unsigned held_ = 0;
    const core::group both_ = std::make_shared<const std::vector<std::string>>(resources);
    fault_injector faults_;
    outcome outcome_;
};

play::play(const plan& p)
    : plan_(p),
      settings_(settings_of(p, p.mode != wait_mode::backoff)),
      without_notifications_(settings_of(p, false)),
      random_(p.seed, 1),
      network_(plan_, events_, random_, *this),
      faults_(plan_, events_, network_, *this, resources.front())
{
    for (unsigned i = 0; i < p.all_clients(); ++i) {
        const bool is_many = i > 0 && i <= p.clients;
        const bool wants_both = i > p.clients + p.unnotified && !p.is_far(i);
        clients_.push_back(make_client(i));
        for (unsigned n = 0; n < (is_many ? p.workers : 1); ++n) {
            const unsigned one = is_many && p.of_both > 0 && n % 2 == 1 ? 2 : 1;
            workers_.push_back({.client = i, .wants = wants_both ? 3 : one});
        }
    }
}

std::unique_ptr<contender> play::make_client(unsigned client) const
{
    const std::uint64_t seed = plan_.seed * 1000 + client + 1'000'000 * killed_clients_.size();
    return std::make_unique<contender>(is_unnotified(client) ? without_notifications_ : settings_,
                                       seed, events_.now());
}

std::uint64_t play::sum_of(std::uint64_t stats::*counter) const
{
    std::uint64_t all = 0;
    for (const auto* each : {&clients_, &killed_clients_}) {
        for (const auto& c : *each) {
            all += c->core.snapshot().*counter;
        }
    }
    return all;
}

/// Does it unless the client has ended by then.
void play::at(instant when, unsigned client, std::function<void()> what)
{
    at(when, [this, client, which = clients_[client].get(), what = std::move(what)] {
        if (clients_[client].get() == which) {
            what();
        }
    });
}

void play::run_until(const std::function<bool()>& done)
{
    while (!done() && !events_.empty()) {
        events_.take().second();
    }
}

/// Does the core's requests.
void play::pump(unsigned client)
{
    contender& c = *clients_[client];
    take_finished(client);
    for (core::node_mask left = c.core.network().take_to_close(); left != 0; left &= left - 1) {
        network_.close(client, static_cast<unsigned>(std::countr_zero(left)));
    }
    for (core::node_mask dialled = c.core.network().take_to_connect(); dialled != 0;
         dialled &= dialled - 1) {
        network_.connect(client, static_cast<unsigned>(std::countr_zero(dialled)));
    }
    (void)c.core.network().take_written();
    for (unsigned i = 0; i < plan_.nodes; ++i) {
        while (c.core.network().has_output(i)) {
            std::string bytes;
            bytes.swap(c.core.network().take_output(i));
            c.core.network().on_written(i);
            network_.send(client, i, std::move(bytes));
        }
    }
    const instant next = c.core.next_deadline();
    if (next < c.timer) {
        c.timer = next;
        at(next, client, [this, client, &c, next] {
            if (c.timer == next) {
                c.timer = instant::max();
                c.core.on_time(now());
                pump(client);
            }
        });
    }
}

void play::on_connected(unsigned client, unsigned node)
{
    clients_[client]->core.network().on_connected(now(), node);
    pump(client);
}

void play::on_bytes(unsigned client, unsigned node, std::string_view bytes)
{
    clients_[client]->core.network().on_bytes(now(), node, bytes);
    pump(client);
}

void play::on_closed(unsigned client, unsigned node)
{
    clients_[client]->core.network().on_closed(now(), node, "closed by the node");
    pump(client);
}

std::optional<unsigned> play::queue_node(const std::string& resource) const
{
    std::vector<std::size_t> users(plan_.nodes);
    for (const auto& c : clients_) {
        if (const auto node = c->core.fair_queue().queue_node(resource)) {
            ++users[*node];
        }
    }
    const auto most = std::ranges::max_element(users);
    return *most == 0 ? std::nullopt : std::optional(static_cast<unsigned>(most - users.begin()));
}

std::optional<unsigned> play::first_in_queue() const
{
    // A client that dies during an attempt may have got the lock.
    const auto first = std::ranges::find_if(workers_, [this](const worker& w) {
        return held_ != 0 && w.acquire != nullptr && w.acquire->may_be_roused &&
               w.acquire->wait.at == core::wait_state::stage::first;
    });
    return first == workers_.end() ? std::nullopt : std::optional(first->client);
}

void play::kill(unsigned client)
{
    for (unsigned i = 0; i < plan_.nodes; ++i) {
        network_.close(client, i);
    }
    killed_clients_.push_back(std::move(clients_[client]));
    clients_[client] = make_client(client);
    for (worker& w : workers_) {
        if (w.client == client) {
            w.acquire = nullptr;
        }
    }
}

void play::restart(unsigned client)
{
    clients_[client]->core.network().start(now());
    pump(client);
    for (worker& w : workers_) {
        if (w.client == client) {
            begin(w);
        }
    }
}

void play::begin(worker& w)
{
    w.wanted = now();
    core::client_operations& c = clients_[w.client]->core.operations();
    const acquire_options o{.ttl = std::chrono::minutes{10}, .timeout = deadline};
    core::operation& op =
        w.wants == 3 ? c.acquire(now(), both_, o) : c.acquire(now(), resources[w.wants - 1], o);
    op.user = &w;
    w.acquire = &op;
    pump(w.client);
}

void play::give_back(worker& w)
{
    held_ &= ~w.wants;
    free_since_ = now();
    core::operation& op = clients_[w.client]->core.operations().release(
        now(), *std::exchange(w.held, nullptr), nullptr);
    op.user = &w;
    pump(w.client);
}

void play::take_finished(unsigned client)
{
    core::client_core& c = clients_[client]->core;
    c.check_leases(now());
    while (core::operation* op = c.operations().take_finished(now())) {
        worker& w = *static_cast<worker*>(op->user);
        if (op->what == core::operation::kind::release) {
            if (plan_.span > nanos{} && goes_on_ && client > 0) {
                at(now(), client, [this, &w] { begin(w); });
            }
        } else {
            w.acquire = nullptr;
            if (op->error) {
                outcome_.timed_out = outcome_.timed_out || goes_on_;
            } else {
                on_granted(w, *op->subject);
            }
        }
        c.operations().recycle(*op);
    }
}

void play::note_wait(const worker& w)
{
    const nanos waited = now() - w.wanted;
    if (is_unnotified(w.client)) {
        longest_unnotified_ = std::max(longest_unnotified_, waited);
    } else if (plan_.is_far(w.client)) {
        longest_far_ = std::max(longest_far_, waited);
    } else if (w.wants == 3) {
        longest_of_both_ = std::max(longest_of_both_, waited);
    } else {
        waits_.push_back(waited);
    }
}

void play::on_granted(worker& w, core::lease& l)
{
    outcome_.double_holder = outcome_.double_holder || (held_ & w.wants) != 0;
    held_ |= w.wants;
    w.held = &l;
    ++w.grants;
    note_wait(w);
    if (free_since_) {
        handovers_.push_back(now() - *free_since_);
    }
    if (w.client > 0) {
        at(now() + plan_.hold, w.client, [this, &w] { give_back(w); });
    }
}

outcome play::run()
{
    for (unsigned i = 0; i < clients_.size(); ++i) {
        clients_[i]->core.network().start(now());
        pump(i);
    }
    run_until([this] {
        return std::all_of(clients_.begin(), clients_.end(), [this](const auto& c) {
            return c->core.snapshot().nodes_ready == plan_.nodes;
        });
    });
    // The first worker holds the lock until all others wait.
    worker& first = workers_.front();
    begin(first);
    run_until([&] { return first.held != nullptr; });
    for (std::size_t i = 1; i < workers_.size(); ++i) {
        at(now() + random_.between(0ns, 1ms), [this, i] { begin(workers_[i]); });
    }
    const auto pass = [this](nanos span) {
        bool is_over = false;
        at(now() + span, [&] { is_over = true; });
        run_until([&] { return is_over; });
    };
    pass(2s);
    waits_.clear();
    longest_unnotified_ = longest_of_both_ = longest_far_ = {};
    const std::uint64_t commands_before = sum_of(&stats::commands);
    const std::uint64_t attempts_before = sum_of(&stats::attempts);
    for (worker& w : workers_) {
        w.wanted = now();
    }
    const instant began = now();
    give_back(first);
    faults_.start();
    if (plan_.span > nanos{}) {
        pass(plan_.span);
    } else {
        run_until([this] {
            return waits_.size() + clients_.size() - 1 - plan_.clients == workers_.size() - 1 ||
                   outcome_.timed_out;
        });
    }
    outcome_.grants =
        static_cast<double>(waits_.size()) / std::chrono::duration<double>(now() - began).count();
    outcome_.attempts = static_cast<double>(sum_of(&stats::attempts) - attempts_before);
    outcome_.commands = static_cast<double>(sum_of(&stats::commands) - commands_before);
    summarize();
    end();
    return outcome_;
}

void play::summarize()
{
    const auto in_ms = [](nanos n) { return static_cast<double>(n.count()) / 1e6; };
    const auto grants = static_cast<double>(std::max<std::size_t>(waits_.size(), 1));
    outcome_.attempts /= grants;
    outcome_.commands /= grants * plan_.nodes;
    outcome_.handover_us =
        in_ms(std::accumulate(handovers_.begin(), handovers_.end(), nanos{})) * 1000 / grants;
    outcome_.least = outcome_.most = workers_[1].grants;
    for (std::size_t i = 1; i < workers_.size(); ++i) {
        const worker& w = workers_[i];
        if (is_one_of_many(w)) {
            outcome_.least = std::min(outcome_.least, w.grants);
            outcome_.most = std::max(outcome_.most, w.grants);
        }
        if (plan_.span > nanos{} && w.acquire != nullptr) {
            note_wait(w);  // at least
        }
    }
    if (held_ == 0) {
        handovers_.push_back(now() - *free_since_);  // at least
    }
    outcome_.gap_max_ms = in_ms(std::ranges::max(handovers_));
    outcome_.faults = faults_.count();
    std::sort(waits_.begin(), waits_.end());
    if (!waits_.empty()) {
        outcome_.wait_p50_ms = in_ms(waits_[waits_.size() / 2]);
        outcome_.wait_p99_ms = in_ms(waits_[waits_.size() * 99 / 100]);
        outcome_.wait_max_ms = in_ms(waits_.back());
    }
    outcome_.unnotified_max_ms = in_ms(longest_unnotified_);
    outcome_.of_both_max_ms = in_ms(longest_of_both_);
    outcome_.far_max_ms = in_ms(longest_far_);
}

void play::end()
{
    goes_on_ = false;
    for (auto& c : clients_) {
        c->core.stop(now());
        while (core::operation* op = c->core.operations().take_finished(now())) {
            c->core.operations().recycle(*op);
        }
    }
    for (worker& w : workers_) {
        if (w.held != nullptr) {
            clients_[w.client]->core.operations().detach(now(), *std::exchange(w.held, nullptr));
        }
    }
}

}  // namespace

outcome run(const plan& p)
{
    return play(p).run();
}

}  // namespace redlock::contention
