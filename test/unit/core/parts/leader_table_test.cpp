#include "core/contention/leader_table.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <deque>
#include <string>

using namespace redlock;

namespace {

core::lease& made(std::deque<core::lease>& all, std::size_t i)
{
    core::lease& l = all.emplace_back();
    l.resource = "resource/" + std::to_string(i);
    l.resource_hash = core::hash_of(l.resource);
    return l;
}

}  // namespace

TEST_CASE("each resource has at most one leader for any number of resources", "[core][line]")
{
    constexpr std::size_t many = 5000;
    core::leader_table table;
    std::deque<core::lease> all;
    std::deque<core::lease> others;
    for (std::size_t i = 0; i < many; ++i) {
        core::lease& l = made(all, i);
        CHECK(table.find(l.resource) == nullptr);
        CHECK(&table.find_or_add(l) == &l);
        CHECK(l.leads);
        CHECK(&table.find_or_add(made(others, i)) == &l);
        CHECK_FALSE(others.back().leads);
    }
    CHECK(table.size() == many);
    for (std::size_t i = 0; i < many; ++i) {
        REQUIRE(table.find(all[i].resource) == &all[i]);
        if (i % 3 == 0) {
            table.remove(all[i]);
            CHECK(table.find(all[i].resource) == nullptr);
        } else if (i % 3 == 1) {
            table.replace(all[i], others[i]);
            CHECK_FALSE(all[i].leads);
            CHECK(table.find(all[i].resource) == &others[i]);
        }
    }
    for (std::size_t i = 0; i < many; ++i) {
        if (core::lease* const l = table.find(all[i].resource)) {
            table.remove(*l);
        } else {
            CHECK(i % 3 == 0);
        }
    }
    CHECK(table.size() == 0);
}
