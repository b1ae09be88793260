// Shows what a fencing token is good for, as fencing_sqlite.cpp does, with PostgreSQL. A worker is
// paused right after it has checked its lock, and writes too late. By then the row has seen a
// greater token, and refuses the write. Workers are processes of this program; the pause is a
// SIGSTOP.
//
// Run it with a database and the nodes:
//
//     fencing_postgres "host=db dbname=shop" redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock/redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <libpq-fe.h>

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

using result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

// Executes one statement on a connection of its own.
result execute(const char* database, const char* text, const std::vector<std::string>& values = {})
{
    const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(database), PQfinish);
    if (PQstatus(connection.get()) != CONNECTION_OK) {
        throw std::runtime_error(PQerrorMessage(connection.get()));
    }
    std::vector<const char*> parameters;
    for (const auto& value : values) {
        parameters.push_back(value.c_str());
    }
    result r(PQexecParams(connection.get(), text, static_cast<int>(values.size()), nullptr,
                          parameters.data(), nullptr, nullptr, 0),
             PQclear);
    const auto status = PQresultStatus(r.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        throw std::runtime_error(PQerrorMessage(connection.get()));
    }
    return r;
}

void create(const char* database)
{
    execute(database,
            "CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, state text, fence bigint)");
    execute(database,
            "INSERT INTO orders VALUES (42, 'new', 0) ON CONFLICT (id) DO UPDATE SET "
            "state = 'new', fence = 0");
}

std::string state(const char* database)
{
    return PQgetvalue(execute(database, "SELECT state FROM orders WHERE id = 42").get(), 0, 0);
}

// Compares and writes in one step. Returns false if no row was changed.
bool write(const char* database, const std::string& state, std::uint64_t token)
{
    const auto updated =
        execute(database, "UPDATE orders SET state = $1, fence = $2 WHERE id = 42 AND fence <= $2",
                {state, std::to_string(token)});
    return PQcmdTuples(updated.get()) == std::string("1");
}

asio::awaitable<void> work(redlock::client& locks, const std::string& name, const char* database)
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
        const bool written = write(database, "written by " + name, token);
        std::cout << name << (written ? ": written" : ": refused, a later holder was there")
                  << std::endl;
    }
    lock = {};  // releases it; the close waits for that
    co_await locks.async_close();
}

// Starts a worker in a process of its own. The worker creates its client after the fork.
pid_t start_worker(const char* name, const char* database, const std::vector<std::string>& nodes)
{
    const pid_t pid = ::fork();
    if (pid != 0) {
        return pid;
    }
    try {
        asio::io_context context;
        redlock::client locks(context, {.nodes = nodes});
        locks.async_run(asio::detached);
        asio::co_spawn(context, work(locks, name, database), [](std::exception_ptr thrown) {
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
        std::cerr << "usage: fencing_postgres DATABASE redis://10.0.0.1 ...\n";
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
    std::cerr << "fencing_postgres: " << thrown.what() << '\n';
    return 1;
}
