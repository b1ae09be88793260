#include "cli/secret_file.hpp"

#include "support/temp_dir.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <sys/stat.h>

using namespace redlock::test;
using namespace std::chrono_literals;

TEST_CASE("a client does not wait forever for a password file that no program writes to",
          "[unit][secret]")
{
    const temp_dir folder;
    const std::string pipe = folder / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH(
        redlock::cli::secret_in(pipe, "--password-file", redlock::cli::readable::any, 0s),
        "--password-file: " + pipe + ": no line was written to it within 0 s");
    std::thread writer([&] { std::ofstream(pipe) << "open sesame\nmore"; });
    CHECK(redlock::cli::secret_in(pipe, "--password-file", redlock::cli::readable::any) ==
          "open sesame");
    writer.join();
}

TEST_CASE("a message names a password file without a password and says what is wrong with it",
          "[unit][secret]")
{
    const temp_dir folder;
    const std::string file = folder / "password";
    const auto secret_of = [](const std::string& path) {
        return redlock::cli::secret_in(path, "--password-file", redlock::cli::readable::any);
    };
    const auto why = [&](std::string_view content) {
        std::ofstream(file) << content;
        try {
            return "it has " + secret_of(file);
        } catch (const std::invalid_argument& e) {
            return std::string(e.what());
        }
    };
    const std::string front = "--password-file: " + file + ": ";
    CHECK(why("") == front + "its first line is empty, and must be the secret");
    CHECK(why("\xef\xbb\xbf\r\nhidden\n") ==
          front + "its first line is empty, and must be the secret");
    CHECK_THAT(why(std::string(1'000'000, 'x')),
               Catch::Matchers::StartsWith(front + "its first line is longer than "));
    CHECK(why("last without a line end") == "it has last without a line end");
    CHECK(why("\xef\xbb\xbf"
              "1st\r\nnot this\n") == "it has 1st");
    CHECK(why(std::string_view("\xff\xfeh\0i\0\n\0", 8)) ==
          front + "it is UTF-16 text; save it as UTF-8");
    CHECK_THROWS_WITH(secret_of(folder / "."),
                      "--password-file: " + (folder / ".").string() + ": Is a directory");
    CHECK_THROWS_WITH(secret_of("/no/such"),
                      "--password-file: /no/such: No such file or directory");
}
