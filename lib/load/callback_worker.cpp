#include "load/course.hpp"

#include <utility>

namespace redlock::bench {

callback_worker::callback_worker(course& all, std::size_t index)
    : all_(all),
      index_(index),
      timer_(all.locks.get_executor())
{}

void callback_worker::take()
{
    if (all_.stopping) {
        all_.leaves();
        return;
    }
    resource_ = all_.resource_of(index_, cycle_++);
    began_ = bench_clock::now();
    all_.locks.async_acquire(all_.names[resource_], all_.todo.acquire,
                             [this](error_code why, lock l) { on_taken(why, std::move(l)); });
}

void callback_worker::on_taken(error_code why, lock l)
{
    if (why) {
        all_.score.not_acquired(why, began_);
        wait(all_.todo.pause, &callback_worker::take);
        return;
    }
    all_.score.acquired(resource_, l, began_);
    held_ = std::move(l);
    if (const auto hold = all_.hold_of(resource_); hold.count() != 0) {
        wait(hold, &callback_worker::give_back);
    } else {
        give_back();
    }
}

void callback_worker::give_back()
{
    all_.score.gives_back(resource_);
    began_ = bench_clock::now();
    all_.locks.async_release(std::move(held_), [this](error_code why, release_result found) {
        all_.score.released(index_, why, found, began_);
        take();
    });
}

void callback_worker::wait(std::chrono::milliseconds duration, void (callback_worker::*then)())
{
    timer_.expires_after(duration);
    timer_.async_wait([this, then](error_code) { (this->*then)(); });
}

}  // namespace redlock::bench
