#include "resp/scripts.hpp"

#include <catch2/catch_test_macros.hpp>

#include <openssl/evp.h>

#include <array>
#include <string>
#include <string_view>

namespace {

namespace resp = redlock::resp;

constexpr std::array all_scripts{
    resp::release_script,       resp::extend_script,      resp::inspect_script,
    resp::count_script,         resp::align_script,       resp::take_script,
    resp::release_all_script,   resp::extend_all_script,  resp::label_script,
    resp::queue_script,         resp::leave_script,       resp::queue_state_script,
    resp::release_batch_script, resp::extend_batch_script};

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

TEST_CASE("each digest belongs to its script", "[resp]")
{
    using namespace redlock::resp;
    CHECK(sha1_hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
    for (const script& s : all_scripts) {
        INFO(s.text);
        CHECK(s.sha1 == sha1_hex(s.text));
    }
}

TEST_CASE("no script has a shebang or touches a key that is neither given nor a ticket's", "[resp]")
{
    using namespace redlock::resp;
    for (const script& s : all_scripts) {
        INFO(s.text);
        CHECK_FALSE(s.text.starts_with("#!"));
        // The name of a ticket's key begins with the given key of the lock.
        const bool is_of_a_ticket = s.text.starts_with(
            "local function key(ticket)\n"
            "    return KEYS[1]..\":\"..ticket..\":redlock:ticket\"\n"
            "end\n");
        for (auto at = s.text.find("call("); at != std::string_view::npos;
             at = s.text.find("call(", at + 1)) {
            const auto rest = s.text.substr(s.text.find('"', at + 6) + 1);
            const bool is_given = rest.starts_with(",KEYS[") ||
                                  rest.starts_with(",unpack(KEYS))") ||
                                  rest.starts_with(",unpack(ours))") || rest.starts_with(")");
            CHECK((is_given || (is_of_a_ticket && rest.starts_with(",key("))));
        }
    }
}

TEST_CASE("scripts that release and extend and inspect run on a node without spare memory",
          "[resp]")
{
    using namespace redlock::resp;
    for (const script& s : {release_script, extend_script, inspect_script}) {
        INFO(s.text);
        CHECK(s.text.find("KEYS[2]") == std::string_view::npos);
        CHECK(s.text.find("\"set\"") == std::string_view::npos);
    }
}
