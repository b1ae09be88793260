#include "core/quorum/reason.hpp"

#include "core/fencing.hpp"
#include "core/round.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock;
using core::reason_of;
using core::verdict;

namespace {

/// Three nodes that have granted, refused or failed: "grf".
core::round attempt(std::string_view nodes)
{
    core::round r;
    r.tally = core::votes{static_cast<unsigned>(nodes.size())};
    for (unsigned i = 0; i < nodes.size(); ++i) {
        switch (nodes[i]) {
            case 'g':
                r.tally.grant(i);
                r.keyed |= core::bit(i);
                break;
            case 'r': r.tally.refuse(i); break;
            default: r.tally.fail(i); break;
        }
    }
    return r;
}

errc reason(const core::round& r)
{
    return reason_of(r, r.tally.of_acquire());
}

}  // namespace

TEST_CASE("an attempt fails because of other holders, of nodes, or of time", "[core][reason]")
{
    CHECK(reason(attempt("rrg")) == errc::contended);
    CHECK(reason(attempt("rfg")) == errc::contended);
    CHECK(reason(attempt("ffg")) == errc::unavailable);
    CHECK(reason(attempt("ffr")) == errc::unavailable);
    CHECK(reason(attempt("ggr")) == errc::expired);
}

TEST_CASE("an attempt without a token fails because of its counters", "[core][reason][fencing]")
{
    core::fencing_votes counters;
    counters.reset(3, 0);
    core::round r = attempt("ggg");
    r.fencing = &counters;
    SECTION("no two nodes voted one value, and none can follow")
    {
        counters.vote(0, 10, false);
        CHECK(reason(r) == errc::unavailable);
    }
    SECTION("two voted one value: the token came too late")
    {
        counters.vote(0, 10, false);
        counters.vote(1, 10, false);
        CHECK(reason(r) == errc::expired);
    }
}
