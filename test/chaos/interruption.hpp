#pragma once

#include <exception>

namespace redlock::chaos {

/// SIGINT, SIGTERM or SIGHUP has come, and the run must end.
struct interruption : std::exception {
    explicit interruption(int signal_number) : number(signal_number) {}
    [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }

    int number;
};

/// From now on these signals are noted and do nothing else.
void note_interruptions();

void throw_if_interrupted();

}  // namespace redlock::chaos
