// runners/commands/know/completion_command.cpp — deadrank completion: a script that lets a shell complete
// commands, options and scenario ids. Written from the parser itself, so that no option is missing. Ids come
// from `list`.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "runners/commands/command.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

namespace {

struct Words {
    std::string command;
    std::string what;
    std::vector<std::string> options;
};

std::vector<Words> completion_words(const CLI::App& program) {
    std::vector<Words> all;
    for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
        Words words{command->get_name(), command->get_description(), {}};
        for (const CLI::Option* option : command->get_options()) {
            for (const std::string& name : option->get_lnames()) words.options.push_back("--" + name);
        }
        all.push_back(std::move(words));
    }
    return all;
}

std::vector<std::string> names_of(const std::vector<Words>& all) {
    std::vector<std::string> names;
    for (const Words& words : all) names.push_back(words.command);
    return names;
}

// The script asks the program for ids each time, so that a user's own catalog is completed too.
constexpr const char* ids_command =
    "deadrank list --json 2>/dev/null | sed -n 's/^    \"id\": \"\\(.*\\)\",$/\\1/p'";

std::string bash(const std::vector<Words>& all) {
    std::string cases;
    for (const Words& words : all) {
        cases += fmt::format("    {}) words='{}' ;;\n", words.command, fmt::join(words.options, " "));
    }
    return fmt::format(R"sh(# Put this in ~/.bashrc:  source <(deadrank completion bash)
_deadrank() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=''
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $word != -* ]]; then
    case ${{COMP_WORDS[1]}} in
      run | list | plan | explain) words=$({}) ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}}
complete -o filenames -F _deadrank deadrank
)sh",
                       fmt::join(names_of(all), " "), cases, ids_command);
}

std::string quoted_for_zsh(std::string text) {
    for (std::size_t at = text.find_first_of("':"); at != std::string::npos;
         at = text.find_first_of("':", at)) {
        text.replace(at, 1, " ");
    }
    return text;
}

std::string zsh(const std::vector<Words>& all) {
    std::string commands, cases;
    for (const Words& words : all) {
        commands += fmt::format("    '{}:{}'\n", words.command, quoted_for_zsh(words.what));
        cases += fmt::format("    {}) options=({}) ;;\n", words.command, fmt::join(words.options, " "));
    }
    return fmt::format(R"sh(#compdef deadrank
# Put this in a directory of $fpath:  deadrank completion zsh > ~/.zfunc/_deadrank
_deadrank() {{
  local -a commands options ids
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case $words[2] in
{}  esac
  case $words[2] in
    run|list|plan|explain) ids=(${{(f)"$({})"}}) ;;
  esac
  compadd -- $options $ids
  _files
}}
_deadrank "$@"
)sh",
                       commands, cases, ids_command);
}

std::string fish(const std::vector<Words>& all) {
    std::string text =
        "# Put this in ~/.config/fish/completions/deadrank.fish\ncomplete -c deadrank -n "
        "__fish_use_subcommand -f\n";
    for (const Words& words : all) {
        text += fmt::format("complete -c deadrank -n __fish_use_subcommand -a {} -d '{}'\n", words.command,
                            quoted_for_zsh(words.what));
        for (const std::string& option : words.options) {
            text += fmt::format("complete -c deadrank -n '__fish_seen_subcommand_from {}' -l {}\n",
                                words.command, option.substr(2));
        }
    }
    return text +
           fmt::format(
               "complete -c deadrank -n '__fish_seen_subcommand_from run list plan explain' -a \"({})\"\n",
               ids_command);
}

void print_completion(const CLI::App& program, const std::string& shell) {
    const std::vector<Words> all = completion_words(program);
    print_out("{}", shell == "bash" ? bash(all) : shell == "zsh" ? zsh(all) : fish(all));
}

void add_completion(CLI::App& command, Session&) {
    command.footer(
        "Written from the parser itself: every command and option that this build has.\n\n"
        "Examples:\n"
        "  deadrank completion bash > ~/.local/share/bash-completion/completions/deadrank\n"
        "  deadrank completion zsh > ~/.zfunc/_deadrank\n"
        "  deadrank completion fish > ~/.config/fish/completions/deadrank.fish");
    auto shell = std::make_shared<std::string>();
    command.add_option("shell", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->type_name("SHELL");
    command.callback([program = command.get_parent(), shell] { print_completion(*program, *shell); });
}

}  // namespace

extern const CommandRow completion_row{"completion", "Prints the completion script of a shell",
                                       add_completion};

}  // namespace deadrank::runners::commands
