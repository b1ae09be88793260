// Shows why a lock is not enough, and what a fencing token adds. A worker checks that it has the
// lock, and is paused right after that. Its lock ends, and a second worker takes the lock and
// writes. When the first worker goes on, it still believes that it has the lock. But the row has
// seen a greater token, and is not changed. The first worker is a child process; its pause is a
// SIGSTOP.
//
// Run it with a file for the database and the nodes:
//
//     fencing_sqlite orders.db redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include "fencing_workers.hpp"

#include <sqlite3.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

void check(bool well, const database& db)
{
    if (!well) {
        throw std::runtime_error(sqlite3_errmsg(db.get()));
    }
}

database open(const char* file)
{
    sqlite3* handle = nullptr;
    const int result = sqlite3_open(file, &handle);
    database db(handle, sqlite3_close);
    check(result == SQLITE_OK, db);
    sqlite3_busy_timeout(handle, 5000);
    return db;
}

statement prepare(const database& db, const char* text)
{
    sqlite3_stmt* handle = nullptr;
    check(sqlite3_prepare_v2(db.get(), text, -1, &handle, nullptr) == SQLITE_OK, db);
    return {handle, sqlite3_finalize};
}

void create(const char* file)
{
    const auto db = open(file);
    const char* text =
        "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, state TEXT, fence INTEGER);"
        "INSERT OR REPLACE INTO orders VALUES (42, 'new', 0)";
    check(sqlite3_exec(db.get(), text, nullptr, nullptr, nullptr) == SQLITE_OK, db);
}

std::string state(const char* file)
{
    const auto db = open(file);
    const auto query = prepare(db, "SELECT state FROM orders WHERE id = 42");
    check(sqlite3_step(query.get()) == SQLITE_ROW, db);
    return reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 0));
}

// Compares and writes in one step. Returns false if no row was changed.
bool write(const char* file, const std::string& state, std::uint64_t token)
{
    const auto db = open(file);
    const auto update = prepare(
        db, "UPDATE orders SET state = :state, fence = :token WHERE id = 42 AND fence <= :token");
    sqlite3_bind_text(update.get(), 1, state.c_str(), -1, SQLITE_STATIC);
    sqlite3_bind_int64(update.get(), 2, static_cast<sqlite3_int64>(token));
    check(sqlite3_step(update.get()) == SQLITE_DONE, db);
    return sqlite3_changes(db.get()) == 1;
}

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: fencing_sqlite FILE redis://10.0.0.1 ...\n";
        return 2;
    }
    const char* const file = argv[1];
    create(file);
    const bool well = run_both(
        {argv + 2, argv + argc},
        [file](const std::string& text, std::uint64_t token) { return write(file, text, token); });
    std::cout << "orders/42: " << state(file) << std::endl;
    return well ? 0 : 1;
} catch (const std::exception& thrown) {  // a database that cannot be opened, for one
    std::cerr << "fencing_sqlite: " << thrown.what() << '\n';
    return 1;
}
