// runners/commands/know/completion_command.cpp — deadrank help completion: a script that lets a shell
// complete commands, verbs, options and scenario ids. Written from the parser itself, so that no option is
// missing. Ids come from `list`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <sstream>

#include "runners/commands/command.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

namespace {

// A command or a verb, and what may follow it.
struct Words {
    std::string path;  // "sweep", "sweep swarm"
    std::string what;
    std::vector<std::string> verbs;
    std::vector<std::string> options;
};

std::vector<const CLI::App*> children_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

void add_words(std::vector<Words>& all, const CLI::App& command, const std::string& before) {
    Words words{before + command.get_name(), command.get_description(), {}, {}};
    for (const CLI::App* verb : children_of(command)) words.verbs.push_back(verb->get_name());
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) words.options.push_back("--" + name);
    }
    const std::string path = words.path + " ";
    all.push_back(std::move(words));
    for (const CLI::App* verb : children_of(command)) add_words(all, *verb, path);
}

std::vector<Words> completion_words(const CLI::App& program) {
    std::vector<Words> all;
    for (const CLI::App* command : children_of(program)) add_words(all, *command, "");
    return all;
}

std::vector<std::string> command_names(const CLI::App& program) {
    std::vector<std::string> names;
    for (const CLI::App* command : children_of(program)) names.push_back(command->get_name());
    return names;
}

// Deepest first: of `score ras serve`, `score ras` and `score` the shell takes the first that fits.
std::vector<Words> deepest_first(std::vector<Words> all) {
    const auto depth = [](const Words& one) { return std::count(one.path.begin(), one.path.end(), ' '); };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Words& a, const Words& b) { return depth(a) > depth(b); });
    return all;
}

// The script asks the program for ids each time, so that a user's own catalog is completed too.
constexpr const char* ids_command =
    "deadrank list --json 2>/dev/null | sed -n 's/^    \"id\": \"\\(.*\\)\",$/\\1/p'";

// Commands and verbs that take a scenario.
constexpr const char* takers_of_ids =
    "'run '* | 'list '* | 'explain '* | 'learn '* | 'sweep '* | 'replay plan '* | 'replay trace '*";

std::string bash(const CLI::App& program) {
    std::string cases;
    for (const Words& words : deepest_first(completion_words(program))) {
        cases += fmt::format("    '{} '*) words='{}' verbs='{}' ;;\n", words.path,
                             fmt::join(words.options, " "), fmt::join(words.verbs, " "));
    }
    return fmt::format(R"sh(# Put this in ~/.bashrc:  source <(deadrank help completion bash)
_deadrank() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words='' verbs='' before
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
    return
  fi
  before="${{COMP_WORDS[*]:1:COMP_CWORD-1}} "
  case $before in
{}  esac
  if [[ $word != -* ]]; then
    words=''
    case $before in
      {}) words=$({}) ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$verbs $words" -- "$word") $(compgen -f -- "$word"))
}}
complete -o filenames -F _deadrank deadrank
)sh",
                       fmt::join(command_names(program), " "), cases, takers_of_ids, ids_command);
}

std::string quoted_for_zsh(std::string text) {
    for (std::size_t at = text.find_first_of("':"); at != std::string::npos;
         at = text.find_first_of("':", at)) {
        text.replace(at, 1, " ");
    }
    return text;
}

std::string zsh(const CLI::App& program) {
    std::string commands, cases;
    for (const CLI::App* command : children_of(program))
        commands +=
            fmt::format("    '{}:{}'\n", command->get_name(), quoted_for_zsh(command->get_description()));
    for (const Words& words : deepest_first(completion_words(program))) {
        cases += fmt::format("    '{} '*) options=({}) verbs=({}) ;;\n", words.path,
                             fmt::join(words.options, " "), fmt::join(words.verbs, " "));
    }
    return fmt::format(R"sh(#compdef deadrank
# Put this in a directory of $fpath:  deadrank help completion zsh > ~/.zfunc/_deadrank
_deadrank() {{
  local -a commands verbs options ids
  local before="${{(j: :)words[2,CURRENT-1]}} "
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case $before in
{}  esac
  case $before in
    {}) ids=(${{(f)"$({})"}}) ;;
  esac
  compadd -- $verbs $options $ids
  _files
}}
_deadrank "$@"
)sh",
                       commands, cases, takers_of_ids, ids_command);
}

std::string fish(const CLI::App& program) {
    std::string text =
        "# Put this in ~/.config/fish/completions/deadrank.fish\ncomplete -c deadrank -n "
        "__fish_use_subcommand -f\n";
    for (const CLI::App* command : children_of(program)) {
        text += fmt::format("complete -c deadrank -n __fish_use_subcommand -a {} -d '{}'\n",
                            command->get_name(), quoted_for_zsh(command->get_description()));
    }
    for (const Words& words : completion_words(program)) {
        std::string seen;  // each word of the path
        std::istringstream path(words.path);
        for (std::string word; path >> word;) {
            if (!seen.empty()) seen += "; and ";
            seen += "__fish_seen_subcommand_from " + word;
        }
        for (const std::string& verb : words.verbs)
            text += fmt::format("complete -c deadrank -n '{}' -a {}\n", seen, verb);
        for (const std::string& option : words.options)
            text += fmt::format("complete -c deadrank -n '{}' -l {}\n", seen, option.substr(2));
    }
    return text +
           fmt::format(
               "complete -c deadrank -n '__fish_seen_subcommand_from run list explain learn sweep plan "
               "trace' -a \"({})\"\n",
               ids_command);
}

void print_completion(const CLI::App& program, const std::string& shell) {
    print_out("{}", shell == "bash" ? bash(program) : shell == "zsh" ? zsh(program) : fish(program));
}

void add_completion(CLI::App& command, Session&) {
    command.footer(
        "Written from the parser itself: every command, verb and option that this build has.\n\n"
        "Examples:\n"
        "  deadrank help completion bash > ~/.local/share/bash-completion/completions/deadrank\n"
        "  deadrank help completion zsh > ~/.zfunc/_deadrank\n"
        "  deadrank help completion fish > ~/.config/fish/completions/deadrank.fish");
    auto shell = std::make_shared<std::string>();
    command.add_option("shell", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->type_name("SHELL");
    command.callback(
        [program = command.get_parent()->get_parent(), shell] { print_completion(*program, *shell); });
}

}  // namespace

extern const CommandRow completion_row{"completion", "Prints the completion script of a shell",
                                       add_completion};

}  // namespace deadrank::runners::commands
