#pragma once

namespace redlock::test {

/// Switches the loopback device of this thread's network namespace on or off. Throws if that is not
/// permitted.
void set_loopback(bool up);

/// Whether ::1 is an address of the device.
[[nodiscard]] bool has_ipv6_loopback() noexcept;

}  // namespace redlock::test
