// Shows why a lock is not enough, and what a fencing token adds. A worker checks that it has the
// lock, and is paused right after that. Its lock ends, and a second worker takes the lock and
// writes. When the first worker goes on, it still believes that it has the lock. But the row has
// seen a greater token, and is not changed. Workers are processes of this program; the pause is a
// SIGSTOP.
//
// Run it with a file for the database and the nodes:
//
//     fencing_sqlite orders.db redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <sqlite3.h>

#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace asio = boost::asio;
using namespace std::chrono_literals;

using database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

void check(bool well, sqlite3* db)
{
    if (!well) {
        throw std::runtime_error(sqlite3_errmsg(db));
    }
}

database open(const char* file)
{
    sqlite3* handle = nullptr;
    const int result = sqlite3_open(file, &handle);
    database db(handle, sqlite3_close);
    check(result == SQLITE_OK, handle);
    sqlite3_busy_timeout(handle, 5000);
    return db;
}

statement prepare(const database& db, const char* text)
{
    sqlite3_stmt* handle = nullptr;
    check(sqlite3_prepare_v2(db.get(), text, -1, &handle, nullptr) == SQLITE_OK, db.get());
    return {handle, sqlite3_finalize};
}

void create(const char* file)
{
    const auto db = open(file);
    const char* text =
        "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, state TEXT, fence INTEGER);"
        "INSERT OR REPLACE INTO orders VALUES (42, 'new', 0)";
    check(sqlite3_exec(db.get(), text, nullptr, nullptr, nullptr) == SQLITE_OK, db.get());
}

std::string state(const char* file)
{
    const auto db = open(file);
    const auto query = prepare(db, "SELECT state FROM orders WHERE id = 42");
    check(sqlite3_step(query.get()) == SQLITE_ROW, db.get());
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
    check(sqlite3_step(update.get()) == SQLITE_DONE, db.get());
    return sqlite3_changes(db.get()) == 1;
}

asio::awaitable<void> work(redlock::client& locks, const std::string& name, const char* file)
{
    auto [error, lock] = co_await locks.async_acquire("orders/42", {.ttl = 1s, .timeout = 10s},
                                                      asio::as_tuple(asio::deferred));
    if (error) {
        throw boost::system::system_error(error, "no lock");
    }
    const auto token = lock.fencing_token();
    std::cout << name << ": token " << token << std::endl;
    if (lock.owns()) {
        if (name == "first") {
            std::raise(SIGSTOP);  // like a machine that swaps, or a virtual machine that is moved
        }
        const bool written = write(file, "written by " + name, token);
        std::cout << name << (written ? ": written" : ": refused, a later holder was there")
                  << std::endl;
    }
    lock = {};  // releases it; the close waits for that
    co_await locks.async_close();
}

// Starts a worker in a process of its own. The worker creates its client after the fork.
pid_t start_worker(const char* name, const char* file, const std::vector<std::string>& nodes)
{
    const pid_t pid = ::fork();
    if (pid != 0) {
        return pid;
    }
    try {
        asio::io_context context;
        redlock::client locks(context, {.nodes = nodes});
        locks.async_run(asio::detached);
        asio::co_spawn(context, work(locks, name, file), [](std::exception_ptr thrown) {
            if (thrown) {
                std::rethrow_exception(thrown);
            }
        });
        context.run();
        ::_exit(0);
    } catch (const std::exception& thrown) {
        std::cout << name << ": " << thrown.what() << std::endl;
        ::_exit(1);
    }
}

// Returns true once the worker has stopped, and false if it has ended instead.
bool wait_for(pid_t worker)
{
    int status = 0;
    ::waitpid(worker, &status, WUNTRACED);
    return WIFSTOPPED(status);
}

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: fencing_sqlite FILE redis://10.0.0.1 ...\n";
        return 2;
    }
    create(argv[1]);
    const std::vector<std::string> nodes(argv + 2, argv + argc);
    const pid_t first = start_worker("first", argv[1], nodes);
    if (!wait_for(first)) {
        return 1;
    }
    std::cout << "first is stopped" << std::endl;
    wait_for(start_worker("second", argv[1], nodes));
    ::kill(first, SIGCONT);
    wait_for(first);
    std::cout << "orders/42: " << state(argv[1]) << std::endl;
} catch (const std::exception& thrown) {  // a wrong URL, for one
    std::cerr << "fencing_sqlite: " << thrown.what() << '\n';
    return 1;
}
