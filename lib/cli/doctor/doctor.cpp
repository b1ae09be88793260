#include "cli/doctor/doctor.hpp"

#include "base/settings.hpp"
#include "cli/doctor/clocks.hpp"
#include "cli/doctor/findings.hpp"
#include "cli/doctor/measures.hpp"
#include "cli/doctor/node.hpp"
#include "cli/doctor/print.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <ostream>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

/// All at the same time. Returns when the last is done, whatever the context has left to do: a name
/// may be looked up yet that nobody waits for any more.
std::vector<node_facts> examine_all(asio::io_context& context, const base::settings& s,
                                    std::chrono::milliseconds watch)
{
    const our_date date;
    std::vector<node_facts> nodes(s.nodes.size());
    std::size_t done = 0;
    std::exception_ptr failed;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        asio::co_spawn(context, examine(context.get_executor(), s, i, date, watch),
                       [&, i](const std::exception_ptr& error, node_facts facts) {
                           failed = failed ? failed : error;
                           nodes[i] = std::move(facts);
                           ++done;
                       });
    }
    while (done != nodes.size() && context.run_one() != 0) {
    }
    if (failed) {
        std::rethrow_exception(failed);
    }
    return nodes;
}

}  // namespace

int doctor(const doctor_options& options, std::ostream& out)
{
    const base::settings settings = base::make_settings(options.config);
    asio::io_context context(1);
    const auto nodes = examine_all(context, settings, options.watch);
    const auto findings = judge(nodes, settings);
    const auto clocks = compare_clocks(nodes, settings);
    const verdict v = conclude(nodes, findings, settings);
    if (options.json) {
        print_json(out, nodes, clocks, findings, v);
    } else {
        print_text(out, nodes, clocks, findings, v);
    }
    out.flush();
    return v.exit_status;
}

}  // namespace redlock::cli
