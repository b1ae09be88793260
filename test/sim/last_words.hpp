#pragma once

#include "support/sanitizers.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

/// What a program says that dies, or would go on for ever, in the middle of a play.
namespace redlock::sim {

/// How much processor time a play may take; a thousand times what one takes.
inline constexpr std::chrono::seconds longest_computing
{
#if REDLOCK_TEST_SANITIZED
    600
#else
    60
#endif
};

/**
 * From here on a signal that ends the program says first what was being played, and so does a
 * sanitizer that ends it. What has handled the signal before handles it then. Once a program.
 * `further`: the arguments that all plays share.
 */
void speak_when_killed(std::string further);

/// The calling thread is in the middle of a play of this seed, for as long as the object lives.
class playing {
public:
    explicit playing(std::uint64_t seed) noexcept;
    ~playing();
    playing(const playing&) = delete;
    playing& operator=(const playing&) = delete;
};

/// Lets the calling thread speak even when its stack is used up.
class spare_stack {
public:
    spare_stack();
    ~spare_stack();
    spare_stack(const spare_stack&) = delete;
    spare_stack& operator=(const spare_stack&) = delete;

private:
    static constexpr std::size_t size = 64 * 1024;

    /// Empty where a sanitizer has set one up.
    std::unique_ptr<char[]> memory_;
};

/// While it lives: a play that takes more than `longest_computing` aborts the program, and is
/// named.
class watchdog {
public:
    watchdog();
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

private:
    void watch();

    std::mutex mutex_;  ///< for what follows
    std::condition_variable changed_;
    bool ended_ = false;
    std::thread thread_;  ///< behind what it uses
};

}  // namespace redlock::sim
