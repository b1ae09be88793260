#include "load/last_orders.hpp"

#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace redlock::bench {
namespace {

constinit std::atomic<last_orders*> in_force{nullptr};

}  // namespace

last_orders::last_orders(std::array<std::string, 2 * max_processes> files, std::string folder)
    : files_(std::move(files)),
      folder_(std::move(folder))
{
    last_orders* none = nullptr;
    if (!in_force.compare_exchange_strong(none, this)) {
        throw std::logic_error("one set of local servers at a time");
    }
    for (std::size_t i = 0; i < signals.size(); ++i) {
        struct sigaction ours {};
        ours.sa_handler = &last_orders::carry_out;
        ::sigaction(signals[i], nullptr, &before_[i]);
        if (before_[i].sa_handler != SIG_IGN) {
            ::sigaction(signals[i], &ours, nullptr);
        }
    }
}

last_orders::~last_orders()
{
    for (std::size_t i = 0; i < signals.size(); ++i) {
        struct sigaction now {};
        ::sigaction(signals[i], nullptr, &now);
        if (now.sa_handler == &last_orders::carry_out) {
            ::sigaction(signals[i], &before_[i], nullptr);
        }
    }
    in_force = nullptr;
}

// A signal handler: async-signal-safe calls only.
void last_orders::carry_out(int signal)
{
    if (auto* orders = in_force.exchange(nullptr)) {
        for (const auto& place : orders->pids_) {
            if (const pid_t pid = place.load(); pid > 0) {
                ::kill(pid, SIGKILL);
            }
        }
        for (const auto& file : orders->files_) {
            if (!file.empty()) {
                ::unlink(file.c_str());
            }
        }
        ::rmdir(orders->folder_.c_str());
    }
    // Dies of the signal, so that the parent of this process sees why it ended.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

}  // namespace redlock::bench
