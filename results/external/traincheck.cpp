// results/external/traincheck.cpp — It is asked when the job has only started, so its finding is dated with
// the start of the last rank. Exit code 1 means that it found something.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "results/analysis/pairs.h"
#include "results/external/foreign_detectors.h"
#include "results/external/tool_program.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::external {

using scenarios::Symptom;

namespace {

using analysis::Lives;
using analysis::Pairs;
using analysis::PairTables;
using scenarios::ErrorCode;
using scenarios::Result;

struct Rule {
    std::string_view id, symptom, variable;
};
constexpr Rule rules[] = {
    {"NCCL-RING-001", id_of(Symptom::collective_deadlock_hang), "NCCL_ALGO"},
    {"NCCL-IB-001", id_of(Symptom::collective_transport_degraded), "NCCL_IB_DISABLE"},
    {"NCCL-GDR-001", id_of(Symptom::collective_transport_degraded), "NCCL_NET_GDR_LEVEL"},
    {"MEMORY-001", id_of(Symptom::device_out_of_memory), ""},
};

const Rule* find_rule(std::string_view id) {
    const auto* found =
        std::find_if(std::begin(rules), std::end(rules), [&](const Rule& one) { return one.id == id; });
    return found == std::end(rules) ? nullptr : found;
}

// Do the machines have InfiniBand ports? A site knows that of its own network.
bool has_infiniband(const Evidence& evidence) {
    for (const Event* event : evidence.each<LinkSample>()) {
        if (evidence.text(event->as<LinkSample>()->link).find("mlx5") != std::string_view::npos) return true;
    }
    return false;
}

// A YAML scalar: numbers stay numbers, so that its rules can calculate with them.
std::string word(std::string_view value) {
    const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
    return number && value.size() < 10 ? std::string(value) : nlohmann::json(std::string(value)).dump();
}

std::string value_of(const Pairs* pairs, std::string_view name) {
    if (!pairs) return {};
    const auto found = pairs->find(name);
    return found == pairs->end() ? std::string() : std::string(found->second);
}

std::string yaml_of(const Evidence& evidence, const Lives& lives, const Pairs* environment,
                    const Pairs* versions) {
    std::string text = fmt::format("cluster:\n  nodes: {}\n", lives.nodes());
    if (has_infiniband(evidence)) text += "  interconnect: InfiniBand\n";
    text += "nccl:\n";
    const std::string version = value_of(versions, "nccl"), algorithm = value_of(environment, "NCCL_ALGO");
    if (!version.empty()) text += fmt::format("  version: \"{}\"\n", version);
    if (!algorithm.empty()) text += fmt::format("  algo: {}\n", word(algorithm));
    text += "environment:\n";
    for (const char* name : {"NCCL_IB_DISABLE", "NCCL_NET_GDR_LEVEL"}) {
        const std::string value = value_of(environment, name);
        if (!value.empty()) text += fmt::format("  {}: {}\n", name, word(value));
    }
    // An empty section would be read as a missing one.
    text += "  DEADRANK: 1\n";
    return text;
}

}  // namespace

std::vector<LintedConfiguration> linted_configurations(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const PairTables environments(evidence, 0, PairTables::Of::environment);
    const PairTables versions(evidence, 0, PairTables::Of::versions);
    std::map<std::string, std::vector<Rank>> alike;
    for (std::size_t i = 0; i < environments.by_process().size(); ++i) {
        if (!environments.by_process()[i]) continue;
        alike[yaml_of(evidence, lives, environments.by_process()[i], versions.by_process()[i])].push_back(
            static_cast<Rank>(i));
    }
    std::vector<LintedConfiguration> all;
    for (auto& [yaml, processes] : alike) all.push_back({std::move(processes), yaml});
    return all;
}

Result<std::vector<LintViolation>> read_lint(std::string_view text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto found = json.is_object() ? json.find("violations") : json.end();
    if (!json.is_object() || found == json.end() || !found->is_array()) {
        return scenarios::refuse(ErrorCode::bad_input,
                                 fmt::format("'{}' is not an answer of traincheck", text.substr(0, 80)),
                                 "another release of the tool may answer in another form");
    }
    std::vector<LintViolation> violations;
    for (const auto& one : *found) {
        if (!one.is_object()) continue;
        violations.push_back({one.value("id", std::string()), one.value("message", std::string())});
    }
    return violations;
}

std::string_view symptom_of_lint_rule(std::string_view rule) {
    const Rule* known = find_rule(rule);
    return known ? known->symptom : std::string_view();
}

Result<TraincheckLint> TraincheckLint::find(const processes::Bounds& bounds) {
    TraincheckLint tool;
    tool.bounds_ = bounds;
    tool.program_ = processes::find_program((tools_home() / "bin" / "traincheck").string());
    tool.version_ = package_version(tools_python(), "traincheck-lint");
    if (!tool.program_.empty() && !tool.version_.empty()) return tool;
    return scenarios::refuse(ErrorCode::environment, "traincheck_lint: it is not installed",
                             "`./dev tools` installs it (traincheck-lint of PyPI)");
}

std::vector<std::string_view> TraincheckLint::symptoms() const {
    std::vector<std::string_view> symptoms;
    for (const Rule& rule : rules) {
        if (std::count(symptoms.begin(), symptoms.end(), rule.symptom) == 0) symptoms.push_back(rule.symptom);
    }
    return symptoms;
}

std::vector<Finding> TraincheckLint::examine(const Evidence& evidence) const {
    Time started{0};
    for (const Event* start : evidence.each<RankStart>()) started = std::max(started, start->at);
    const auto configurations = linted_configurations(evidence);
    std::vector<Finding> findings;
    for (const LintedConfiguration& one : configurations) {
        const auto answer = memo_.query({{"job.yaml", one.yaml}}, [&]() -> Memo::Answer {
            auto scratch = Scratch::make();
            if (!scratch) return tl::unexpected(scratch.error());
            if (auto written = emitters::write_files({{"job.yaml", one.yaml}}, scratch->path()); !written)
                return tl::unexpected(written.error());
            return processes::run_bounded(
                {program_, "check", (scratch->path() / "job.yaml").string(), "--json"}, bounds_);
        });
        if (!answer) throw std::runtime_error(answer.error().text());
        const auto violations = read_lint(answer->out);
        if (!violations)
            throw std::runtime_error(fmt::format("traincheck {} {}; it said: {}", version_, answer->how(),
                                                 answer->last_error_text()));
        for (const LintViolation& violation : *violations) {
            const Rule* rule = find_rule(violation.rule);
            if (!rule) continue;
            Finding finding{.symptom = std::string(rule->symptom),
                            .detector = std::string(name()),
                            .blame = {},
                            .at = started,
                            .says = fmt::format("{}: {}", violation.rule, violation.message)};
            if (configurations.size() > 1) finding.blame.ranks = one.processes;
            finding.blame.variable = rule->variable;
            findings.push_back(std::move(finding));
        }
    }
    return findings;
}

}  // namespace deadrank::results::external
