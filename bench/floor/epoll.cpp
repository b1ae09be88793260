// The floor: the cost of a quorum lock that does only the necessary. One thread, epoll, one write
// buffer and one flush for each node and turn, and replies identified by their place. No deadline,
// no reconnect, no retry: any surprise ends it.

#include "common/floor_run.hpp"

#include <boost/circular_buffer.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using namespace redlock::bench;
using clock_type = floor_run::clock;

[[noreturn]] void fail(const char* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

/// The worker that waits for a reply. A worker that is in another step by then ignores it.
struct expectation {
    std::uint32_t worker;
    std::uint32_t step;
};

struct node {
    node() = default;
    ~node() { ::close(fd); }

    node(const node&) = delete;
    node& operator=(const node&) = delete;

    int fd = -1;
    std::string out;
    std::size_t written = 0;
    bool wants_writable = false;
    boost::circular_buffer<expectation> expected{64};
    std::array<char, 64 * 1024> in;
    std::size_t filled = 0;  ///< bytes at the start of `in`
};

/// Alternates between acquiring and releasing.
struct worker {
    explicit worker(std::size_t i) : text(i) {}

    commands text;
    bool acquiring = false;
    std::uint32_t step = 0;
    std::uint32_t yes = 0;
    std::uint32_t no = 0;
    clock_type::time_point began;
};

class loop {
public:
    explicit loop(floor_run& run);
    ~loop() { ::close(epoll_); }

    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    void operator()();

private:
    void begin_cycle(std::uint32_t i);
    void send_to_all(std::uint32_t i, const std::string& command);
    void on_reply(expectation e, bool granted);
    void end_of_step(std::uint32_t i, bool won);
    void receive(node& n);
    void flush(node& n);
    void watch(node& n, int operation, bool writable);

    floor_run& run_;
    std::uint32_t quorum_;
    std::uint32_t blocking_;  ///< with this many refusals a quorum is impossible
    std::vector<node> nodes_;
    std::vector<worker> workers_;
    std::size_t active_ = 0;
    clock_type::time_point now_;
    int epoll_;
};

loop::loop(floor_run& run)
    : run_(run),
      quorum_(static_cast<std::uint32_t>(run.quorum())),
      blocking_(static_cast<std::uint32_t>(run.nodes() - run.quorum() + 1)),
      nodes_(run.nodes()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC))
{
    if (epoll_ < 0) {
        fail("epoll_create1");
    }
    boost::asio::io_context io;
    auto sockets = run.connect_all(io);
    for (std::size_t i = 0; i < sockets.size(); ++i) {
        sockets[i].native_non_blocking(true);
        nodes_[i].fd = sockets[i].release();
        watch(nodes_[i], EPOLL_CTL_ADD, false);
    }
    for (std::size_t i = 0; i < run.workers(); ++i) {
        workers_.emplace_back(i);
    }
}

void loop::operator()()
{
    std::array<epoll_event, 64> events;
    run_.start();
    now_ = clock_type::now();
    active_ = workers_.size();
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
        begin_cycle(i);
    }
    while (active_ > 0) {
        for (auto& n : nodes_) {
            if (!n.out.empty() && !n.wants_writable) {
                flush(n);
            }
        }
        const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
        if (ready < 0 && errno != EINTR) {
            fail("epoll_wait");
        }
        for (int i = 0; i < ready; ++i) {
            auto& n = *static_cast<node*>(events[static_cast<std::size_t>(i)].data.ptr);
            if ((events[static_cast<std::size_t>(i)].events & EPOLLOUT) != 0) {
                watch(n, EPOLL_CTL_MOD, false);
            }
            if ((events[static_cast<std::size_t>(i)].events & ~EPOLLOUT) != 0) {
                receive(n);
            }
        }
    }
}

void loop::begin_cycle(std::uint32_t i)
{
    auto& w = workers_[i];
    w.text.renew();
    w.began = now_;
    w.acquiring = true;
    send_to_all(i, w.text.acquire());
}

void loop::send_to_all(std::uint32_t i, const std::string& command)
{
    auto& w = workers_[i];
    ++w.step;
    w.yes = 0;
    w.no = 0;
    for (auto& n : nodes_) {
        n.out += command;
        if (n.expected.full()) {
            n.expected.set_capacity(2 * n.expected.capacity());
        }
        n.expected.push_back({i, w.step});
    }
}

void loop::on_reply(expectation e, bool granted)
{
    auto& w = workers_[e.worker];
    if (e.step != w.step) {
        return;
    }
    if (granted ? ++w.yes == quorum_ : ++w.no == blocking_) {
        end_of_step(e.worker, granted);
    }
}

void loop::end_of_step(std::uint32_t i, bool won)
{
    auto& w = workers_[i];
    if (!won) {
        run_.failed();
    }
    if (w.acquiring) {
        if (won) {
            run_.acquired(now_ - w.began);
        }
        w.acquiring = false;
        send_to_all(i, w.text.release());
    } else if (run_.next_cycle(now_)) {
        begin_cycle(i);
    } else {
        ++w.step;
        --active_;
    }
}

void loop::receive(node& n)
{
    const auto got = ::recv(n.fd, n.in.data() + n.filled, n.in.size() - n.filled, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        fail("a node is gone");
    }
    n.filled += static_cast<std::size_t>(got);
    // Once for all replies that arrived together.
    now_ = clock_type::now();

    std::string_view rest(n.in.data(), n.filled);
    while (rest.size() >= 4) {
        // +OK, $-1, :1 or :0, each with CR LF.
        const std::size_t length = rest[0] == ':' ? 4 : 5;
        if (rest[0] == '-') {
            throw std::runtime_error("a node says " + std::string(rest.substr(0, rest.find('\r'))));
        }
        if (rest.size() < length) {
            break;
        }
        const auto e = n.expected.front();
        n.expected.pop_front();
        on_reply(e, rest[0] == '+' || rest[1] == '1');
        rest.remove_prefix(length);
    }
    std::memmove(n.in.data(), rest.data(), rest.size());
    n.filled = rest.size();
}

void loop::flush(node& n)
{
    const auto sent =
        ::send(n.fd, n.out.data() + n.written, n.out.size() - n.written, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        fail("a node is gone");
    }
    n.written += sent > 0 ? static_cast<std::size_t>(sent) : 0;
    if (n.written < n.out.size()) {
        return watch(n, EPOLL_CTL_MOD, true);
    }
    n.out.clear();
    n.written = 0;
}

void loop::watch(node& n, int operation, bool writable)
{
    epoll_event wanted{};
    wanted.events = writable ? EPOLLIN | EPOLLOUT : EPOLLIN;
    wanted.data.ptr = &n;
    if (::epoll_ctl(epoll_, operation, n.fd, &wanted) != 0) {
        fail("epoll_ctl");
    }
    n.wants_writable = writable;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        floor_run run(argc, argv, "floor-epoll");
        loop turn(run);
        turn();
        run.report();
    } catch (const std::exception& e) {
        std::cerr << "redlock-floor-epoll: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
