#include "examples/fencing.hpp"
#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace redlock::test;

TEST_CASE("SQLite refuses the write of a holder that was paused", "[examples]")
{
    const masters nodes(3);
    const temp_dir folder;
    check_fenced("fencing_sqlite", with({folder / "orders.db"}, nodes.urls()));
}

TEST_CASE("the SQLite example reports errors", "[examples]")
{
    const temp_dir folder;
    program example("fencing_sqlite", {folder / "none" / "orders.db", "redis://127.0.0.1:1"});
    CHECK(example.process().wait() != 0);
    CHECK(example.has_said("unable to open database file"));
}
