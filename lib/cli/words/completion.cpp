#include "cli/words/completion.hpp"

#include "cli/words/manual.hpp"

#include <CLI/CLI.hpp>

#include <vector>

namespace redlock::cli {
namespace {

struct word {
    std::string text;
    std::string description;
    bool takes_value = false;
    bool repeats = false;
};

void add_options(std::vector<word>& out, const CLI::App& app)
{
    for (const CLI::Option* option : app.get_options()) {
        for (const auto& name : option->get_lnames()) {
            out.push_back({"--" + name, option->get_description(),
                           option->get_items_expected_max() > 0,
                           option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll});
        }
    }
}

/// The options that may follow a command's name.
std::vector<word> words_of(const CLI::App& sub)
{
    std::vector<word> out;
    add_options(out, sub);
    if (sub.get_fallthrough()) {
        add_options(out, *sub.get_parent());
    }
    return out;
}

std::string joined(const std::vector<word>& words)
{
    std::string out;
    for (const auto& one : words) {
        out += (out.empty() ? "" : " ") + one.text;
    }
    return out;
}

std::string command_names(const CLI::App& app)
{
    std::string out;
    for (const CLI::App* sub : commands_of(app)) {
        out += (out.empty() ? "" : " ") + sub->get_name();
    }
    return out;
}

std::vector<word> words_in_front(const CLI::App& app)
{
    std::vector<word> out;
    add_options(out, app);
    return out;
}

/// Quotes a text in single quotes for any of the shells. bash and zsh read a backslash as itself,
/// and no text for fish contains one.
std::string quoted(const std::string& text)
{
    std::string out = "'";
    for (const char c : text) {
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return out + "'";
}

/// Escapes the characters that have a meaning for `_arguments` and `_describe`.
std::string for_zsh_list(const std::string& text)
{
    std::string out;
    for (const char c : text) {
        if (c == ':' || c == '[' || c == ']' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    return out;
}

/// The options as arguments of `_arguments`, one on each line.
std::string for_zsh_arguments(const std::vector<word>& options)
{
    std::string out;
    for (const auto& one : options) {
        out += " \\\n            " +
               quoted((one.repeats ? "*" : "") + one.text + (one.takes_value ? "=" : "") + '[' +
                      for_zsh_list(one.description) + ']' + (one.takes_value ? ":value:" : ""));
    }
    return out;
}

}  // namespace

std::string bash_completion(const CLI::App& app)
{
    std::string out =
        "# bash completion of redlock\n"
        "_redlock() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} command= i\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case ${COMP_WORDS[i]} in\n"
        "            --) [[ $command == run ]] && type -t _command_offset >/dev/null &&\n"
        "                _command_offset $((i + 1)); return ;;\n"
        "        esac\n"
        "        [[ -n $command ]] || case \" " +
        command_names(app) +
        " \" in\n"
        "            *\" ${COMP_WORDS[i]} \"*) command=${COMP_WORDS[i]} ;;\n"
        "        esac\n"
        "    done\n"
        "    case ${COMP_WORDS[COMP_CWORD - 1]} in\n"
        "        --*-file | --config) compopt -o default; COMPREPLY=(); return ;;\n"
        "    esac\n"
        "    case $command in\n";
    for (const CLI::App* sub : commands_of(app)) {
        out += "        " + sub->get_name() + ") COMPREPLY=($(compgen -W '" +
               joined(words_of(*sub)) + "' -- \"$word\")) ;;\n";
    }
    return out + "        *) COMPREPLY=($(compgen -W '" + command_names(app) + ' ' +
           joined(words_in_front(app)) +
           "' -- \"$word\")) ;;\n"
           "    esac\n"
           "}\n"
           "complete -F _redlock redlock\n";
}

std::string zsh_completion(const CLI::App& app)
{
    std::string out =
        "#compdef redlock\n"
        "_redlock() {\n"
        "    local -a commands\n"
        "    commands=(\n";
    for (const CLI::App* sub : commands_of(app)) {
        out += "        " + quoted(sub->get_name() + ':' + for_zsh_list(sub->get_description())) +
               '\n';
    }
    out +=
        "    )\n"
        "    local -i at=0 i\n"
        "    for ((i = 2; i < CURRENT; i++)); do\n"
        "        [[ ' " +
        command_names(app) +
        " ' != *\" $words[i] \"* ]] || { at=$i; break }\n"
        "    done\n"
        "    if ((at == 0)); then\n"
        "        local state\n"
        "        _arguments" +
        for_zsh_arguments(words_in_front(app)) +
        " \\\n            '1: :->command'\n"
        "        [[ $state != command ]] || _describe command commands\n"
        "        return\n"
        "    fi\n"
        "    local command=$words[at]\n"
        "    shift $((at - 1)) words\n"
        "    ((CURRENT -= at - 1))\n"
        "    local -i end=${words[(i)--]}\n"
        "    if [[ $command == run ]] && ((end < CURRENT)); then\n"
        "        shift $end words\n"
        "        ((CURRENT -= end))\n"
        "        _normal\n"
        "        return\n"
        "    fi\n"
        "    case $command in\n";
    for (const CLI::App* sub : commands_of(app)) {
        out += "        " + sub->get_name() + ") _arguments" + for_zsh_arguments(words_of(*sub)) +
               " \\\n            '*: :_message argument' ;;\n";
    }
    return out +
           "    esac\n"
           "}\n"
           "_redlock \"$@\"\n";
}

std::string fish_completion(const CLI::App& app)
{
    const std::string all = command_names(app);
    std::string out =
        "# fish completion of redlock\n"
        "complete -c redlock -f -n 'not __fish_seen_subcommand_from " +
        all + "'\n";
    const auto add = [&out](const std::string& when, const std::vector<word>& options) {
        for (const auto& one : options) {
            out += "complete -c redlock -n '" + when + "' -l " + one.text.substr(2) +
                   (one.takes_value ? " -r" : "") + " -d " + quoted(one.description) + '\n';
        }
    };
    add("not __fish_seen_subcommand_from " + all, words_in_front(app));
    for (const CLI::App* sub : commands_of(app)) {
        out += "complete -c redlock -n 'not __fish_seen_subcommand_from " + all + "' -a " +
               sub->get_name() + " -d " + quoted(sub->get_description()) + '\n';
        add("__fish_seen_subcommand_from " + sub->get_name(), words_of(*sub));
    }
    return out;
}

}  // namespace redlock::cli
