#include "sim/last_words.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#if REDLOCK_TEST_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace redlock::sim {

namespace {

using nanos = std::chrono::nanoseconds;

constexpr std::array deadly{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

/// A play in progress. Only atomics, since a signal handler and the watchdog read it.
struct play_under_way {
    std::atomic<bool> claimed{false};
    std::atomic<bool> told{false};  ///< the other members are about the present play
    std::atomic<std::uint64_t> seed{0};
    std::atomic<clockid_t> clock{0};  ///< processor time of its thread
    std::atomic<nanos::rep> began{0};
};

/// More than the largest number of threads. Global because a signal handler can reach nothing else.
std::array<play_under_way, 512> plays;
std::array<struct sigaction, deadly.size()> before;
std::string shared_arguments;
thread_local play_under_way* mine = nullptr;

nanos time_on(clockid_t clock) noexcept
{
    timespec t{};
    // Zero if the thread has ended meanwhile.
    return ::clock_gettime(clock, &t) == 0
               ? nanos(std::chrono::seconds(t.tv_sec)) + nanos(t.tv_nsec)
               : nanos{};
}

/// A line that is built without the heap and printed with one write.
class line {
public:
    line& operator<<(std::string_view text) noexcept
    {
        const auto n = std::min(text.size(), text_.size() - size_);
        std::memcpy(text_.data() + size_, text.data(), n);
        size_ += n;
        return *this;
    }
    line& operator<<(std::uint64_t number) noexcept
    {
        std::array<char, 20> digits;
        auto first = digits.end();
        do {
            *--first = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        return *this << std::string_view(first, digits.end());
    }
    void say() noexcept
    {
        *this << "\n";
        // Nothing can report a failed write here.
        [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, text_.data(), size_);
    }

private:
    std::array<char, 1024> text_;
    std::size_t size_ = 0;
};

/// Names the play of this thread. A thread without a play names the plays of all threads, since a
/// signal from outside may be about any of them.
void name_plays(const line& why) noexcept
{
    for (const auto& p : plays) {
        if (mine != nullptr ? mine == &p : p.told.load()) {
            line text = why;
            text << " while playing --seed " << p.seed << shared_arguments;
            text.say();
        }
    }
}

void on_signal(int signal, siginfo_t* why, void*)
{
    line text;
    text << "FAILED: signal " << static_cast<unsigned>(signal);
    name_plays(text);
    const auto which = std::find(deadly.begin(), deadly.end(), signal) - deadly.begin();
    ::sigaction(signal, &before[static_cast<std::size_t>(which)], nullptr);
    if (why->si_code <= 0) {
        ::raise(signal);
    }
    // Otherwise the faulting instruction runs again, and the next handler can report its context.
}

#if REDLOCK_TEST_SANITIZED
/// Called for a finding of a sanitizer, which may come without a signal.
void on_report()
{
    line text;
    text << "FAILED: a sanitizer's report";
    name_plays(text);
}
#endif

play_under_way* claim() noexcept
{
    for (auto& p : plays) {
        if (!p.claimed.exchange(true)) {
            return &p;
        }
    }
    return nullptr;
}

}  // namespace

void speak_when_killed(std::string further)
{
    shared_arguments = std::move(further);
    struct sigaction action {};
    action.sa_sigaction = &on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (std::size_t i = 0; i < deadly.size(); ++i) {
        ::sigaction(deadly[i], &action, &before[i]);
    }
#if REDLOCK_TEST_SANITIZED
    __sanitizer_set_death_callback(&on_report);
#endif
}

playing::playing(std::uint64_t seed) noexcept
{
    play_under_way* p = claim();
    if (p == nullptr) {
        return;
    }
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    ::pthread_getcpuclockid(::pthread_self(), &clock);
    p->seed = seed;
    p->clock = clock;
    p->began = time_on(clock).count();
    p->told = true;
    mine = p;
}

playing::~playing()
{
    if (play_under_way* p = std::exchange(mine, nullptr)) {
        p->told = false;
        p->claimed = false;
    }
}

spare_stack::spare_stack()
{
    stack_t present{};
    if (::sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0) {
        memory_ = std::make_unique<char[]>(size);
        stack_t own{};
        own.ss_sp = memory_.get();
        own.ss_size = size;
        ::sigaltstack(&own, nullptr);
    }
}

spare_stack::~spare_stack()
{
    if (memory_) {
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        ::sigaltstack(&none, nullptr);
    }
}

watchdog::watchdog() : thread_([this] { watch(); }) {}

watchdog::~watchdog()
{
    {
        const std::lock_guard guard(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void watchdog::watch()
{
    std::unique_lock guard(mutex_);
    while (!changed_.wait_for(guard, std::chrono::seconds{1}, [this] { return ended_; })) {
        for (const auto& p : plays) {
            const nanos began{p.began};
            // The slot may belong to another play in another thread by now.
            if (time_on(p.clock) - began > longest_computing && p.told &&
                p.began == began.count()) {
                line text;
                text << "FAILED: no end after "
                     << static_cast<std::uint64_t>(longest_computing.count())
                     << " s of playing --seed " << p.seed << shared_arguments;
                text.say();
                ::signal(SIGABRT, SIG_DFL);  // nothing more to say
                std::abort();
            }
        }
    }
}

}  // namespace redlock::sim
