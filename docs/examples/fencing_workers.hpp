// The two workers of fencing_sqlite.cpp and fencing_postgres.cpp. The first checks that it has the
// lock, and is paused right after that. The second takes the lock and writes; then the first goes
// on. The first worker is a child process, and its pause is a SIGSTOP.

#pragma once

#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Writes the text if no later holder was there. Returns whether it did.
using write_function = std::function<bool(const std::string& text, std::uint64_t token)>;

inline asio::awaitable<void> work(redlock::client& locks, std::string name, write_function write)
{
    auto lock = co_await locks.async_acquire("orders/42", {.ttl = 1s, .timeout = 10s});
    const auto token = lock.fencing_token();
    std::cout << name << ": token " << token << std::endl;
    if (lock.owns()) {
        if (name == "first") {
            std::raise(SIGSTOP);  // like a machine that swaps, or a virtual machine that is moved
        }
        const bool written = write("written by " + name, token);
        std::cout << name << (written ? ": written" : ": refused, a later holder was there")
                  << std::endl;
    }
    lock = {};  // releases it; the close waits for that
    co_await locks.async_close();
}

// Runs one worker, with a client of its own, and returns whether that went well.
inline bool run(const char* name, const std::vector<std::string>& nodes,
                const write_function& write)
try {
    asio::io_context context;
    redlock::client locks(context, {.nodes = nodes});
    locks.async_run(asio::detached);
    asio::co_spawn(context, work(locks, name, write), [](std::exception_ptr thrown) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    });
    context.run();
    return true;
} catch (const std::exception& thrown) {
    std::cout << name << ": " << thrown.what() << std::endl;
    return false;
}

// Returns whether both workers could do their work. The write of the first may be refused.
inline bool run_both(const std::vector<std::string>& nodes, const write_function& write)
{
    const pid_t first = ::fork();
    if (first == 0) {
        ::_exit(run("first", nodes, write) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(first, &status, WUNTRACED);  // until it has stopped
    if (!WIFSTOPPED(status)) {
        return false;
    }
    std::cout << "first is stopped" << std::endl;
    const bool well = run("second", nodes, write);
    ::kill(first, SIGCONT);
    ::waitpid(first, &status, 0);
    return well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
