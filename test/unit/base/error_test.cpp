#include <redlock/error.hpp>

#include <boost/system/errc.hpp>
#include <boost/system/generic_category.hpp>
#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>
#include <system_error>
#include <utility>

using redlock::condition;
using redlock::errc;
using redlock::error_code;

namespace {

constexpr int first = static_cast<int>(errc::contended);
constexpr int last = static_cast<int>(errc::invalid_config);

}  // namespace

TEST_CASE("every error has a text of its own", "[base][error]")
{
    std::set<std::string> texts;
    for (int value = first; value <= last; ++value) {
        const error_code code{static_cast<errc>(value)};
        CHECK(code.failed());
        CHECK(code.message() != "Unknown error");
        CHECK(texts.insert(code.message()).second);
    }
    CHECK(error_code(last + 1, redlock::error_category()).message() == "Unknown error");
    CHECK(error_code(0, redlock::error_category()).failed() == false);
}

TEST_CASE("a refused argument is named", "[base][error]")
{
    const std::pair<errc, std::string> named[] = {
        {errc::invalid_resource, "resource: "},
        {errc::duplicate_resource, "resource: "},
        {errc::invalid_ttl, "ttl: "},
        {errc::invalid_timeout, "timeout: "},
        {errc::invalid_max_attempts, "max_attempts: "},
        {errc::invalid_max_outage, "max_outage: "},
        {errc::invalid_label, "label: "},
        {errc::invalid_min_validity, "min_validity: "},
        {errc::invalid_max_hold, "keep_alive.max_hold: "},
    };
    for (const auto& [e, field] : named) {
        CHECK(error_code{e}.message().starts_with(field));
    }
}

TEST_CASE("the text of an error is the same in a buffer and as a string", "[base][error]")
{
    char buffer[4];
    const error_code code = errc::contended;
    CHECK(code.message(buffer, sizeof buffer) == code.message());
}

TEST_CASE("the categories have the documented names", "[base][error]")
{
    CHECK(std::string{redlock::error_category().name()} == "redlock");
    CHECK(std::string{redlock::condition_category().name()} == "redlock.condition");
}

TEST_CASE("each condition matches exactly its codes", "[base][error]")
{
    const std::set<errc> not_acquired{errc::contended, errc::unavailable, errc::expired,
                                      errc::timed_out};
    for (int value = first; value <= last; ++value) {
        const auto e = static_cast<errc>(value);
        const error_code code = e;
        CHECK((code == condition::not_acquired) == not_acquired.contains(e));
        CHECK((code == condition::invalid_argument) == (e >= errc::invalid_resource));
        CHECK(code == e);
    }
}

TEST_CASE("no condition matches a code of another category", "[base][error]")
{
    const error_code foreign{first, boost::system::generic_category()};
    CHECK_FALSE(foreign == condition::not_acquired);
    CHECK_FALSE(foreign == condition::invalid_argument);
    CHECK_FALSE(error_code{} == condition::not_acquired);
    CHECK_FALSE(error_code{} == condition::invalid_argument);
}

TEST_CASE("each condition has a text", "[base][error]")
{
    CHECK(make_error_condition(condition::not_acquired).message() == "The lock was not acquired");
    CHECK(make_error_condition(condition::invalid_argument).message() == "An argument is invalid");
}

TEST_CASE("a code survives the way through the standard library", "[base][error]")
{
    const std::error_code standard = error_code{errc::lost};
    CHECK(standard.value() == static_cast<int>(errc::lost));
    CHECK(standard.message() == error_code{errc::lost}.message());
    CHECK(std::string{standard.category().name()} == "redlock");
}
