#include "engine/known_addresses.hpp"

#include <boost/asio/ip/address.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <initializer_list>
#include <vector>

using namespace redlock;

namespace {

using endpoints = std::vector<engine::known_addresses::endpoint>;

endpoints at(std::initializer_list<std::uint8_t> hosts)
{
    endpoints out;
    for (const std::uint8_t host : hosts) {
        out.emplace_back(boost::asio::ip::address_v4({10, 0, 0, host}), 6379);
    }
    return out;
}

endpoints sorted(engine::known_addresses& known, std::initializer_list<std::uint8_t> hosts)
{
    auto found = at(hosts);
    known.sort(found);
    return found;
}

}  // namespace

TEST_CASE("a client stays with the address that it used", "[engine]")
{
    engine::known_addresses known;
    CHECK(sorted(known, {1, 2, 3}) == at({1, 2, 3}));
    known.note_try(at({1})[0]);
    known.note_try(at({2})[0]);
    known.note_use();
    // The order of a lookup may differ from the order of the one before.
    CHECK(sorted(known, {3, 1, 2}) == at({2, 3, 1}));
    known.note_try(at({2})[0]);
    known.note_use();
    CHECK(sorted(known, {1, 2, 3}) == at({2, 1, 3}));
    // The address is gone from the name.
    CHECK(sorted(known, {1, 3}) == at({1, 3}));
}

TEST_CASE("a client tries each address once before it begins anew", "[engine]")
{
    engine::known_addresses known;
    CHECK(sorted(known, {1, 2}) == at({1, 2}));
    CHECK(known.has_untried());
    known.note_try(at({1})[0]);
    CHECK(known.has_untried());
    known.try_again();
    CHECK(sorted(known, {1, 2}) == at({1, 2}));
    known.note_try(at({1})[0]);
    CHECK(sorted(known, {1, 2}) == at({2, 1}));
    known.note_try(at({2})[0]);
    CHECK_FALSE(known.has_untried());
    CHECK(sorted(known, {1, 2}) == at({1, 2}));
    CHECK(known.has_untried());
}

TEST_CASE("an address that a lookup gives twice counts once", "[engine]")
{
    engine::known_addresses known;
    CHECK(sorted(known, {1, 1}) == at({1}));
    known.note_try(at({1})[0]);
    CHECK_FALSE(known.has_untried());
}

TEST_CASE("an address that failed since its last use comes behind the others", "[engine]")
{
    engine::known_addresses known;
    (void)sorted(known, {1, 2});
    known.note_try(at({1})[0]);
    known.note_use();
    CHECK(sorted(known, {1, 2}) == at({1, 2}));
    known.note_try(at({1})[0]);  // and the server does not answer
    CHECK(sorted(known, {1, 2}) == at({2, 1}));
}
