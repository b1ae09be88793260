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

/// The last line of a program that dies or hangs in the middle of a play.
namespace redlock::sim {

/// Maximum processor time of a play: a thousand times what one usually takes.
inline constexpr std::chrono::seconds longest_computing
{
#if REDLOCK_TEST_SANITIZED
    600
#else
    60
#endif
};

/**
 * Makes a deadly signal or a sanitizer's report name the present plays first. The earlier handler
 * of the signal runs after that. Call it once in a program. `further`: the arguments that all
 * plays share.
 */
void speak_when_killed(std::string further);

/// Marks the calling thread as playing this seed while the object lives.
class playing {
public:
    explicit playing(std::uint64_t seed) noexcept;
    ~playing();
    playing(const playing&) = delete;
    playing& operator=(const playing&) = delete;
};

/// Lets the calling thread print even when its stack is used up.
class spare_stack {
public:
    spare_stack();
    ~spare_stack();
    spare_stack(const spare_stack&) = delete;
    spare_stack& operator=(const spare_stack&) = delete;

private:
    static constexpr std::size_t size = 64 * 1024;

    /// Empty if a sanitizer has set one up.
    std::unique_ptr<char[]> memory_;
};

/// Aborts the program and names the play if one takes more than `longest_computing`.
class watchdog {
public:
    watchdog();
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

private:
    void watch();

    std::mutex mutex_;  ///< guards the members below
    std::condition_variable changed_;
    bool ended_ = false;
    std::thread thread_;  ///< last, as it uses the others
};

}  // namespace redlock::sim
