#include "engine/tls_files.hpp"
#include "support/certificates.hpp"

#include <redlock/error.hpp>

#include <boost/system/system_error.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

using namespace redlock;
namespace fs = std::filesystem;

namespace {

/// The TLS files of a client, and the lines that it logs about them.
struct kept_files {
    kept_files()
    {
        put(world.ca.certificate, ca);
        put(world.client.certificate, certificate);
        put(world.client.key, key);
        settings.tls.ca_file = ca;
        settings.tls.certificate_file = certificate;
        settings.tls.key_file = key;
    }

    /// Replaces a file like programs that renew certificates: a reader sees the old file or the new
    /// one.
    void put(const fs::path& from, const fs::path& to) const
    {
        const fs::path fresh = folder / "fresh";
        fs::copy_file(from, fresh, fs::copy_options::overwrite_existing);
        fs::rename(fresh, to);
    }

    std::shared_ptr<engine::tls_context> latest(engine::tls_files& files)
    {
        return files.latest([this](log_level level, std::string_view what, std::string_view why) {
            lines.push_back((level == log_level::warning ? "warning: " : "info: ") +
                            std::string(what) + std::string(why));
        });
    }

    test::certificates world;
    test::temp_dir folder;
    fs::path ca = folder / "ca.pem";
    fs::path certificate = folder / "client.pem";
    fs::path key = folder / "client.key";
    base::settings settings;
    std::vector<std::string> lines;
};

}  // namespace

TEST_CASE("a client does not load unchanged TLS files again", "[engine][tls]")
{
    kept_files f;
    engine::tls_files files(f.settings);
    const auto first = f.latest(files);
    REQUIRE(first);
    CHECK(f.latest(files) == first);
    CHECK(f.lines.empty());
}

TEST_CASE("a client loads replaced TLS files once before the next connection", "[engine][tls]")
{
    kept_files f;
    engine::tls_files files(f.settings);
    const auto first = f.latest(files);
    SECTION("the authority")
    {
        f.put(f.world.other_ca.certificate, f.ca);
    }
    SECTION("the client's certificate and key")
    {
        f.put(f.world.untrusted.certificate, f.certificate);
        f.put(f.world.untrusted.key, f.key);
    }
    const auto second = f.latest(files);
    CHECK(second != first);
    CHECK(f.latest(files) == second);
    CHECK(f.lines ==
          std::vector<std::string>{"info: TLS files have changed and were loaded again"});
}

TEST_CASE("a client keeps its TLS files if new ones fail and warns once for each change",
          "[engine][tls]")
{
    kept_files f;
    engine::tls_files files(f.settings);
    const auto first = f.latest(files);
    std::string field;
    SECTION("no authority")
    {
        fs::remove(f.ca);
        field = "tls.ca_file";
    }
    SECTION("half an authority")
    {
        fs::resize_file(f.ca, fs::file_size(f.ca) / 2);
        field = "tls.ca_file";
    }
    SECTION("an empty certificate")
    {
        fs::resize_file(f.certificate, 0);
        field = "tls.certificate_file";
    }
    SECTION("a new certificate with the old key")
    {
        f.put(f.world.untrusted.certificate, f.certificate);
        field = "tls.key_file";
    }
    SECTION("no key")
    {
        fs::remove(f.key);
        field = "tls.key_file";
    }
    SECTION("a pipe without a writer")
    {
        fs::remove(f.key);
        REQUIRE(mkfifo(f.key.c_str(), 0600) == 0);
        field = "tls.key_file";
    }
    for (int connection = 0; connection < 3; ++connection) {
        CHECK(f.latest(files) == first);
    }
    REQUIRE(f.lines.size() == 1);
    CHECK(
        f.lines[0].starts_with("warning: TLS files have changed and can't be loaded; the client "
                               "still uses the ones from before: config::" +
                               field + ": "));
    // Another change that is useless too.
    fs::resize_file(f.certificate, 1);
    CHECK(f.latest(files) == first);
    CHECK(f.latest(files) == first);
    CHECK(f.lines.size() == 2);
    f.put(f.world.ca.certificate, f.ca);
    f.put(f.world.untrusted.certificate, f.certificate);
    f.put(f.world.untrusted.key, f.key);
    CHECK(f.latest(files) != first);
    CHECK(f.lines.size() == 3);
}

TEST_CASE("a client warns each time that a TLS file disappears", "[engine][tls]")
{
    kept_files f;
    engine::tls_files files(f.settings);
    const auto first = f.latest(files);
    const fs::path aside = f.folder / "aside";
    for (std::size_t times = 1; times <= 2; ++times) {
        fs::rename(f.ca, aside);
        CHECK(f.latest(files) == first);
        CHECK(f.lines.size() == times);
        fs::rename(aside, f.ca);
        CHECK(f.latest(files) == first);
        CHECK(f.lines.size() == times);
    }
}

TEST_CASE("a client asks nobody for the passphrase of a key", "[engine][tls]")
{
    constexpr auto why = "it is encrypted, and the client takes no passphrase";
    kept_files f;
    engine::tls_files files(f.settings);
    const auto first = f.latest(files);
    f.put(f.world.encrypted_key, f.key);
    CHECK(f.latest(files) == first);
    REQUIRE(f.lines.size() == 1);
    CHECK(f.lines[0].ends_with(why));
    CHECK_THROWS_WITH(engine::tls_files(f.settings), Catch::Matchers::ContainsSubstring(why));
}

TEST_CASE("unusable TLS files at the start are a configuration error", "[engine][tls]")
{
    kept_files f;
    fs::remove(f.key);
    CHECK_THROWS_AS(engine::tls_files(f.settings), boost::system::system_error);
}
