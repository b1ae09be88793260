#pragma once

#include "cli/commands.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace redlock::cli {

class config_file;

/**
 * The arguments that the command takes: the one source of its help, its manual pages and the
 * completion of a shell.
 */
class command_line {
public:
    explicit command_line(const std::vector<further_command>& further);
    ~command_line();
    command_line(const command_line&) = delete;
    command_line& operator=(const command_line&) = delete;

    /// Reads the arguments, without the program's name, and does what they say. Gives the exit
    /// status.
    [[nodiscard]] int operator()(const std::vector<std::string>& arguments);

    [[nodiscard]] CLI::App& app() noexcept { return *app_; }

private:
    void add_run();
    void add_acquire();
    void add_extend();
    void add_release();
    void add_inspect();
    void add_doctor();
    void add_admit();
    void add_completion();
    void add_manual();
    /// A command, whose action is called when it was asked for.
    CLI::App* add(const std::string& name, const std::string& description,
                  std::function<int()> action);
    /// One that speaks to masters, and takes the options that all of these have, behind its name
    /// too.
    CLI::App* add_of_masters(const std::string& name, const std::string& description,
                             std::function<int()> action);
    void add_taking(CLI::App& sub, taking_options& o);
    void add_held(CLI::App& sub, held_options& o);
    [[nodiscard]] int act();

    std::unique_ptr<CLI::App> app_;
    std::shared_ptr<config_file> file_;
    std::vector<std::pair<CLI::App*, std::function<int()>>> actions_;
    masters_options masters_;
    run_options run_;
    acquire_options acquire_;
    extend_options extend_;
    held_options release_;
    inspect_options inspect_;
    duration watch_{std::chrono::milliseconds(1'000)};
    std::optional<std::string> doctor_resource_;
    std::string shell_;
    std::string page_;
    std::string pages_;
};

}  // namespace redlock::cli
