// runners/commands/play/plan_program.cpp — Reads the lines of each def by their indentation; the loader has
// checked them already.
#include "runners/commands/play/plan_program.h"

#include <algorithm>
#include <string_view>

#include "scenarios/program/program_words.h"

namespace deadrank::runners::commands {

namespace {

std::size_t indentation_of(std::string_view line) {
    return std::min(line.find_first_not_of(' '), line.size());
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

// The name of a built-in for which the line is a def; empty for a method, which hides nothing.
std::string hidden_by(std::string_view line) {
    line.remove_prefix(indentation_of(line));
    constexpr std::string_view keyword = "def ";
    const auto bracket = line.find('(');
    if (!line.starts_with(keyword) || bracket == std::string_view::npos) return {};
    const std::string_view name = line.substr(keyword.size(), bracket - keyword.size());
    const bool method = line.substr(bracket).starts_with("(self");
    return method || scenarios::program::builtin_place(name) < 0 ? std::string() : std::string(name);
}

bool calls_by_a_prefix(std::string_view line, const std::string& name) {
    for (const char* prefix : {"dist.", "distributed.", "torch.", "F.", "functional."})
        if (line.find(prefix + name + "(") != std::string_view::npos) return true;
    return false;
}

}  // namespace

std::vector<std::string> hidden_builtins(const scenarios::Plan& plan) {
    std::vector<std::string> names;
    for (const auto& [setting, value] : plan.workload) {
        const auto lines = lines_of(value.text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const std::string name = hidden_by(lines[i]);
            if (name.empty()) continue;
            const std::size_t outer = indentation_of(lines[i]);
            bool calls = calls_by_a_prefix(lines[i], name);
            for (std::size_t k = i + 1; k < lines.size(); ++k) {
                const std::size_t inner = indentation_of(lines[k]);
                if (inner <= outer && inner < lines[k].size()) break;
                calls = calls || calls_by_a_prefix(lines[k], name);
            }
            if (calls && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
    }
    return names;
}

}  // namespace deadrank::runners::commands
