#pragma once

#include "base/instant.hpp"
#include "base/wall_clock.hpp"
#include "testing/contract.hpp"
#include "testing/model_master.hpp"

#include <cstdint>

// The model node that users have for their tests, in virtual time.
namespace redlock::test {

using testing::contract;
using testing::contract_script;
using testing::contract_scripts;
using testing::date_of;
using testing::model_master;
using testing::parse_commands;
using testing::script_for;
using testing::session;
using testing::take_command;
using testing::words;

/// A clock for the date in virtual time, with a settable error.
class virtual_date final : public base::wall_clock {
public:
    explicit virtual_date(const base::instant& now) : now_(now) {}
    [[nodiscard]] std::int64_t microseconds() noexcept override { return date_of(now_ + offset); }

    base::nanos offset{};

private:
    const base::instant& now_;
};

}  // namespace redlock::test
