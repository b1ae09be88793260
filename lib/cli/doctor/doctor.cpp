#include "cli/doctor/doctor.hpp"

#include "base/address.hpp"
#include "base/settings.hpp"
#include "cli/doctor/clocks.hpp"
#include "cli/doctor/findings.hpp"
#include "cli/doctor/measures.hpp"
#include "cli/doctor/node.hpp"
#include "cli/doctor/print.hpp"
#include "cli/lasting_context.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace redlock::cli {

namespace asio = boost::asio;

namespace {

/// The settings that a client would use. A client refuses a list that repeats a node. The doctor
/// accepts such a list, and moves the repeated nodes to its end.
base::settings settings_of(const config& c)
{
    config once = c;
    once.nodes.clear();
    std::vector<base::address> known;
    std::vector<base::address> repeated;
    for (const std::string& url : c.nodes) {
        auto parsed = base::parse_address(url);
        if (!std::holds_alternative<base::address>(parsed)) {
            return base::make_settings(c);  // throws, because the URL is invalid
        }
        auto& node = std::get<base::address>(parsed);
        const bool is_new = std::find(known.begin(), known.end(), node) == known.end();
        if (is_new) {
            once.nodes.push_back(url);
        }
        (is_new ? known : repeated).push_back(std::move(node));
    }
    base::settings s = base::make_settings(once);
    std::move(repeated.begin(), repeated.end(), std::back_inserter(s.nodes));
    s.quorum = base::majority_of(s.nodes.size());
    return s;
}

void check_resource(const base::settings& s, const std::optional<std::string>& resource)
{
    const char* const why = resource ? base::fault_of_resource(s, *resource) : nullptr;
    if (why != nullptr) {
        throw std::invalid_argument(std::string("--resource: ") + why);
    }
}

/// Examines all nodes at the same time. Returns after the last examination. A name lookup whose
/// result isn't needed any more may still run then, so the context outlives this function.
std::vector<node_facts> examine_all(const base::settings& s, const doctor_options& o)
{
    lasting_context lasting;
    asio::io_context& context = lasting.get();
    const our_date date;
    std::vector<node_facts> nodes(s.nodes.size());
    std::size_t done = 0;
    std::exception_ptr failed;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        asio::co_spawn(context, examine(context.get_executor(), s, i, date, o),
                       [&, i](const std::exception_ptr& error, node_facts facts) {
                           failed = failed ? failed : error;
                           nodes[i] = std::move(facts);
                           ++done;
                       });
    }
    lasting.run_until([&] { return done == nodes.size(); });
    if (failed) {
        std::rethrow_exception(failed);
    }
    return nodes;
}

}  // namespace

int doctor(const doctor_options& options, std::ostream& out)
{
    const base::settings settings = settings_of(options.config);
    check_resource(settings, options.resource);
    const auto nodes = examine_all(settings, options);
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
