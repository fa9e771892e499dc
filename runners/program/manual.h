// runners/program/manual.h — `deadrank manual`: the reference, written from the parser, the vocabulary and
// the taxonomy of this very build.
#pragma once

#include <string>

#include "runners/line/library.h"

namespace CLI {
class App;
}

namespace deadrank::runners::commands {

// Markdown: every command with its options, then every word that a scenario file may use.
std::string manual_of_commands(const CLI::App& program);
std::string manual_of_scenarios(const Library& library);

// The commands as a page for man(1).
std::string man_page(const CLI::App& program, const std::string& version);

}  // namespace deadrank::runners::commands
