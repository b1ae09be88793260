#include "base/settings.hpp"
#include "base/text.hpp"
#include "cli/checks.hpp"
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/descendants.hpp"
#include "cli/exit_status.hpp"
#include "cli/nesting.hpp"
#include "cli/printing.hpp"
#include "cli/session.hpp"
#include "cli/signals.hpp"
#include "cli/taking.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace redlock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The reason for a lost lock if no renewal failed.
constexpr const char* stood_still =
    "redlock did not renew it in time: redlock or its machine was stopped, suspended or too busy";

bool ends_us(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/// One run of a command under a lock, from the first signal to the last.
class guarded_run : public std::enable_shared_from_this<guarded_run> {
public:
    guarded_run(client& locks, const config& c, bool json, const run_options& o,
                const enclosing_locks& around, const blocked_signals& blocked)
        : locks_(locks),
          config_(c),
          around_(around),
          json_(json),
          o_(o),
          blocked_(blocked),
          signals_(locks.get_executor(), blocked),
          grace_(locks.get_executor()),
          stop_(locks.get_executor()),
          ended_(locks.get_executor(), asio::steady_timer::time_point::max())
    {}

    asio::awaitable<int> operator()();

    void note(const renewal& news) noexcept;

private:
    asio::awaitable<taken> take_until_told_to_end();
    asio::awaitable<int> watch(redlock::lock& lock);
    asio::awaitable<void> end_what_is_left();
    asio::awaitable<bool> give_back(redlock::lock lock, bool was_used);
    asio::awaitable<void> hold_until(redlock::lock& lock, boot_clock::time_point end);
    asio::awaitable<void> name_what_is_left();
    void end_wait_at_signals(asio::cancellation_signal& stop);
    void tell(int number);
    void kill_all();
    void withdraw() noexcept;
    [[nodiscard]] std::vector<std::string> variables(const redlock::lock& lock) const;
    void on_signal(const signalfd_siginfo& what);
    void stop_with_command(unsigned tries);
    void on_lost() noexcept;
    void say_lost(const std::string& how, const char* why) const;
    asio::awaitable<void> say_what_masters_have(const redlock::lock& lock);

    client& locks_;
    const config& config_;
    const enclosing_locks& around_;
    const bool json_;
    const run_options& o_;
    const blocked_signals& blocked_;
    signals signals_;
    published_validity validity_;
    /// The lock whose validity is published, or null.
    const redlock::lock* held_ = nullptr;
    asio::steady_timer grace_;
    asio::steady_timer stop_;
    /// Never expires. It is cancelled when the command has ended.
    asio::steady_timer ended_;
    std::optional<child> command_;
    std::optional<int> status_;
    int told_to_end_ = 0;
    bool lost_ = false;
    /// --max-hold has been reached, so the lock isn't renewed any more.
    bool is_at_limit_ = false;
    /// The nodes' answers to the last renewal, if that renewal failed.
    std::optional<report> failed_renewal_;
    bool forbidden_ = false;
    bool killed_ = false;
};

/// The time between two looks whether the command has stopped, and the number of looks.
constexpr auto pause_to_stop = 20ms;
constexpr unsigned tries_to_stop = 50;

asio::awaitable<int> guarded_run::operator()()
{
    auto got = co_await take_until_told_to_end();
    if (told_to_end_ != 0) {
        signals_.stop();
        co_return by_signal + told_to_end_;
    }
    if (got.error) {
        signals_.stop();
        co_return fail(names(o_.resources), got.error, got.nodes, json_);
    }
    held_ = &got.lock;
    validity_.set(got.lock.valid_until());
    // --max-hold counts from the same instant: from the start of the attempt that won the lock.
    const auto begun =
        got.lock.valid_until() - base::make_settings(config_).validity(o_.ttl.length);
    int status = 0;
    bool has_begun = false;
    try {
        command_.emplace(o_.command, variables(got.lock), blocked_.before());
        has_begun = true;
        if (!sees_processes()) {
            say(names(o_.resources) +
                    ": /proc does not list redlock's own processes, so redlock can signal only "
                    "the command" +
                    (command_->is_at_terminal() ? "" : " and the processes of its group"),
                json_);
        }
        status = co_await watch(got.lock);
    } catch (const std::system_error& e) {
        status = fail(o_.command[0] + ": " + e.code().message(),
                      e.code().value() == ENOENT ? not_found : not_executable, json_);
    }
    withdraw();
    if (has_begun && !lost_ && told_to_end_ == 0 && o_.min_hold) {
        co_await hold_until(got.lock, begun + o_.min_hold->length);
        has_begun = false;  // nothing relies on the lock any more
    }
    if (lost_) {
        co_await say_what_masters_have(got.lock);
        signals_.stop();
        co_return exit_status::lost;
    }
    signals_.stop();
    const bool was_held = co_await give_back(std::move(got.lock), has_begun);
    co_await name_what_is_left();
    co_return was_held ? status : exit_status::lost;
}

/// Reports the first failed renewal, and the next one that succeeds. If there is no memory to
/// handle a loss, the process ends. The watchdog or the kernel then ends the command.
void guarded_run::note(const renewal& news) noexcept
{
    write_waiting_messages();
    if (held_ != nullptr) {
        validity_.set(held_->valid_until());
    }
    const bool is_first = news.report != nullptr && !failed_renewal_;
    if (news.report != nullptr) {
        failed_renewal_ = *news.report;
    }
    switch (news.outcome) {
        case renewal_outcome::lost: on_lost(); return;
        case renewal_outcome::limit_reached: is_at_limit_ = true; return;
        case renewal_outcome::renewed:
            if (std::exchange(failed_renewal_, std::nullopt)) {
                say(names(o_.resources) + ": the lock is renewed again", json_);
            }
            return;
        case renewal_outcome::unknown: break;
    }
    if (is_first) {
        say(names(o_.resources) +
                ": the lock could not be renewed: " + why_no_majority(*failed_renewal_) +
                "; it ends in " + seconds_text(news.remaining) + ", and redlock tries again",
            *failed_renewal_, json_);
    }
}

/// Keeps the lock until `end`, until a signal ends redlock, or until the lock is lost.
asio::awaitable<void> guarded_run::hold_until(redlock::lock& lock, boot_clock::time_point end)
{
    const auto left = end - boot_clock::now();
    if (left <= 0s) {
        co_return;
    }
    grace_.expires_after(left);
    signals_.handle([this](const signalfd_siginfo& what) {
        if (ends_us(static_cast<int>(what.ssi_signo))) {
            grace_.cancel();
        }
    });
    lock.async_wait_lost([me = shared_from_this()](error_code why) {
        if (why == errc::lost) {
            me->grace_.cancel();
        }
    });
    say(names(o_.resources) + ": the command has ended; redlock keeps the lock for another " +
            seconds_text(left) + " (--min-hold)",
        json_);
    co_await grace_.async_wait(asio::as_tuple(asio::deferred));
    if (boot_clock::now() < end && !is_at_limit_) {
        say(names(o_.resources) + ": the command has ended, and the lock " +
                (lock.owns() ? "is released" : "was lost") + " before --min-hold has passed",
            json_);
    }
}

/// After a loss: prints who has the lock now, or which nodes do not answer. A signal ends it.
asio::awaitable<void> guarded_run::say_what_masters_have(const redlock::lock& lock)
{
    if (is_at_limit_) {
        co_return;
    }
    asio::cancellation_signal stop;
    end_wait_at_signals(stop);
    // Each inspection may take a node timeout.
    constexpr std::size_t most = 3;
    for (std::size_t i = 0; i < std::min(o_.resources.size(), most) && told_to_end_ == 0; ++i) {
        const std::string& resource = o_.resources[i];
        report nodes;
        const auto [error, found] = co_await locks_.async_inspect(
            resource, {.report = &nodes, .every_node = true, .owner_token = lock.owner_token()},
            asio::bind_cancellation_slot(stop.slot(), asio::as_tuple(asio::deferred)));
        if (!error) {
            say(resource, found, nodes, json_);
        }
    }
}

/// Names the descendants that the command left running. Waits a moment first, because many of them
/// are about to end.
asio::awaitable<void> guarded_run::name_what_is_left()
{
    if (!command_) {
        co_return;
    }
    asio::steady_timer timer(locks_.get_executor());
    const auto look = [&] {
        // A process that has ended counts until redlock has taken its status.
        [[maybe_unused]] const auto reaped = command_->look();
        return command_->left();
    };
    auto left = look();
    for (int looks = 0; looks < 20 && !left.empty(); ++looks) {
        timer.expires_after(10ms);
        co_await timer.async_wait(asio::deferred);
        left = look();
    }
    if (left.empty()) {
        co_return;
    }
    constexpr std::size_t most = 5;
    std::string all = sees_processes() ? "" : "process group " + std::to_string(left[0]);
    for (std::size_t i = 0; i < std::min(left.size(), most) && sees_processes(); ++i) {
        all += all.empty() ? "" : ", ";
        all += std::to_string(left[i]) + " (" + base::printable(name_of(left[i])) + ')';
    }
    all += left.size() > most ? " and others" : "";
    say(names(o_.resources) +
            ": the command has ended, and its processes still run without the lock: " + all,
        json_);
}

/// Releases the lock. Returns false if the lock had been lost without notice and the command relied
/// on it.
asio::awaitable<bool> guarded_run::give_back(redlock::lock lock, bool was_used)
{
    report nodes;
    const char* const why = lock.owns() ? keys_are_gone : stood_still;
    const auto [error, result] = co_await locks_.async_release(std::move(lock), {.report = &nodes},
                                                               asio::as_tuple(asio::deferred));
    if (error == errc::lost || error == errc::not_held ||
        (!error && result == release_result::not_held)) {
        if (was_used) {
            say_lost("the lock was lost before the command ended", why);
        }
        co_return !was_used;
    }
    if (error) {
        // The command did its work under the lock. The keys expire by themselves.
        say(names(o_.resources) +
                ": unknown whether the lock is released: " + message_of(error, nodes),
            nodes, json_);
    }
    co_return true;
}

/// From now on, a signal that ends redlock also cancels the operation that is bound to `stop`.
void guarded_run::end_wait_at_signals(asio::cancellation_signal& stop)
{
    signals_.handle([this, &stop](const signalfd_siginfo& what) {
        const int number = static_cast<int>(what.ssi_signo);
        if (ends_us(number)) {
            told_to_end_ = number;
            stop.emit(asio::cancellation_type::terminal);
        } else if (number == SIGTSTP) {
            stop_for_terminal();
        }
    });
}

asio::awaitable<taken> guarded_run::take_until_told_to_end()
{
    asio::cancellation_signal stop;
    end_wait_at_signals(stop);
    std::optional<keep_alive> keep = keep_alive{};
    taking_options asked = o_;
    if (!asked.label) {
        asked.label = label_of(o_.command.front(), getpid());
    }
    if (o_.max_hold) {
        keep->max_hold = o_.max_hold->length;
    }
    auto [thrown, got] = co_await asio::co_spawn(
        locks_.get_executor(), take(locks_, config_, asked, keep, json_),
        asio::bind_cancellation_slot(stop.slot(), asio::as_tuple(asio::use_awaitable)));
    if (thrown && told_to_end_ == 0) {
        std::rethrow_exception(thrown);
    }
    signals_.handle([this](const signalfd_siginfo& what) { on_signal(what); });
    co_return std::move(got);
}

asio::awaitable<int> guarded_run::watch(redlock::lock& lock)
{
    if (!lock.owns()) {
        on_lost();  // lost before the command started
    }
    // The command may have ended before the signal handler was installed.
    status_ = command_->look();
    while (!status_) {
        co_await ended_.async_wait(asio::as_tuple(asio::deferred));
    }
    if (!lost_ && !lock.owns()) {
        // A process that was stopped or suspended learns of the loss only now.
        lost_ = true;
        withdraw();
        say_lost("the lock was lost before the command ended", stood_still);
        tell(SIGTERM);
        grace_.expires_after(o_.grace.length);
    }
    if (lost_) {
        co_await end_what_is_left();
    }
    grace_.cancel();
    co_return *status_;
}

/// Ends the descendants that the command left running, because the lock is lost.
asio::awaitable<void> guarded_run::end_what_is_left()
{
    asio::steady_timer timer(locks_.get_executor());
    // Waits a moment longer than the grace time, because a killed process doesn't vanish at once.
    while (!command_->left().empty() &&
           asio::steady_timer::clock_type::now() < grace_.expiry() + 1s) {
        if (asio::steady_timer::clock_type::now() >= grace_.expiry()) {
            kill_all();
        }
        timer.expires_after(10ms);
        co_await timer.async_wait(asio::deferred);
        [[maybe_unused]] const auto reaped = command_->look();
    }
}

/// Publishes that the lock is over, so that no nested run starts under it.
void guarded_run::withdraw() noexcept
{
    held_ = nullptr;
    validity_.withdraw();
}

void guarded_run::tell(int number)
{
    if (!command_->signal(number) && !forbidden_) {
        forbidden_ = true;
        say(names(o_.resources) + ": redlock may not send signals to some processes of the command",
            json_);
    }
}

void guarded_run::kill_all()
{
    tell(SIGKILL);
    if (!std::exchange(killed_, true)) {
        say(names(o_.resources) + ": --grace (" + to_text(o_.grace.length) +
                ") has passed, and redlock kills the processes that still run (SIGKILL)",
            json_);
    }
}

void guarded_run::on_signal(const signalfd_siginfo& what)
{
    const int number = static_cast<int>(what.ssi_signo);
    if (number == SIGCHLD) {
        // Only once: after the command has ended, its status can't be read again.
        if (command_ && !status_) {
            status_ = command_->look();
        }
        if (status_) {
            ended_.cancel();
        }
    } else if (command_) {
        told_to_end_ = ends_us(number) ? number : told_to_end_;
        // The terminal sends its signals to the command as well. A command that had not started yet
        // missed a stop, so SIGTSTP is always passed on.
        if (!command_->is_at_terminal() || what.ssi_code != SI_KERNEL || number == SIGTSTP) {
            tell(number);
        }
        if (command_->is_at_terminal() && number == SIGTSTP) {
            stop_with_command(tries_to_stop);
        }
    }
}

/// Stops this process once its command has stopped. If the command goes on, it needs the lock.
void guarded_run::stop_with_command(unsigned tries)
{
    if (!command_ || status_) {
        return;
    }
    if (command_->is_stopped()) {
        stop_for_terminal();
        return;
    }
    if (tries == 0) {
        // No part of the command stays stopped.
        tell(SIGCONT);
        if (!sees_processes()) {
            kill(0, SIGCONT);
        }
        if (!lost_) {
            say(names(o_.resources) + ": the command does not stop, so redlock keeps the lock",
                json_);
        }
        return;
    }
    stop_.expires_after(pause_to_stop);
    stop_.async_wait([me = shared_from_this(), tries](error_code cancelled) {
        if (!cancelled) {
            me->stop_with_command(tries - 1);
        }
    });
}

void guarded_run::on_lost() noexcept
{
    if (lost_ || status_ || !command_) {
        return;
    }
    lost_ = true;
    withdraw();
    // The signals come first, because the reader of the messages may be slow.
    tell(SIGTERM);
    tell(SIGCONT);
    grace_.expires_after(o_.grace.length);
    grace_.async_wait([me = shared_from_this()](error_code cancelled) {
        if (!cancelled && me->command_ && !me->status_) {
            me->kill_all();
        }
    });
    say_lost(is_at_limit_
                 ? "--max-hold has passed, and the lock ends; redlock sends the command a SIGTERM"
                 : "the lock is lost; redlock sends the command a SIGTERM",
             stood_still);
}

/// Prints that the lock is lost. `why` is the reason if no renewal failed and --max-hold isn't
/// reached.
void guarded_run::say_lost(const std::string& how, const char* why) const
{
    const std::string message = names(o_.resources) + ": " + how;
    if (failed_renewal_) {
        say(message + "; the last renewal failed: " + why_no_majority(*failed_renewal_),
            *failed_renewal_, exit_status::lost, json_);
    } else {
        say(is_at_limit_ ? message : message + "; " + why, exit_status::lost, json_);
    }
}

std::vector<std::string> guarded_run::variables(const redlock::lock& lock) const
{
    return variables_of(
        lock.resources(), lock.fencing_token(), unix_time(end_of(lock)),
        around_.and_of(lock.resources(), lock.fencing_token(), validity_.descriptor()));
}

void check_holds(const config& c, const run_options& o)
{
    const auto least = 4 * c.node_timeout;
    if (o.max_hold && o.max_hold->length < least) {
        throw std::invalid_argument("--max-hold: must be at least four times --node-timeout, " +
                                    to_text(least));
    }
    if (!o.min_hold || !o.max_hold) {
        return;
    }
    const auto validity = base::make_settings(c).validity(o.max_hold->length);
    if (validity > 0ns && o.min_hold->length >= validity) {
        const auto most = std::chrono::ceil<std::chrono::milliseconds>(validity) - 1ms;
        throw std::invalid_argument(
            "--min-hold: " + to_text(o.min_hold->length) + " is too long for --max-hold " +
            to_text(o.max_hold->length) +
            ", which clock drift may cut short (--drift): " + to_text(most) + " at most");
    }
}

}  // namespace

int run(const masters_options& masters, const run_options& o)
{
    config c = config_of(masters);
    check_holds(c, o);
    const enclosing_locks around(c);
    if (const auto status = run_inside(o, around, masters.json)) {
        return *status;
    }
    run_options bounded = o;
    const bool is_shortened = o.max_hold && o.max_hold->length < o.ttl.length;
    if (is_shortened) {
        bounded.ttl = *o.max_hold;
    }
    check_taking(c, bounded, is_shortened ? "--max-hold" : "--ttl");
    std::weak_ptr<guarded_run> told;
    c.on_renewal = [&told](const renewal& news) {
        if (const auto course = told.lock()) {
            course->note(news);
        }
    };
    std::signal(SIGCHLD, SIG_DFL);  // if SIGCHLD is ignored, the kernel drops the exit status
    // Signals must be blocked before another thread starts, for example to look up a name.
    const blocked_signals blocked{SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGUSR1,
                                  SIGUSR2, SIGCONT, SIGTSTP, SIGWINCH, SIGCHLD};
    return with_client(c, interrupts::left_to_work, [&](client& locks) -> asio::awaitable<int> {
        const auto course =
            std::make_shared<guarded_run>(locks, c, masters.json, bounded, around, blocked);
        told = course;
        co_return co_await (*course)();
    });
}

}  // namespace redlock::cli
