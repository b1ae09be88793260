#include "examples/fencing.hpp"
#include "examples/program.hpp"
#include "support/masters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <pwd.h>
#include <unistd.h>

using namespace redlock::test;
namespace fs = std::filesystem;

namespace {

/// The folder of the programs of the newest installed server, or empty if there is none.
fs::path programs()
{
    fs::path result;
    int newest = 0;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", none)) {
        const int version = std::atoi(entry.path().filename().c_str());
        if (version > newest && fs::exists(entry.path() / "bin" / "initdb")) {
            newest = version;
            result = entry.path() / "bin";
        }
    }
    return result;
}

/// A server with a unix socket only, in a folder of its own. PostgreSQL refuses to run as root. In
/// that case it runs as the user that its package made.
class postgres {
public:
    explicit postgres(const fs::path& programs) : programs_(programs)
    {
        if (::geteuid() == 0) {
            const passwd* user = ::getpwnam("postgres");
            if (user == nullptr ||
                ::chown(folder_.path().c_str(), user->pw_uid, user->pw_gid) != 0) {
                throw std::runtime_error("no user postgres to run the server");
            }
        }
        const auto made = start("initdb", {"-D", data(), "-U", "somebody", "-A", "trust", "-N",
                                           "--no-locale", "-E", "UTF8"});
        if (made->wait() != 0) {
            throw std::runtime_error("initdb failed: " + log());
        }
        server_ = start("postgres", {"-D", data(), "-k", folder_.path(), "-F", "-c",
                                     "listen_addresses=", "-c", "shared_buffers=4MB"});
        if (!wait_for([&] {
                return log().find("ready to accept connections") != std::string::npos ||
                       !server_->running();
            }) ||
            !server_->running()) {
            throw std::runtime_error("PostgreSQL does not start: " + log());
        }
    }

    /// The address in the form of libpq.
    [[nodiscard]] std::string name() const
    {
        return "host=" + folder_.path().string() + " user=somebody dbname=postgres";
    }

private:
    [[nodiscard]] fs::path data() const { return folder_ / "data"; }

    [[nodiscard]] std::string log() const
    {
        std::ifstream file(folder_ / "log");
        return {std::istreambuf_iterator<char>(file), {}};
    }

    [[nodiscard]] std::unique_ptr<process> start(const std::string& program,
                                                 std::vector<std::string> arguments) const
    {
        const process_options options{folder_ / "log", folder_.path(), {}};
        const fs::path file = programs_ / program;
        if (::geteuid() != 0) {
            return std::make_unique<process>(file, arguments, options);
        }
        // When the user changes, the kernel forgets to kill the child together with the test.
        arguments.insert(arguments.begin(), {"--reuid=postgres", "--regid=postgres",
                                             "--init-groups", "--pdeathsig=KILL", "--", file});
        return std::make_unique<process>("/usr/bin/setpriv", arguments, options);
    }

    fs::path programs_;
    temp_dir folder_;
    std::unique_ptr<process> server_;
};

}  // namespace

TEST_CASE("PostgreSQL refuses the write of a holder that was paused", "[examples]")
{
    const auto installed = programs();
    if (installed.empty()) {
        SKIP("no PostgreSQL server is installed");
    }
    const postgres database(installed);
    const masters nodes(3);
    check_fenced("fencing_postgres", with({database.name()}, nodes.urls()));
}

TEST_CASE("the PostgreSQL example reports errors", "[examples]")
{
    const temp_dir folder;
    program example("fencing_postgres", {"host=" + folder.path().string(), "redis://127.0.0.1:1"});
    CHECK(example.process().wait() != 0);
    CHECK(example.has_said("No such file or directory"));
}
