#pragma once

#include "chaos/clock_dial.hpp"
#include "chaos/clock_page.hpp"

#include "support/proxy.hpp"
#include "support/resp_client.hpp"
#include "support/server.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

namespace redlock::chaos {

/// How the nodes of a run are started.
struct site_options {
    bool remembers = true;         ///< writes through, and loses nothing by SIGKILL
    std::filesystem::path clocks;  ///< the folder with the pages of their clocks
    std::filesystem::path shim;    ///< the preloaded library that reads them
};

/// A node, its clock, and the network in front of it.
struct site {
    site(unsigned number, const site_options& options)
        : clock(options.clocks / ("clock-" + std::to_string(number))),
          server(server_options_of(number, options), test::server::not_started{}),
          network(server.port())
    {}

    clock_dial clock;
    test::server server;
    test::proxy network;
    /// Has sent a DEBUG SLEEP and waits for its end.
    std::unique_ptr<test::resp_client> sleeper;

private:
    static test::server_options server_options_of(unsigned number, const site_options& o)
    {
        test::server_options result;
        result.files = o.remembers ? test::persistence::append_only : test::persistence::none;
        // The server closes connections that the network has cut off.
        result.arguments = {"--timeout", "10"};
        result.environment = {
            "LD_PRELOAD=" + o.shim.native(),
            std::string(clock_page_variable) + "=" +
                (o.clocks / ("clock-" + std::to_string(number))).native(),
        };
        return result;
    }
};

}  // namespace redlock::chaos
