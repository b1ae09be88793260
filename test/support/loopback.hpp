#pragma once

namespace redlock::test {

/// Switches the loopback device of this thread's network namespace on or off. Throws where that is
/// not permitted.
void set_loopback(bool up);

}  // namespace redlock::test
