#include "cli/command_line.hpp"

#include "cli/arguments.hpp"
#include "cli/complaints.hpp"
#include "cli/config_file.hpp"
#include "cli/doctor/doctor.hpp"
#include "cli/exit_status.hpp"
#include "cli/help.hpp"
#include "cli/printing.hpp"
#include "cli/validators.hpp"

#include <redlock/version.hpp>

#include <boost/system/system_error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace redlock::cli {
namespace {

/// The argument in front of the command that `run` starts, and of that command's arguments.
constexpr const char* separator = "--";

/// Writes `--option=` as two arguments; the second one is empty. CLI11 would take the next
/// argument, such as a resource, for the value.
std::vector<std::string> with_empty_values(const CLI::App& app, const CLI::App* command,
                                           const std::vector<std::string>& arguments)
{
    const auto takes_value = [&](const std::string& option) {
        for (const CLI::App* const one : {command, &app}) {
            const CLI::Option* const found =
                one == nullptr ? nullptr : one->get_option_no_throw(option);
            if (found != nullptr) {
                return found->get_items_expected_max() > 0;
            }
        }
        return false;
    };
    std::vector<std::string> out;
    const auto options_end = std::find(arguments.begin(), arguments.end(), separator);
    for (auto at = arguments.begin(); at != options_end; ++at) {
        const std::string option = at->substr(0, at->find('='));
        if (*at == option + '=' && option.starts_with("--") && takes_value(option)) {
            out.insert(out.end(), {option, ""});
        } else {
            out.push_back(*at);
        }
    }
    out.insert(out.end(), options_end, arguments.end());
    return out;
}

}  // namespace

command_line::command_line()
    : app_(std::make_unique<CLI::App>()),
      file_(std::make_shared<config_file>())
{
    CLI::App& app = *app_;
    app.name("redlock");
    app.description("Locks on a majority of independent Redis or Valkey nodes");
    app.formatter(std::make_shared<help_formatter>());
    app.set_version_flag("--version", std::string(redlock::version()));
    app.require_subcommand(1);
    app.set_config("--config", "",
                   "TOML file with options: those of all commands come first or below "
                   "[default], those of one command below [its name] [REDLOCK_CONFIG, "
                   "~/.config/redlock.toml, /etc/redlock.toml]")
        ->type_name("FILE");
    app.config_formatter(file_);
    app.allow_config_extras(CLI::config_extras_mode::error);
    add_masters(app, masters_);
    add_run();
    add_acquire();
    add_extend();
    add_release();
    add_inspect();
    add_doctor();
    add_admit();
    add_load("bench", "Measures cycles of acquire and release, on nodes of its own or on others",
             add_bench);
    add_load("demo", "Shows that locks go on while nodes die and come back", add_demo);
    app.footer(std::string(exit_status_text()));
}

command_line::~command_line() = default;

int command_line::operator()(const std::vector<std::string>& arguments)
{
    const int status = parse_and_act(arguments);
    if (std::cout.flush() || status != success) {
        return status;
    }
    pollfd output{STDOUT_FILENO, 0, 0};
    const bool is_closed = poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
    // A reader that has closed the output wants no more.
    return is_closed ? internal : fail("the output could not be written", internal, masters_.json);
}

int command_line::parse_and_act(const std::vector<std::string>& arguments)
{
    auto own = arguments;
    // The first word that names a command is the command. A later "run" may be a resource.
    const auto name = std::find_if(own.begin(), own.end(), [this](const std::string& word) {
        return std::any_of(actions_.begin(), actions_.end(),
                           [&](const auto& one) { return one.first->get_name() == word; });
    });
    if (name != own.end() && *name == "run") {
        const auto split = std::find(name, own.end(), separator);
        if (split != own.end()) {
            run_.command.assign(std::next(split), own.end());
            own.erase(split, own.end());
        }
    }
    if (is_given(own, "--wait") && is_given(own, "--no-wait")) {
        return fail("--wait and --no-wait contradict each other", usage, is_given(own, "--json"));
    }
    const CLI::App* const sub = name == own.end() ? nullptr : app_->get_subcommand(*name);
    // Without this check an unset variable in --config "$FILE" would leave out all files.
    if (is_given_empty(own, "--config")) {
        return fail("--config: an empty text names no file", usage, is_given(own, "--json"));
    }
    // The output of the other commands must not depend on the environment or a file.
    if (sub != nullptr && sub->get_fallthrough()) {
        const std::string usual = usual_file();
        app_->get_option("--config")->default_str(usual);
        own = with_environment(own);
        // CLI11 would pass over a default file that can't be read.
        if (!usual.empty() && !is_given(own, "--config")) {
            own.insert(own.begin(), "--config=" + usual);
        }
    }
    own = with_empty_values(*app_, sub, own);
    masters_.are_arguments = is_given(arguments, "--node");
    // Read before the parse, because the parse may fail before CLI11 reads this option.
    const bool json = is_given(own, "--json");
    const auto given = own;
    const complaints wrong(*app_, *file_, given);
    try {
        std::reverse(own.begin(), own.end());  // the order that CLI11 expects
        app_->parse(own);
        return act();
    } catch (const CLI::Success& e) {
        return app_->exit(e);
    } catch (const CLI::ParseError& e) {
        const bool is_json = json || masters_.json;  // read before `about` parses options again
        return fail(wrong.about(e), usage, is_json);
    } catch (const std::invalid_argument& e) {
        return fail(wrong.about(e), usage, masters_.json);
    } catch (const boost::system::system_error& e) {
        return fail(wrong.about(e), exit_status_of(e.code()), masters_.json);
    } catch (const std::exception& e) {
        return fail(e.what(), internal, masters_.json);
    }
}

int command_line::act()
{
    for (const auto& [sub, action] : actions_) {
        if (sub->parsed()) {
            return action();
        }
    }
    return usage;
}

CLI::App* command_line::add(const std::string& name, const std::string& description,
                            std::function<int()> action)
{
    CLI::App* const sub = app_->add_subcommand(name, description);
    actions_.emplace_back(sub, std::move(action));
    return sub;
}

CLI::App* command_line::add_of_masters(const std::string& name, const std::string& description,
                                       std::function<int()> action)
{
    CLI::App* const sub = add(name, description, std::move(action));
    sub->fallthrough();
    return sub;
}

void command_line::add_load(const std::string& name, const std::string& description,
                            std::function<int()> (*add_options)(CLI::App&, const masters_options&))
{
    CLI::App* const sub = app_->add_subcommand(name, description);
    actions_.emplace_back(sub, add_options(*sub, masters_));
}

void command_line::add_taking(CLI::App& sub, taking_options& o)
{
    sub.add_option("RESOURCE", o.resources, "Resource to lock; of several all or none")
        ->required()
        ->type_name("");
    add_duration(sub, "--ttl", o.ttl, "Time to live of the lock if the client does not extend it");
    add_duration(sub, "--wait", o.wait, "Maximum wait for the lock [no limit]");
    add_duration(sub, "--max-outage", o.max_outage,
                 "Maximum time without a majority of the nodes, including the time to connect; it "
                 "does not shorten the wait for a holder [until --wait ends; a wrong password or "
                 "database ends it at once]");
    // A file can't contain it: it uses `wait = 0s`, which a --wait in the arguments overrides.
    sub.add_flag("--no-wait", o.no_wait, "Does not wait if another client has the lock")
        ->configurable(false);
    sub.add_option(
           "--label", o.label,
           "Name of the holder, for clients that inspect the lock or wait for it; '' for none "
           "[the command, its process and host]")
        ->type_name("TEXT");
    sub.add_flag("--fencing,!--no-fencing", o.fencing,
                 "Whether the lock gets a fencing token [yes]");
}

void command_line::add_held(CLI::App& sub, held_options& o)
{
    sub.add_option("RESOURCE", o.resources,
                   "Resource that is locked; name all resources of the lock")
        ->required()
        ->type_name("");
    add_file(sub, "--token-file", o.token_file,
             "File with the output of acquire, with or without --json, - for stdin "
             "[REDLOCK_OWNER_TOKEN has the owner token]");
}

void command_line::add_run()
{
    CLI::App& sub =
        *add_of_masters("run", "Runs a command under a lock that redlock keeps alive", [this] {
            if (run_.command.empty()) {
                throw std::invalid_argument(
                    "run: no command; write it after --, as in: redlock run RESOURCE -- COMMAND");
            }
            return run(masters_, run_);
        });
    add_taking(sub, run_);
    add_duration(sub, "--grace", run_.grace, "Time from the SIGTERM after a loss to the SIGKILL");
    add_duration(sub, "--max-hold", run_.max_hold,
                 "Maximum time to keep the lock; redlock shortens a longer --ttl to this [as long "
                 "as the command runs]");
    add_duration(sub, "--min-hold", run_.min_hold,
                 "Minimum time to hold the lock, from the start of the attempt that won it, also "
                 "if the command ends sooner. For a job that several machines start at the same "
                 "time: longer than the difference of their clocks");
    sub.add_flag("--nested", run_.nested,
                 "Inside a run under the same lock: runs the command under the lock of that run. "
                 "The options about the acquire (--ttl, --wait, --max-hold, --min-hold, --label "
                 "and others) then have no effect; --fencing needs an outer run with --fencing");
    sub.footer(
        "The command gets REDLOCK_RESOURCE, REDLOCK_FENCING_TOKEN and REDLOCK_VALID_UNTIL. The\n"
        "last is the date at which the lock ends without a further renewal, in seconds, as date\n"
        "+%s prints it. redlock passes signals on to the command and its descendants. Processes\n"
        "that the command leaves running go on without the lock: redlock neither waits for them\n"
        "nor ends them.");
}

void command_line::add_acquire()
{
    CLI::App& sub = *add_of_masters(
        "acquire", "Acquires a lock, and leaves it to any process that has its owner token",
        [this] { return acquire(masters_, acquire_); });
    add_taking(sub, acquire_);
    sub.add_flag("-q,--quiet", acquire_.quiet, "Prints only the owner token");
    sub.footer(
        "Any process that has the owner token can extend and release the lock: keep it secret.\n"
        "    REDLOCK_OWNER_TOKEN=$(redlock acquire --quiet nightly) && export REDLOCK_OWNER_TOKEN\n"
        "    redlock extend nightly --ttl 1m && redlock release nightly");
}

void command_line::add_extend()
{
    CLI::App& sub = *add_of_masters("extend", "Extends a lock that acquire got",
                                    [this] { return extend(masters_, extend_); });
    add_held(sub, extend_);
    add_duration(sub, "--ttl", extend_.ttl, "Minimum time to live of the lock from now on");
    sub.footer(
        "Prints how long the lock is held at least, and until when, in UTC (valid_for_ms,\n"
        "valid_until). An extend never shortens a lock: its validity may already be longer.\n"
        "Status 76: the lock is not held with this owner token. It has ended, or the token\n"
        "belongs to another lock. An extend brings no lock back: acquire it again. Name all\n"
        "resources of the lock: redlock does not extend the others.");
}

void command_line::add_release()
{
    CLI::App& sub = *add_of_masters("release", "Releases a lock that acquire got",
                                    [this] { return release(masters_, release_); });
    add_held(sub, release_);
    sub.footer(
        "Prints nothing if the lock is released. Status 76: the lock is not held with this owner\n"
        "token. Either it had ended before, so another client may have worked at the same time.\n"
        "Or the token belongs to another lock. A lock that is not released ends with its ttl.\n"
        "Name all resources of the lock: the others stay locked. There is no --force:\n"
        "docs/operate/stuck_lock.md of the source says how to free a lock whose holder is gone.");
}

void command_line::add_inspect()
{
    CLI::App& sub =
        *add_of_masters("inspect", "Shows whether a lock is held, and what each node has of it",
                        [this] { return inspect(masters_, inspect_); });
    sub.add_option("RESOURCE", inspect_.resource, "Which lock")->required()->type_name("");
    sub.add_flag("--watch", inspect_.watch, "Repeats the inspection until a signal ends it")
        ->check(CLI::Validator(
            [](const std::string& given) {
                const bool fits = given == "true" || given == "false";
                return fits ? std::string() : '\'' + given + "' is neither true nor false";
            },
            "", ""));
    add_duration(sub, "--interval", inspect_.interval,
                 "With --watch: time between two inspections, 100ms at least",
                 {.least = std::chrono::milliseconds(100)});
    sub.footer(
        "The command only reads. Another client may acquire a free lock before you read the\n"
        "output. If nodes have keys of several owners, the output calls them group A, group B and\n"
        "so on. Each inspection assigns the letters again; no output has an owner token. If\n"
        "clients wait in the queue for the lock, a line says how many, and how long the first has\n"
        "waited. With --watch each inspection has its date, in UTC; with --json it is one value a\n"
        "line.");
}

void command_line::add_doctor()
{
    CLI::App& sub = *add_of_masters(
        "doctor", "Asks every node, and says in plain words what is wrong with it", [this] {
            return doctor({config_of(masters_), masters_.json, watch_.length, doctor_resource_},
                          std::cout);
        });
    // The doctor stores each of its samples, a hundred per second.
    add_duration(sub, "--watch", watch_, "Time to measure clocks and answers, 1h at most",
                 {.most = std::chrono::hours(1)});
    sub.add_option("--resource", doctor_resource_,
                   "One of your resources: the doctor looks at its keys, and tries keys that begin "
                   "with its name [keys of the doctor's own]")
        ->type_name("RESOURCE");
    sub.footer(
        "Each finding has a code in --json; docs/errors.md of the source explains the codes. The\n"
        "precision of clock rates depends on the answer times and on --watch: 10s measures rates\n"
        "ten times as exactly as 1s. On each node the doctor tries what a client needs, with keys\n"
        "of its own that begin with redlock:doctor:, and deletes them again. With --resource the\n"
        "keys begin with that name and redlock:doctor:. The doctor touches no lock.");
}

void command_line::add_admit()
{
    CLI::App& sub = *add_of_masters("admit", "Admits new nodes at once under the restart guard",
                                    [this] { return admit(masters_); });
    sub.footer(
        "Run admit once for a new set of nodes, with the --max-ttl of all clients. Otherwise\n"
        "these nodes vote only after that time. A node that lost its keys looks like a new node:\n"
        "never admit such a node while a client may hold a lock.");
}

}  // namespace redlock::cli
