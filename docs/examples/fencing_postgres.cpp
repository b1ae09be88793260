// Shows what a fencing token is good for, as fencing_sqlite.cpp does, with PostgreSQL. A worker is
// paused right after it has checked its lock, and writes too late. By then the row has seen a
// greater token, and refuses the write. The first worker is a child process; its pause is a
// SIGSTOP.
//
// Run it with a database and the nodes:
//
//     fencing_postgres "host=db dbname=shop" redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include "fencing_workers.hpp"

#include <libpq-fe.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

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

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: fencing_postgres DATABASE redis://10.0.0.1 ...\n";
        return 2;
    }
    const char* const database = argv[1];
    create(database);
    const bool well =
        run_both({argv + 2, argv + argc}, [database](const std::string& text, std::uint64_t token) {
            return write(database, text, token);
        });
    std::cout << "orders/42: " << state(database) << std::endl;
    return well ? 0 : 1;
} catch (const std::exception& thrown) {  // a database that cannot be opened, for one
    std::cerr << "fencing_postgres: " << thrown.what() << '\n';
    return 1;
}
