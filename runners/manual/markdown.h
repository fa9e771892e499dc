// runners/manual/markdown.h — Tables and lists as Markdown; a cell never breaks its row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::manual {

std::string cell(std::string_view text);
std::string row(const std::vector<std::string>& cells);
std::string heading_row(const std::vector<std::string>& cells);  // with the line of dashes below it

std::string quoted(const std::vector<std::string>& words);  // "`one`, `two`"

// Keys with type, default and meaning; empty without parameters.
std::string parameter_table(const std::vector<scenarios::Parameter>& parameters);
std::string default_text(const scenarios::Parameter& parameter);  // "`5us`", "required", or nothing
std::string type_text(const scenarios::Parameter& parameter);     // "duration", or the words to choose from

// A sentence without its full stop.
std::string_view unstopped(std::string_view text);

}  // namespace deadrank::runners::manual
