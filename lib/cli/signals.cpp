#include "cli/signals.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/system/system_error.hpp>

#include <cerrno>
#include <utility>

namespace redlock::cli {

namespace asio = boost::asio;

struct signals::state {
    explicit state(const asio::any_io_executor& ex) : stream(ex) {}

    asio::posix::stream_descriptor stream;
    signalfd_siginfo next{};
    handler called;
    bool reading = false;
};

bool is_ignored(int number) noexcept
{
    struct sigaction now {};
    return sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void stop_for_terminal() noexcept
{
    sigset_t one;
    sigset_t before;
    sigemptyset(&one);
    sigaddset(&one, SIGTSTP);
    raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &one, &before);  // the process stops here
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

blocked_signals::blocked_signals(std::initializer_list<int> numbers)
{
    sigemptyset(&mask_);
    for (const int number : numbers) {
        if (!is_ignored(number)) {
            sigaddset(&mask_, number);
        }
    }
    pthread_sigmask(SIG_BLOCK, &mask_, &before_);
}

blocked_signals::~blocked_signals()
{
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

signals::signals(const asio::any_io_executor& ex, const blocked_signals& which)
    : state_(std::make_shared<state>(ex))
{
    const int descriptor = signalfd(-1, &which.mask(), SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor < 0) {
        throw boost::system::system_error(errno, boost::system::system_category(), "signalfd");
    }
    state_->stream.assign(descriptor);
}

signals::~signals()
{
    stop();
}

void signals::handle(handler f)
{
    state_->called = std::move(f);
    if (!state_->reading) {
        state_->reading = true;
        read(state_);
    }
}

void signals::stop()
{
    state_->called = nullptr;
    boost::system::error_code ignored;  // ignored, because there is nothing to cancel then
    state_->stream.cancel(ignored);
}

void signals::read(const std::shared_ptr<state>& s)
{
    asio::async_read(s->stream, asio::buffer(&s->next, sizeof s->next),
                     [s](boost::system::error_code error, std::size_t) {
                         s->reading = false;
                         if (error || !s->called) {
                             return;
                         }
                         // The handler may replace itself.
                         const handler called = s->called;
                         called(s->next);
                         if (s->called && !s->reading) {
                             s->reading = true;
                             read(s);
                         }
                     });
}

}  // namespace redlock::cli
