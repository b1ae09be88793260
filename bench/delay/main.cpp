// A node that is far away: its bytes travel for a given time. Prints the port it listens on, and
// ends with its input.

#include "support/proxy.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>

int main(int argc, char** argv)
{
    CLI::App app("redlock-delay: a proxy that makes a node slow");
    std::uint16_t port = 0;
    std::int64_t delay_ms = 0;
    app.add_option("--port", port, "Port of the node, on 127.0.0.1")->required();
    app.add_option("--delay", delay_ms, "Milliseconds that its replies travel")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    CLI11_PARSE(app, argc, argv);
    redlock::test::proxy far(port);
    far.delay(redlock::test::direction::down, std::chrono::milliseconds(delay_ms));
    std::cout << far.url() << std::endl;
    std::cin.ignore(std::numeric_limits<std::streamsize>::max());
    return 0;
}
