#pragma once
#include <chrono>
#include <iosfwd>
#include <redlock/config.hpp>
namespace redlock::cli {
struct doctor_options {
    redlock::config config;
    bool json = false;
    std::chrono::milliseconds watch{1000};
};
[[nodiscard]] int doctor(const doctor_options& options, std::ostream& out);
}  // namespace redlock::cli
