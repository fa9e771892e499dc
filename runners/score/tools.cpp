// runners/score/tools.cpp — The table of tools.
#include "runners/score/tools.h"

#include <fmt/format.h>
#include <memory>

#include "results/external/command_detector.h"
#include "results/external/foreign_detectors.h"
#include "results/external/nvrx.h"
#include "runners/serve/ras_service.h"

namespace deadrank::runners {

namespace {

using results::external::CommandDetector;
using results::external::Torchfrtrace;
using results::processes::Bounds;
using scenarios::BlameField;
using scenarios::ErrorCode;
using scenarios::Result;

Tool ours(const Bounds&) { return {"deadrank", "this build", {}, {}, results::all_detectors()}; }

// A tool with a class that has find(bounds) and version().
template <class T>
Tool theirs(std::string name, scenarios::BlameFields blames, const Bounds& bounds) {
    Tool tool{std::move(name), {}, {}, std::move(blames), {}};
    auto found = T::find(bounds);
    if (!found) {
        tool.missing = found.error().text();
        return tool;
    }
    tool.version = found->version();
    tool.detectors.push_back(std::make_unique<T>(std::move(*found)));
    return tool;
}

Tool torchfrtrace(const Bounds& bounds) {
    return theirs<Torchfrtrace>("torchfrtrace", {BlameField::rank}, bounds);
}

Tool restart_agent(const Bounds& bounds) {
    return theirs<results::external::NvrxRestartAgent>("nvrx_restart_agent", {BlameField::rank}, bounds);
}
Tool attribution(const Bounds& bounds) {
    return theirs<results::external::NvrxAttribution>("nvrx_fr_attribution", {BlameField::rank}, bounds);
}
Tool traincheck(const Bounds& bounds) {
    return theirs<results::external::TraincheckLint>("traincheck_lint",
                                                     {BlameField::rank, BlameField::variable}, bounds);
}
Tool gpucm(const Bounds& bounds) {
    return theirs<results::external::Gpucm>("gpucm", {BlameField::node}, bounds);
}

// c10d's output is in the evidence: from real processes it is torch's own, from the simulator what torch 2.11
// prints.
Tool c10d(const Bounds&) {
    Tool tool{"c10d", "as in the run", {}, {BlameField::rank}, {}};
    tool.detectors.push_back(std::make_unique<results::external::C10d>());
    return tool;
}
Tool ras(const Bounds&) {
    Tool tool{"nccl_ras", "protocol 2", {}, {BlameField::rank}, {}};
    tool.detectors.push_back(std::make_unique<serve::RasPoller>());
    return tool;
}

struct Line {
    std::string_view name;
    Tool (*find)(const Bounds& bounds);
};

constexpr Line lines[] = {
    {"deadrank", ours}, {"torchfrtrace", torchfrtrace},        {"c10d", c10d},
    {"nccl_ras", ras},  {"nvrx_restart_agent", restart_agent}, {"nvrx_fr_attribution", attribution},
    {"gpucm", gpucm},   {"traincheck_lint", traincheck},
};

}  // namespace

std::vector<std::string> tool_names() {
    std::vector<std::string> names;
    for (const Line& line : lines) names.emplace_back(line.name);
    return names;
}

Result<Tool> find_tool(const std::string& name, const Bounds& bounds) {
    std::string known;
    for (const Line& line : lines) {
        if (line.name == name) return line.find(bounds);
        known += fmt::format("{}{}", known.empty() ? "" : ", ", line.name);
    }
    return scenarios::refuse(ErrorCode::usage, fmt::format("'{}' is not a tool", name),
                             fmt::format("there are {}; a command of yours goes to --detector", known));
}

Result<Tool> tool_of_command(const std::string& text, const std::vector<std::string>& symptoms,
                             const Bounds& bounds) {
    auto command = results::external::parse_command(text);
    if (!command) return tl::unexpected(command.error());
    auto detector = std::make_unique<CommandDetector>(*command, symptoms, bounds);
    Tool tool{command->name, {}, {}, {}, {}};
    // No error: a detector that fails here fails on every run, and is judged for it.
    if (auto introduced = detector->introduce()) tool.version = introduced->version;
    tool.detectors.push_back(std::move(detector));
    return tool;
}

}  // namespace deadrank::runners
