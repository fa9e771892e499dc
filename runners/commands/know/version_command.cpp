// runners/commands/know/version_command.cpp — deadrank help version: what a bug report needs: which build
// this is, and the libraries that affect what it does.
#include <CLI/CLI.hpp>
#include <boost/version.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sqlite3.h>
#include <xxhash.h>

#include "results/processes/bounded.h"
#include "results/record/event.h"
#include "runners/backends/gpu/gpu_machine.h"
#include "runners/backends/process/mpirun.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/build.h"
#include "scenarios/model/document.h"

namespace deadrank::runners::commands {

namespace {

// What real processes would run with; null if not installed.
nlohmann::ordered_json programs() {
    nlohmann::ordered_json found = {{"torch", nullptr}, {"mpi", nullptr}, {"gpu", nullptr}};
    if (const auto python = best_python()) found["torch"] = python->text();
    if (!results::processes::find_program("mpirun").empty()) {
        const auto answer = results::processes::run_bounded({"mpirun", "--version"}, {});
        if (answer && answer->code == 0) found["mpi"] = answer->out.substr(0, answer->out.find('\n'));
    }
    if (const auto machine = find_gpus()) found["gpu"] = machine->text();
    return found;
}

nlohmann::ordered_json about() {
    const Build build = this_build();
    return {
        {"deadrank", build.version},
        {"commit", build.commit},
        {"compiler", build.compiler},
        {"build", build.type},
        {"evidence", results::evidence_version},
        {"libraries",
         {{"boost", fmt::format("{}.{}.{}", BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1'000,
                                BOOST_VERSION % 100)},
          {"cli11", CLI11_VERSION},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10'000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                        NLOHMANN_JSON_VERSION_PATCH)},
          {"sqlite", SQLITE_VERSION},
          {"toml++", scenarios::parser_version()},
          {"xxhash", fmt::format("{}.{}.{}", XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE)}}},
        {"programs", programs()}};
}

void version(bool json) {
    const auto all = about();
    if (json) {
        print_out("{}\n", all.dump(2));
        return;
    }
    print_out("deadrank {} ({}), {} by {}\n", all["deadrank"].get<std::string>(),
              all["commit"].get<std::string>(), all["build"].get<std::string>(),
              all["compiler"].get<std::string>());
    print_out("evidence format {}\n", results::evidence_version);
    for (const auto& [name, number] : all["libraries"].items())
        print_out("  {:<14}{}\n", name, number.get<std::string>());
    print_out("for real processes\n");
    for (const auto& [name, text] : all["programs"].items())
        print_out("  {:<14}{}\n", name, text.is_null() ? "none found" : text.get<std::string>());
}

void add_version(CLI::App& command, Session&) {
    command.footer(
        "Exit code: 0.\n\nExamples:\n  deadrank help version\n  deadrank help version --json   for a bug "
        "report");
    auto json = std::make_shared<bool>(false);
    add_json(command, *json, "A JSON object");
    command.callback([json] { version(*json); });
}

}  // namespace

extern const CommandRow version_row{"version", "Prints which build this is, and its libraries", add_version};

}  // namespace deadrank::runners::commands
