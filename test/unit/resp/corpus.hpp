#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// Valid streams of RESP. Each has one or several replies, and together they have every type and
/// nesting.
inline std::vector<std::string> good_streams()
{
    using namespace std::string_view_literals;
    const std::string bytes("\r\n\0$3\r\n", 7);
    return {
        "+OK\r\n",
        "$-1\r\n:1\r\n_\r\n:0\r\n+OK\r\n*-1\r\n",
        "+\r\n+PONG\r\n+O\r\n+OKAY\r\n",
        "-NOSCRIPT No matching script. Please use EVAL.\r\n-\r\n",
        ":0\r\n:-1\r\n:12\r\n:9223372036854775807\r\n:-9223372036854775808\r\n",
        "$0\r\n\r\n$3\r\nabc\r\n$12\r\nabcdefghijkl\r\n",
        "$7\r\n" + bytes + "\r\n+after\r\n",
        "*0\r\n*1\r\n*0\r\n*2\r\n$-1\r\n:-2\r\n*3\r\n*-1\r\n*2\r\n:1\r\n*0\r\n+x\r\n",
        "#t\r\n#f\r\n_\r\n",
        ",1.25\r\n,-0.5e-10\r\n,10\r\n,1E5\r\n,inf\r\n,-inf\r\n,nan\r\n",
        "(0\r\n(-3492890328409238509324850943850943825024385\r\n",
        "!22\r\nSYNTAX invalid\r\nsyntax\r\n=8\r\ntxt:\r\n\r\n\r\n=4\r\nmkd:\r\n",
        "%0\r\n%2\r\n+first\r\n:1\r\n$6\r\nsecond\r\n*1\r\n_\r\n~0\r\n~2\r\n+a\r\n%1\r\n+b\r\n~"
        "1\r\n#t\r\n",
        ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nfoo\r\n+OK\r\n>1\r\n+x\r\n",
        "|1\r\n+ttl\r\n:3600\r\n*2\r\n|0\r\n:1\r\n|1\r\n+k\r\n|1\r\n+in\r\n+side\r\n*1\r\n+v\r\n:"
        "2\r\n",
        "|1\r\n+a\r\n*1\r\n+b\r\n|1\r\n+c\r\n+d\r\n+OK\r\n|1\r\n+e\r\n+f\r\n>1\r\n+p\r\n",
        "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:"
        "3\r\n$2\r\nid\r\n"
        ":13\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*"
        "0\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n+deep\r\n+OK\r\n",
    };
}

}  // namespace redlock::test
