// runners/commands/one_plan.cpp — Plans are told from scenarios by their table, not by their name.
#include "runners/commands/one_plan.h"

#include <fmt/format.h>
#include <fstream>

#include "runners/backends/catalog/backend.h"
#include "runners/commands/selection.h"
#include "scenarios/format/resolve.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::commands {

using scenarios::Result;

namespace {

bool is_plan(const std::string& file) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("[plan]")) return true;
    }
    return false;
}

}  // namespace

Result<scenarios::Plan> one_plan(const Library& library, const std::string& what, std::uint64_t seed) {
    if (is_plan(what)) return scenarios::load_plan(what, library.taxonomy, library.vocabulary);
    SelectionOptions one;
    one.names = {what};
    auto selection = select(library, one);
    if (!selection) return tl::unexpected(selection.error());
    if (!selection->broken.empty()) return tl::unexpected(selection->broken.front());
    if (selection->scenarios.size() != 1) {
        return scenarios::refuse(scenarios::ErrorCode::usage,
                                 fmt::format("'{}' means {} scenarios", what, selection->scenarios.size()),
                                 "name one of them");
    }
    auto runner = make_runner("sim", *library.extension);
    if (!runner) return tl::unexpected(runner.error());
    auto trial = scenarios::resolve(selection->scenarios.front(), scenarios::Seed{seed},
                                    (*runner)->capabilities(), library.vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    return std::move(trial->fault);
}

}  // namespace deadrank::runners::commands
