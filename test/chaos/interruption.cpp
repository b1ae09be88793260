#include "chaos/interruption.hpp"

#include <csignal>
#include <initializer_list>

namespace redlock::chaos {
namespace {

volatile std::sig_atomic_t noted = 0;

extern "C" void note(int number)
{
    noted = number;
}

}  // namespace

void note_interruptions()
{
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        std::signal(number, note);
    }
}

void throw_if_interrupted()
{
    if (noted != 0) {
        throw interruption(noted);
    }
}

}  // namespace redlock::chaos
