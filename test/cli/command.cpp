#include "cli/command.hpp"

#include <fstream>
#include <iterator>

namespace redlock::test {
namespace {

std::vector<std::string> with(std::vector<std::string> first, const std::vector<std::string>& rest)
{
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
}

}  // namespace

std::string nodes_variable(const std::vector<std::string>& urls)
{
    std::string out = "REDLOCK_NODES=";
    for (const auto& url : urls) {
        out += url + ' ';
    }
    return out;
}

std::string own_options(const temp_dir& folder)
{
    const auto home = folder / "options";
    std::filesystem::create_directories(home);
    // The timeout fits `brief_option`, and the ttl of 10 s that `run` has.
    std::ofstream(home / "redlock.toml") << "node-timeout = \"" << brief_timeout.count()
                                         << "ms\"\n"
                                            "connect-timeout = \"20s\"\n"
                                            "[acquire]\n"
                                            "ttl = \"1h\"\n";
    return "XDG_CONFIG_HOME=" + home.string();
}

std::string text_of(const std::filesystem::path& file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

command::command(const masters& nodes, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment)
    : command(arguments, with({nodes_variable(nodes.urls())}, environment))
{}

command::command(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment)
    : process_(REDLOCK_COMMAND, arguments,
               {folder_ / "out", {}, with({own_options(folder_)}, environment)})
{}

bool command::says(const std::string& what) const
{
    return wait_for([&] { return text().find(what) != std::string::npos; });
}

said command::end()
{
    const int status = process_.wait();
    return {status, text()};
}

said run(const masters& nodes, const std::vector<std::string>& arguments,
         const std::vector<std::string>& environment)
{
    return command(nodes, arguments, environment).end();
}

}  // namespace redlock::test
