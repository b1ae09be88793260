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
 * The arguments of the command. Its help, its manual pages and the shell completion are all made
 * from them.
 */
class command_line {
public:
    command_line();
    ~command_line();
    command_line(const command_line&) = delete;
    command_line& operator=(const command_line&) = delete;

    /// Parses the arguments, without the program's name, and runs the command. Returns the exit
    /// status.
    [[nodiscard]] int operator()(const std::vector<std::string>& arguments);

    [[nodiscard]] const CLI::App& app() const noexcept { return *app_; }

private:
    void add_run();
    void add_acquire();
    void add_extend();
    void add_release();
    void add_inspect();
    void add_doctor();
    void add_admit();
    /// Adds a command. `action` is called if the arguments name it.
    CLI::App* add(const std::string& name, const std::string& description,
                  std::function<int()> action);
    /// Adds a command that uses nodes. The options for nodes may also follow the command's name.
    CLI::App* add_of_masters(const std::string& name, const std::string& description,
                             std::function<int()> action);
    /// Adds a command that loads nodes.
    void add_load(const std::string& name, const std::string& description,
                  std::function<int()> (*add_options)(CLI::App&, const masters_options&));
    void add_taking(CLI::App& sub, taking_options& o);
    void add_held(CLI::App& sub, held_options& o);
    [[nodiscard]] int parse_and_act(const std::vector<std::string>& arguments);
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
};

}  // namespace redlock::cli
