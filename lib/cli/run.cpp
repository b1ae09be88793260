#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
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

#include <cerrno>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

bool ends_us(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/// One run of a command under a lock, from the first signal to the last.
class guarded_run : public std::enable_shared_from_this<guarded_run> {
public:
    guarded_run(client& locks, const config& c, bool json, const run_options& o)
        : locks_(locks),
          config_(c),
          json_(json),
          o_(o),
          signals_(locks.get_executor(), {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                                          SIGCONT, SIGTSTP, SIGWINCH, SIGCHLD}),
          grace_(locks.get_executor()),
          ended_(locks.get_executor(), asio::steady_timer::time_point::max())
    {}

    asio::awaitable<int> operator()();

private:
    asio::awaitable<taken> take_until_told_to_end();
    asio::awaitable<int> watch(redlock::lock& lock);
    [[nodiscard]] std::vector<std::string> variables(const redlock::lock& lock) const;
    void on_signal(const signalfd_siginfo& what);
    void on_lost(error_code why);

    client& locks_;
    const config& config_;
    const bool json_;
    const run_options& o_;
    signals signals_;
    asio::steady_timer grace_;
    /// Never expires; is cancelled when the command has ended.
    asio::steady_timer ended_;
    std::optional<child> command_;
    std::optional<int> status_;
    int told_to_end_ = 0;
    bool lost_ = false;
};

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
    int status = 0;
    try {
        command_.emplace(o_.command, variables(got.lock), signals_.mask_before());
        status = co_await watch(got.lock);
    } catch (const std::system_error& e) {
        std::cerr << "redlock: " << o_.command[0] << ": " << e.code().message() << '\n'
                  << std::flush;
        status = e.code().value() == ENOENT ? not_found : not_executable;
    }
    signals_.stop();
    command_.reset();
    if (lost_) {
        co_return exit_status::lost;
    }
    report nodes;
    const auto [error, result] = co_await locks_.async_release(
        std::move(got.lock), {.report = &nodes}, asio::as_tuple(asio::deferred));
    if (error) {
        // The command did its work under the lock; the keys end by themselves.
        std::cerr << "redlock: " << names(o_.resources)
                  << ": not known to be given back: " << error.message() << '\n'
                  << node_lines(nodes) << std::flush;
    }
    co_return status;
}

asio::awaitable<taken> guarded_run::take_until_told_to_end()
{
    asio::cancellation_signal stop;
    signals_.handle([&](const signalfd_siginfo& what) {
        const int number = static_cast<int>(what.ssi_signo);
        if (ends_us(number)) {
            told_to_end_ = number;
            stop.emit(asio::cancellation_type::terminal);
        } else if (number == SIGTSTP) {
            raise(SIGSTOP);
        }
    });
    std::optional<keep_alive> keep = keep_alive{};
    if (o_.max_hold) {
        keep->max_hold = o_.max_hold->length;
    }
    auto [thrown, got] = co_await asio::co_spawn(
        locks_.get_executor(), take(locks_, config_, o_, keep),
        asio::bind_cancellation_slot(stop.slot(), asio::as_tuple(asio::use_awaitable)));
    if (thrown && told_to_end_ == 0) {
        std::rethrow_exception(thrown);
    }
    signals_.handle([this](const signalfd_siginfo& what) { on_signal(what); });
    co_return std::move(got);
}

asio::awaitable<int> guarded_run::watch(redlock::lock& lock)
{
    lock.async_wait_lost([me = shared_from_this()](error_code why) { me->on_lost(why); });
    // It may have ended before anybody listened.
    status_ = command_->look();
    while (!status_) {
        co_await ended_.async_wait(asio::as_tuple(asio::deferred));
    }
    grace_.cancel();
    co_return *status_;
}

void guarded_run::on_signal(const signalfd_siginfo& what)
{
    const int number = static_cast<int>(what.ssi_signo);
    if (number == SIGCHLD) {
        // Once only: what has ended is nobody's to be looked at.
        if (command_ && !status_) {
            status_ = command_->look();
        }
        if (status_) {
            ended_.cancel();
        }
    } else if (command_) {
        command_->signal(number);
    }
}

void guarded_run::on_lost(error_code why)
{
    if (why != errc::lost || status_ || !command_) {
        return;
    }
    lost_ = true;
    std::cerr << "redlock: " << names(o_.resources)
              << ": the lock is lost; the command is told to end" << '\n'
              << std::flush;
    command_->signal(SIGTERM);
    command_->signal(SIGCONT);
    grace_.expires_after(o_.grace.length);
    grace_.async_wait([me = shared_from_this()](error_code cancelled) {
        if (!cancelled && me->command_) {
            me->command_->signal(SIGKILL);
        }
    });
}

std::vector<std::string> guarded_run::variables(const redlock::lock& lock) const
{
    std::string resources;
    for (const auto& name : lock.resources()) {
        resources += resources.empty() ? "" : "\n";
        resources += name;
    }
    std::vector<std::string> out{"REDLOCK_RESOURCE=" + resources,
                                 "REDLOCK_VALID_UNTIL=" + valid_until_date(lock)};
    if (lock.fencing_token() != 0) {
        out.push_back("REDLOCK_FENCING_TOKEN=" + std::to_string(lock.fencing_token()));
    }
    return out;
}

}  // namespace

int run(const masters_options& masters, const run_options& o)
{
    const config c = config_of(masters);
    return with_client(c, interrupts::left_to_work, [&](client& locks) -> asio::awaitable<int> {
        const auto course = std::make_shared<guarded_run>(locks, c, masters.json, o);
        co_return co_await (*course)();
    });
}

}  // namespace redlock::cli
