#include "cli/command_line.hpp"

#include "cli/arguments.hpp"
#include "cli/complaints.hpp"
#include "cli/completion.hpp"
#include "cli/config_file.hpp"
#include "cli/doctor/doctor.hpp"
#include "cli/exit_status.hpp"
#include "cli/help.hpp"
#include "cli/manual.hpp"
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

namespace redlock::cli {
namespace {

/// The arguments of a command that is run come behind this one.
constexpr const char* separator = "--";

}  // namespace

command_line::command_line(const std::vector<further_command>& further)
    : app_(std::make_unique<CLI::App>()),
      file_(std::make_shared<config_file>())
{
    CLI::App& app = *app_;
    app.name("redlock");
    app.description("Locks held by a majority of independent Redis or Valkey masters");
    app.formatter(std::make_shared<help_formatter>());
    app.set_version_flag("--version", std::string(redlock::version()));
    app.require_subcommand(1);
    app.set_config("--config", "",
                   "A TOML or INI file with options, those of all commands in front or below "
                   "[default], those of one below [its name] [REDLOCK_CONFIG, "
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
    for (const auto& one : further) {
        CLI::App* const sub = app.add_subcommand(one.name, one.description);
        actions_.emplace_back(sub, one.add(*sub, masters_));
    }
    add_completion();
    add_manual();
    app.footer(std::string(exit_status_text()));
}

command_line::~command_line() = default;

int command_line::operator()(const std::vector<std::string>& arguments)
{
    auto own = arguments;
    // The first word that is a command is the one: "run" may be a resource of another, too.
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
    // The others say the same wherever they are called.
    if (name != own.end() && app_->get_subcommand(*name)->get_fallthrough()) {
        app_->get_option("--config")->default_str(usual_file());
        own = with_environment(own);
    }
    masters_.are_arguments = is_given(arguments, "--node");
    // What is wrong with the arguments may be found before this one is read.
    const bool json = is_given(own, "--json");
    const auto given = own;
    const complaints wrong(*app_, *file_, given);
    try {
        std::reverse(own.begin(), own.end());  // as CLI11 takes them
        app_->parse(own);
        return act();
    } catch (const CLI::Success& e) {
        return app_->exit(e);
    } catch (const CLI::ParseError& e) {
        const bool is_json = json || masters_.json;  // before options are tried once more
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

void command_line::add_taking(CLI::App& sub, taking_options& o)
{
    sub.add_option("RESOURCE", o.resources, "What to lock; of several all or none")
        ->required()
        ->type_name("");
    add_duration(sub, "--ttl", o.ttl, "How long the lock lives if nobody extends it");
    add_duration(sub, "--wait", o.wait, "How long to wait for it at most [as long as it takes]");
    add_duration(sub, "--max-outage", o.max_outage,
                 "How long it tries on without a majority of the masters, connecting included; the "
                 "wait for a holder is not shortened [until --wait ends; a wrong password or "
                 "database ends it at once]");
    // In a file it is a wait of 0s: so whoever says how long is not in its way.
    sub.add_flag("--no-wait", o.no_wait, "Does not wait where somebody else has it")
        ->configurable(false);
    sub.add_option("--label", o.label,
                   "Names the holder for those who inspect the lock or wait for it; '' for none "
                   "[the command, its process and host]")
        ->type_name("TEXT");
    sub.add_flag("--fencing,!--no-fencing", o.fencing, "Whether it gets a fencing token [yes]");
}

void command_line::add_held(CLI::App& sub, held_options& o)
{
    sub.add_option("RESOURCE", o.resources,
                   "What is locked; all resources of the lock have to be named")
        ->required()
        ->type_name("");
    add_file(sub, "--token-file", o.token_file,
             "A file with what acquire printed, with or without --json, - for stdin "
             "[REDLOCK_OWNER_TOKEN holds the owner token]");
}

void command_line::add_run()
{
    CLI::App& sub =
        *add_of_masters("run", "Runs a command under a lock that is kept alive", [this] {
            if (run_.command.empty()) {
                throw std::invalid_argument(
                    "run: no command; it stands behind --, as in: redlock run RESOURCE -- COMMAND");
            }
            return run(masters_, run_);
        });
    add_taking(sub, run_);
    add_duration(sub, "--grace", run_.grace,
                 "From the SIGTERM that tells the command of a loss to the SIGKILL");
    add_duration(
        sub, "--max-hold", run_.max_hold,
        "How long the lock is kept at most; a longer --ttl is shortened to this [as long as "
        "the command runs]");
    add_duration(
        sub, "--min-hold", run_.min_hold,
        "How long the lock is held at least, from the start of the attempt that won it, also if "
        "the command ends sooner. For a job that several machines start at the same time: longer "
        "than "
        "their clocks differ");
    sub.add_flag(
        "--nested", run_.nested,
        "Inside of a run under the same lock: runs the command under that one. The options "
        "of taking (--ttl, --wait, --max-hold, --min-hold, --label and so on) then have "
        "no effect; --fencing needs an outer run with --fencing");
    sub.footer(
        "The command finds REDLOCK_RESOURCE, REDLOCK_FENCING_TOKEN and REDLOCK_VALID_UNTIL (the\n"
        "date until when the lock is held if it could not be kept alive, in seconds, as date +%s\n"
        "has it). Signals are passed on to it and to what it began. What it leaves running is not\n"
        "waited for and not ended, and runs on without the lock.");
}

void command_line::add_acquire()
{
    CLI::App& sub =
        *add_of_masters("acquire", "Takes a lock and leaves it to who knows its owner token",
                        [this] { return acquire(masters_, acquire_); });
    add_taking(sub, acquire_);
    sub.add_flag("-q,--quiet", acquire_.quiet, "Prints nothing but the owner token");
    sub.footer(
        "Whoever knows the owner token can extend and release the lock: keep it secret.\n"
        "    REDLOCK_OWNER_TOKEN=$(redlock acquire --quiet nightly) && export REDLOCK_OWNER_TOKEN\n"
        "    redlock extend nightly --ttl 1m && redlock release nightly");
}

void command_line::add_extend()
{
    CLI::App& sub = *add_of_masters("extend", "Lets a lock live longer that acquire took",
                                    [this] { return extend(masters_, extend_); });
    add_held(sub, extend_);
    add_duration(sub, "--ttl", extend_.ttl, "How long it lives from now on at least");
    sub.footer(
        "Prints for how long the lock is held at least, and until when, in UTC (valid_for_ms,\n"
        "valid_until). An extend never shortens it: what it had before may be longer. 76 says\n"
        "that it is not held with this owner token: it has ended, or the token is of another\n"
        "lock. An extend brings no lock back: take it again. Name all resources of the lock:\n"
        "those that are not named are not extended.");
}

void command_line::add_release()
{
    CLI::App& sub = *add_of_masters("release", "Gives a lock back that acquire took",
                                    [this] { return release(masters_, release_); });
    add_held(sub, release_);
    sub.footer(
        "Prints nothing where it is given back. 76 says that it is not held with this owner\n"
        "token: it had ended before, so that what was done under it may not have been done alone,\n"
        "or the token is of another lock. What is not given back ends with its ttl. Name all\n"
        "resources of the lock: those that are not named stay locked.");
}

void command_line::add_inspect()
{
    CLI::App& sub =
        *add_of_masters("inspect", "Says whether a lock is held, and what each master has of it",
                        [this] { return inspect(masters_, inspect_); });
    sub.add_option("RESOURCE", inspect_.resource, "Which lock")->required()->type_name("");
    sub.add_flag("--watch", inspect_.watch, "Goes on until it is told to end")
        ->disable_flag_override();
    add_duration(sub, "--interval", inspect_.interval,
                 "With --watch: from one look to the next, 100ms at least",
                 {.least = std::chrono::milliseconds(100)});
    sub.footer(
        "It only reads. Whether a lock is free may have changed by the time that this is printed:\n"
        "who wants it takes it. Where masters have keys of several owners, those of one are\n"
        "party A, those of the next B and so on, in each look anew; no owner token is shown. With\n"
        "--watch each look comes with its date, in UTC; with --json too it is one value in a\n"
        "line.");
}

void command_line::add_doctor()
{
    CLI::App& sub = *add_of_masters(
        "doctor", "Asks every master, and says in plain words what is wrong with it", [this] {
            return doctor({config_of(masters_), masters_.json, watch_.length, doctor_resource_},
                          std::cout);
        });
    // The doctor keeps each of its looks, a hundred a second.
    add_duration(sub, "--watch", watch_, "How long clocks and answers are looked at, 1h at most",
                 {.most = std::chrono::hours(1)});
    sub.add_option("--resource", doctor_resource_,
                   "One of your resources: keys that begin with its name are tried, for a user who "
                   "may use no others [the doctor's own keys]")
        ->type_name("RESOURCE");
    sub.footer(
        "Each finding has a code in --json; docs/errors.md of the source says more of each.\n"
        "Rates of clocks are told as exactly as the answers are fast and --watch is long: 10s\n"
        "tells them ten times as well as 1s. It tries on each master what a client needs, with\n"
        "two keys of its own below redlock:doctor:, which it deletes again. With --resource they\n"
        "are below that name and redlock:doctor:, and no lock is touched.");
}

void command_line::add_admit()
{
    CLI::App& sub =
        *add_of_masters("admit", "Lets masters that are new vote at once under the restart guard",
                        [this] { return admit(masters_); });
    sub.footer(
        "Once for a new set of masters, with the --max-ttl that all clients have: without it they\n"
        "vote when that time has passed. A master that lost its keys looks the same: never admit\n"
        "one of those while anybody may hold a lock.");
}

void command_line::add_completion()
{
    CLI::App& sub =
        *add("completion", "Prints what makes a shell complete the command's words", [this] {
            std::cout << completion(*app_, shell_);
            return success;
        });
    sub.add_option("SHELL", shell_, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember(shells()))
        ->type_name("");
    sub.footer("    source <(redlock completion bash)");
}

void command_line::add_manual()
{
    CLI::App& sub = *add("manual", "Prints a manual page", [this] {
        if (pages_.empty()) {
            std::cout << manual_page(*app_, page_);
        } else {
            write_manual_pages(*app_, pages_);
        }
        return success;
    });
    sub.add_option("COMMAND", page_, "Of which command [of redlock itself]")->type_name("");
    sub.add_option("--all", pages_, "Writes all pages, each to a file in this folder")
        ->type_name("FOLDER")
        ->excludes("COMMAND");
    sub.footer("    redlock manual run | man -l -");
}

}  // namespace redlock::cli
