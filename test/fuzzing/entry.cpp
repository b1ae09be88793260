#include "input.hpp"

/// What libFuzzer calls, or the replay.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    redlock::test::run_target({reinterpret_cast<const char*>(data), size});
    return 0;
}
