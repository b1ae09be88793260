#include "input.hpp"

/// The function that libFuzzer or the replay calls.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    redlock::test::run_target({reinterpret_cast<const char*>(data), size});
    return 0;
}
