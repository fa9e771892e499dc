// tests/programs/hashes_main.cpp — What a compiler made of the simulator: the trace hash of every scenario,
// as `deadrank run --json` writes it. It links neither detectors nor commands, so that another compiler is
// asked in a third of the time: deadrank_hashes SCENARIOS (the directory with taxonomy.toml and catalog/).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "runners/backend/extension.h"
#include "runners/backends/sim/sim_runner.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/scenario.h"

namespace {

using namespace deadrank;

std::vector<std::filesystem::path> scenario_files(const std::filesystem::path& catalog) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(catalog)) {
        if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

scenarios::Result<std::string> hash_line(const std::filesystem::path& file, runners::SimRunner& runner,
                                         const scenarios::Taxonomy& taxonomy,
                                         const scenarios::Vocabulary& vocabulary) {
    const auto scenario = scenarios::load(file, taxonomy, vocabulary);
    if (!scenario) return tl::unexpected(scenario.error());
    const auto trial = scenarios::resolve(*scenario, scenarios::Seed{1}, runner.capabilities(), vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    const auto record = runner.run(trial->fault, {});
    if (!record) return tl::unexpected(record.error());
    return fmt::format(R"({{"scenario":"{}","seed":1,"trace_hash":"{:016x}"}})", trial->fault.scenario,
                       record->trace_hash);
}

int fail(const std::string& reason) {
    fmt::print(stderr, "deadrank_hashes: {}\n", reason);
    return EXIT_FAILURE;
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) return fail("name the directory with taxonomy.toml and catalog/");
    const std::filesystem::path directory = words[1];
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // no line is cut in two by what a build says on stderr
    const auto taxonomy = scenarios::load_taxonomy(directory / "taxonomy.toml");
    if (!taxonomy) return fail(taxonomy.error().text());
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    runners::SimRunner runner;
    for (const std::filesystem::path& file : scenario_files(directory / "catalog")) {
        const auto line = hash_line(file, runner, *taxonomy, vocabulary);
        if (!line) return fail(line.error().text());
        fmt::print("{}\n", *line);
    }
    return EXIT_SUCCESS;
}
