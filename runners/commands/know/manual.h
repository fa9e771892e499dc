// runners/commands/know/manual.h — `deadrank help manual`: the reference, written from the parser, the
// vocabulary and the taxonomy of this build.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace deadrank::runners::commands {

// Markdown: every command with its options.
std::string manual_of_commands(const CLI::App& program);

// The commands as a page for man(1).
std::string man_page(const CLI::App& program, const std::string& version);

}  // namespace deadrank::runners::commands
