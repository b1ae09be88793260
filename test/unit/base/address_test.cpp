#include "base/address.hpp"

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

using redlock::base::address;
using redlock::base::address_error;
using redlock::base::parse_address;
using transport = redlock::base::address::transport;

namespace {

struct good_url {
    std::string url;
    transport via;
    /// The host or the path of a unix socket.
    std::string place;
    std::uint16_t port;
    std::string user;
    std::string password;
    std::uint32_t db;
    std::string display;
};

const std::vector<good_url> good_urls = {
    {"redis://localhost", transport::tcp, "localhost", 6379, "", "", 0, "redis://localhost:6379/0"},
    {"redis://10.0.0.1/", transport::tcp, "10.0.0.1", 6379, "", "", 0, "redis://10.0.0.1:6379/0"},
    {"rediss://h:1/2147483647", transport::tls, "h", 1, "", "", 2147483647,
     "rediss://h:1/2147483647"},
    {"REDIS://h_1.x-y:65535", transport::tcp, "h_1.x-y", 65535, "", "", 0,
     "redis://h_1.x-y:65535/0"},
    {"valkey://h:7", transport::tcp, "h", 7, "", "", 0, "redis://h:7/0"},
    {"valkeys://u:p@h", transport::tls, "h", 6379, "u", "p", 0, "rediss://h:6379/0"},
    {"redis://u:p@h:7/1", transport::tcp, "h", 7, "u", "p", 1, "redis://h:7/1"},
    {"redis://:p@h", transport::tcp, "h", 6379, "", "p", 0, "redis://h:6379/0"},
    {"redis://u@h", transport::tcp, "h", 6379, "u", "", 0, "redis://h:6379/0"},
    {"redis://u:@h", transport::tcp, "h", 6379, "u", "", 0, "redis://h:6379/0"},
    {"redis://u:a:b:c@h", transport::tcp, "h", 6379, "u", "a:b:c", 0, "redis://h:6379/0"},
    {"redis://%75%3A:%40%2f%25%00%3f@h", transport::tcp, "h", 6379, "u:", std::string("@/%\0?", 5),
     0, "redis://h:6379/0"},
    {"redis://[::1]", transport::tcp, "::1", 6379, "", "", 0, "redis://[::1]:6379/0"},
    {"redis://u:p@[2001:DB8:0:0::1]:80/3", transport::tcp, "2001:db8::1", 80, "u", "p", 3,
     "redis://[2001:db8::1]:80/3"},
    {"redis://[::ffff:1.2.3.4]:80", transport::tcp, "::ffff:1.2.3.4", 80, "", "", 0,
     "redis://[::ffff:1.2.3.4]:80/0"},
    {"redis://3f2a9c", transport::tcp, "3f2a9c", 6379, "", "", 0, "redis://3f2a9c:6379/0"},
    {"unix:///run/redis.sock", transport::unix_socket, "/run/redis.sock", 0, "", "", 0,
     "unix:///run/redis.sock?db=0"},
    {"unix:///run/redis.sock?db=4", transport::unix_socket, "/run/redis.sock", 0, "", "", 4,
     "unix:///run/redis.sock?db=4"},
    {"unix://u:p%20w@/r@x/%20%3f%e2%82%ac", transport::unix_socket, "/r@x/ ?\xe2\x82\xac", 0, "u",
     "p w", 0, "unix:///r@x/%20%3F%E2%82%AC?db=0"},
    {"unix:///a%0ab", transport::unix_socket, "/a\nb", 0, "", "", 0, "unix:///a%0Ab?db=0"},
    {"unix:///" + std::string(106, 'p'), transport::unix_socket, "/" + std::string(106, 'p'), 0, "",
     "", 0, "unix:///" + std::string(106, 'p') + "?db=0"},
    {"redis://" + std::string(253, 'h'), transport::tcp, std::string(253, 'h'), 6379, "", "", 0,
     "redis://" + std::string(253, 'h') + ":6379/0"},
};

/// URLs that are refused, and the part that the message must name.
const std::vector<std::pair<std::string, std::string>> bad_urls = {
    {"", "scheme"},
    {"localhost", "scheme"},
    {"localhost:6379", "scheme"},
    {"redis:localhost", "scheme"},
    {"redis:/localhost", "scheme"},
    {"://localhost", "scheme"},
    {"http://localhost", "scheme"},
    {"redis+tls://localhost", "scheme"},
    {"redis-sentinel://localhost", "scheme"},
    {"redis://", "host"},
    {"redis:///", "host"},
    {"redis:///0", "host"},
    {"redis://:6379", "host"},
    {"redis://u:p@", "host"},
    {"redis://u:p@:1", "host"},
    {"redis://h%6fst", "host"},
    {"redis://h\xc3\xb6st", "host"},
    {"redis://a..b", "host"},
    {"redis://.a", "host"},
    {"redis://h,i", "has several nodes; give each node a URL of its own"},
    {"redis://h:1;i:2", "several nodes"},
    {"redis://h|i", "several nodes"},
    {"redis://h,redis://i", "several nodes"},
    {"rediss://h rediss://i", "several nodes"},
    {"valkeys://u:p@h,valkeys://u:q@i", "several nodes"},
    {"unix:///s,unix:///t", "several nodes"},
    {"redis://" + std::string(254, 'h'), "host"},
    {"redis://1.2.3", "host"},
    {"redis://127.1", "host"},
    {"redis://256.1.1.1", "host"},
    {"redis://1.2.3.4.5", "host"},
    {"redis://01.2.3.4", "host"},
    {"redis://2130706433", "host"},
    {"redis://0x7f000001", "host"},
    {"redis://1.2.3.0x4", "host"},
    {"redis://::1", "brackets"},
    {"redis://2001:db8::1", "brackets"},
    {"redis://[::1", "host"},
    {"redis://[]", "host"},
    {"redis://[h]", "host"},
    {"redis://[1.2.3.4]", "host"},
    {"redis://[::1::2]", "host"},
    {"redis://[12345::]", "host"},
    {"redis://[fe80::1%25eth0]", "zone"},
    {"redis://[fe80::1%eth0]", "zone"},
    {"redis://[::1]6379", "port"},
    {"redis://h:", "port"},
    {"redis://h:0", "port"},
    {"redis://h:65536", "port"},
    {"redis://h:99999999999999999999", "port"},
    {"redis://h:-1", "port"},
    {"redis://h:+1", "port"},
    {"redis://h:1x", "port"},
    {"redis://h:1:2", "port"},
    {"redis://h:0x10", "port"},
    {"redis://h/x", "database"},
    {"redis://h/-1", "database"},
    {"redis://h/+1", "database"},
    {"redis://h/1/", "database"},
    {"redis://h/1/2", "database"},
    {"redis://h//", "database"},
    {"redis://h/2147483648", "database"},
    {"redis://h/4294967296", "database"},
    {"redis://h/99999999999999999999", "database"},
    {"redis://h?db=1", "a query other than '?durable=1' has no meaning"},
    {"redis://h/1?x", "query"},
    {"redis://h?durable", "query"},
    {"redis://h?durable=0", "query"},
    {"redis://h?durable=1&", "query"},
    {"redis://h?db=1&durable=1", "query"},
    {"redis://h#f", "a fragment has no meaning"},
    {"redis://h/1#", "fragment"},
    {"redis://@h", "user"},
    {"redis://:@h", "user"},
    {"redis://a@b@h", "user or password"},
    {"redis://u:p/w@h", "user or password"},
    {"redis://u:1/2@h", "user or password"},
    {"redis://u:1?2@h", "user or password"},
    {"redis://u:1#2@h", "user or password"},
    {"redis://%zz:p@h", "user"},
    {"redis://%:p@h", "user"},
    {"redis://u:%4@h", "password"},
    {"redis://u:%4g@h", "password"},
    {"redis://u:%@h", "password"},
    {"redis://h ", "has a space; in a user, a password or a path write %20"},
    {" redis://h", "space"},
    {"redis://h\n", "has a control character"},
    {"redis://u:p\r\nq@h", "control"},
    {std::string("redis://h\0x", 11), "control"},
    {"redis://h\x7f", "control"},
    {"redis://u:" + std::string(16 * 1024, 'p') + "@h", "16384"},
    {"unix://", "path"},
    {"unix:///", "path"},
    {"unix://?db=1", "path"},
    {"unix://run/redis.sock", "host"},
    {"unix://u:p@run/redis.sock", "host"},
    {"unix:///a%", "path"},
    {"unix:///a%0", "path"},
    {"unix:///a%00b", "NUL"},
    {"unix:///" + std::string(107, 'p'), "107"},
    {"unix:///s?db=", "database"},
    {"unix:///s?db=x", "database"},
    {"unix:///s?db=1&db=2", "database"},
    {"unix:///s?db=2147483648", "database"},
    {"unix:///s?DB=1", "?db="},
    {"unix:///s?", "?db="},
    {"unix:///s?durable=2", "?durable=1"},
    {"unix:///s?durable=1&db=1", "?db="},
    {"unix:///s?db=&durable=1", "database"},
    {"unix:///s?x=1", "?db="},
    {"unix:///s#f", "?db="},
};

address parsed(std::string_view url)
{
    INFO("url: " << url);
    auto result = parse_address(url);
    REQUIRE(std::holds_alternative<address>(result));
    return std::get<address>(std::move(result));
}

bool is_printable_ascii(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

TEST_CASE("a client reads the parts of a good node URL", "[base][address]")
{
    for (const good_url& want : good_urls) {
        INFO("url: " << want.url);
        const address got = parsed(want.url);
        const bool is_file = want.via == transport::unix_socket;
        CHECK(got.via == want.via);
        CHECK(got.host == (is_file ? std::string{} : want.place));
        CHECK(got.path == (is_file ? want.place : std::string{}));
        CHECK(got.port == want.port);
        CHECK(got.user == want.user);
        CHECK(got.password.view() == want.password);
        CHECK(got.db == want.db);
        CHECK(got.display == want.display);
    }
}

TEST_CASE("a client refuses a bad node URL and names the wrong part", "[base][address]")
{
    for (const auto& [url, part] : bad_urls) {
        INFO("url: " << url);
        const auto result = parse_address(url);
        REQUIRE(std::holds_alternative<address_error>(result));
        const std::string& message = std::get<address_error>(result).message;
        INFO("message: " << message);
        CHECK(message.find(part) != std::string::npos);
    }
}

TEST_CASE("the display of a node is a printable URL of the same node", "[base][address]")
{
    for (const good_url& each : good_urls) {
        const address original = parsed(each.url);
        CHECK(is_printable_ascii(original.display));
        const address again = parsed(original.display);
        CHECK(again == original);
        CHECK(again.via == original.via);
        CHECK(again.display == original.display);
        CHECK(again.user.empty());
        CHECK(again.password.empty());
    }
}

TEST_CASE("no message or display holds a user or password", "[base][address]")
{
    const std::string user = "Zuser";
    const std::string password = "Zsecret";
    // Every way to break a URL around a password, with the usual mistakes in the password.
    const std::vector<std::string> shapes = {
        "redis://U:P@",         "redis://U:P@h:x",   "redis://U:P@h/x", "redis://U:P@h?x",
        "redis://U:P@h i",      "redis://U:P@[h]",   "redis://U:P@h@i", "redis://U:P/@h",
        "redis://U:P?@h",       "redis://U:P#@h",    "redis://U:P%@h",  "redis://U%:P@h",
        "redis://U:P@1.2",      "http://U:P@h",      "U:P@h",           "redis:/U:P@h",
        "redis://U:P",          "redis://[U:P@good", "redis://h:P",     "redis://h/P",
        "redis://h?P",          "unix://U:P@h/s",    "unix://U:P@/",    "unix://U:P@/s?P",
        "unix://U:P@/s?db=P",   "unix://U:P%@/s",    "redis://U:P\n@h", "redis://U:P@good:1/2",
        "unix://U:P@/good?db=1"};
    for (const std::string& shape : shapes) {
        std::string url;
        for (const char c : shape) {
            url += c == 'U' ? user : c == 'P' ? password : std::string{c};
        }
        INFO("url: " << url);
        const auto result = parse_address(url);
        const auto* wrong = std::get_if<address_error>(&result);
        const std::string text = wrong ? wrong->message : std::get<address>(result).display;
        CHECK(text.find("Z") == std::string::npos);
        CHECK((wrong == nullptr) == (shape.find("good") != std::string::npos));
    }
}

TEST_CASE("addresses are equal when they lead to the same server", "[base][address]")
{
    const auto same = [](const char* a, const char* b) { return parsed(a) == parsed(b); };

    CHECK(same("redis://h", "redis://h:6379/0"));
    CHECK(same("redis://Host", "redis://hOST"));
    CHECK(same("redis://u:p@h", "redis://:q@h"));
    CHECK(same("redis://h", "rediss://h"));
    CHECK(same("redis://[::1]", "redis://[0:0:0:0:0:0:0:1]"));
    CHECK(same("redis://[2001:DB8::a]", "redis://[2001:db8:0::A]"));
    CHECK(same("unix:///a", "unix://u:p@/%61?db=0"));
    CHECK(same("redis://h/1", "redis://h/2"));
    CHECK(same("unix:///a", "unix:///a?db=1"));

    CHECK_FALSE(same("redis://h", "redis://i"));
    CHECK_FALSE(same("redis://h", "redis://hh"));
    CHECK_FALSE(same("redis://h:1", "redis://h:2"));
    CHECK_FALSE(same("unix:///a", "unix:///A"));
    CHECK_FALSE(same("unix:///a", "redis://a"));
}

TEST_CASE("the URL parser survives any prefix and any changed byte of a URL", "[base][address]")
{
    // The sanitizers check the reads. The test checks that each display is printable.
    for (const good_url& each : good_urls) {
        for (std::size_t i = 0; i < each.url.size(); ++i) {
            for (int byte = 0; byte<256; byte += each.url.size()> 100 ? 16 : 1) {
                std::string url = each.url;
                url[i] = static_cast<char>(byte);
                const auto result = parse_address(url);
                if (const auto* ok = std::get_if<address>(&result)) {
                    REQUIRE(is_printable_ascii(ok->display));
                    REQUIRE(parse_address(ok->display).index() == 0);
                }
            }
            (void)parse_address(std::string_view{each.url}.substr(0, i));
        }
    }
}

TEST_CASE("a node that is configured as durable is still the same node", "[base][address]")
{
    for (const char* url : {"redis://h?durable=1", "redis://h/3?durable=1", "rediss://h/?durable=1",
                            "unix:///s?durable=1", "unix:///s?db=3&durable=1"}) {
        INFO(url);
        CHECK(parsed(url).durable);
        CHECK(parsed(url).display.find("durable") == std::string::npos);
    }
    CHECK(parsed("redis://h/3?durable=1").db == 3);
    CHECK(parsed("unix:///s?db=3&durable=1").db == 3);
    CHECK_FALSE(parsed("redis://h/3").durable);
    CHECK(parsed("redis://h") == parsed("redis://h?durable=1"));
}
