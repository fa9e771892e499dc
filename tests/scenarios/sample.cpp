// tests/scenarios/sample.cpp — The words, and the file around them.
#include "tests/scenarios/sample.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"

namespace deadrank::tests {

using scenarios::Kind;
using scenarios::Parameter;
using scenarios::ValueType;

namespace {

Kind fault(std::string name, std::vector<Parameter> parameters, std::string lever, bool at_start = false) {
    return {.name = std::move(name),
            .what = "A fault of the tests.",
            .parameters = std::move(parameters),
            .levers = {std::move(lever)},
            .at_start = at_start};
}

Kind workload(std::string name, std::vector<Parameter> further) {
    Kind kind{.name = std::move(name), .what = "A job of the tests."};
    kind.parameters = {{"steps", ValueType::integer, "8", "training steps", {}, false, 1},
                       {"step_time", ValueType::duration, "100ms", "compute of a step"},
                       {"learning_rate", ValueType::ratio, "1/100", "step size"},
                       {"schedule", ValueType::choice, "flat", "of the rate", {"flat", "cosine"}},
                       {"validate", ValueType::boolean, "false", "check first"}};
    for (Parameter& parameter : further) kind.parameters.push_back(std::move(parameter));
    kind.seams = {"gradient.divisor", "shard.offset"};
    kind.blocks = {"gradient.all_reduce", "checkpoint.sync"};
    return kind;
}

}  // namespace

const scenarios::Taxonomy& sample_taxonomy() {
    static const scenarios::Taxonomy taxonomy =
        scenarios::load_taxonomy(DEADRANK_SOURCE_DIRECTORY "/scenarios/taxonomy.toml").value();
    return taxonomy;
}

scenarios::Vocabulary sample_vocabulary() {
    const Parameter rank{"rank", ValueType::ranks, "", "whom it hits"};
    const Parameter node{"node", ValueType::nodes, "", "where it is"};
    return {
        .faults = {fault("kill_rank", {rank, {"signal", ValueType::integer, "9", "which"}}, "kill"),
                   fault("set_env",
                         {rank,
                          {"name", ValueType::text, "", "the variable"},
                          {"value", ValueType::text, "", "its value", {}, true}},
                         "set_env", true),
                   fault("bend_value", {rank, {"seam", ValueType::text, "", "which value"}}, "bend", true),
                   fault("skip_block", {rank, {"block", ValueType::text, "", "which step"}}, "skip_block",
                         true),
                   fault("slow_link", {node, {"factor", ValueType::factor, "10x", "how much slower"}},
                         "change_link.slow")},
        .workloads = {workload("data_parallel", {}),
                      workload("tensor_parallel", {{"tp_size", ValueType::integer, "4", "degree"}})}};
}

std::string SampleFile::toml() const {
    return fmt::format(
        "# scenarios/catalog/communication/sample.toml\n# A story.\nformat = 1\n\n"
        "[bug]\nstage = \"communication\"\nsymptom = \"collective_deadlock_hang\"\n"
        "cause = \"unpropagated_rank_failure\"\nfix = \"validation_and_failure_handling\"\n"
        "replays = [\"owner/repo#1\"]\n\n"
        "[cluster]\n{}\n[workload]\n{}\n[[fault]]\n{}\n{}\n[expect]\n{}\n[heal]\n{}",
        cluster, workload, fault, more_faults, expect, heal);
}

scenarios::Result<scenarios::Scenario> load_sample(std::string_view toml) {
    return scenarios::parse_scenario(toml, "catalog/communication/sample.toml", sample_taxonomy(),
                                     sample_vocabulary());
}

std::string refusal_of(std::string_view toml) {
    const auto scenario = load_sample(toml);
    return scenario ? "loads" : scenario.error().text();
}

scenarios::Result<scenarios::Trial> resolve_sample(const SampleFile& file, std::uint64_t seed) {
    const auto scenario = load_sample(file.toml());
    if (!scenario) return tl::unexpected(scenario.error());
    return scenarios::resolve(*scenario, {seed}, {.levers = {"*"}, .workloads = {"*"}}, sample_vocabulary());
}

std::string refusal_of_resolving(const SampleFile& file, std::uint64_t seed) {
    const auto trial = resolve_sample(file, seed);
    return trial ? "resolves" : trial.error().text();
}

}  // namespace deadrank::tests
