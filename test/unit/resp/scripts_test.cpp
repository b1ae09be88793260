#include "resp/scripts.hpp"

#include <catch2/catch_test_macros.hpp>

#include <openssl/evp.h>

#include <array>
#include <string>
#include <string_view>

namespace {

std::string sha1_hex(std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    REQUIRE(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
        hex += "0123456789abcdef"[digest[i] >> 4U];
        hex += "0123456789abcdef"[digest[i] & 15U];
    }
    return hex;
}

}  // namespace

TEST_CASE("the digests are those of the scripts", "[resp]")
{
    using namespace redlock::resp;
    CHECK(sha1_hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
    for (const script& s : {release_script, extend_script, inspect_script}) {
        INFO(s.text);
        CHECK(s.sha1 == sha1_hex(s.text));
    }
}

TEST_CASE("the scripts run on a node without memory to spare", "[resp]")
{
    using namespace redlock::resp;
    for (const script& s : {release_script, extend_script, inspect_script}) {
        INFO(s.text);
        CHECK_FALSE(s.text.starts_with("#!"));
        CHECK(s.text.find("KEYS[2]") == std::string_view::npos);
        CHECK(s.text.find("\"set\"") == std::string_view::npos);
    }
}
