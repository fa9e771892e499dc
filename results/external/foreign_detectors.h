// results/external/foreign_detectors.h — Detectors that are not ours, one class a tool: PyTorch's own checks
// and its Flight Recorder analyser, NCCL's RAS, Meta's GPU cluster monitoring, traincheck-lint.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/detectors/detector.h"
#include "results/emitters/ras.h"
#include "results/external/memo.h"
#include "scenarios/model/error.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::external {

class C10d final : public Detector {
public:
    std::string_view name() const override { return "c10d"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

// Meta's GPU cluster monitoring: its health check for XIDs, node by node, on a kernel log printed by our
// stand-in for dmesg.
class Gpucm final : public Detector {
public:
    static scenarios::Result<Gpucm> find(const processes::Bounds& bounds = {});
    std::string_view name() const override { return "gpucm"; }
    std::vector<std::string_view> symptoms() const override {
        return {id_of(scenarios::Symptom::device_fault_reported)};
    }
    std::vector<Finding> examine(const Evidence& evidence) const override;
    const std::string& version() const { return version_; }

private:
    Memo::Answer query(const std::string& log) const;
    std::string program_, version_;
    processes::Bounds bounds_;
    mutable Memo memo_;  // most nodes have nothing to say
};

// What an answer of NCCL's RAS says about the job, read as an operator reads it: which ranks lag in launches,
// and which do not answer.
struct RasTrouble {
    enum class Kind { missing, lagging, error };
    Kind kind = Kind::missing;
    emitters::RasRank who;
    std::int64_t launched = 0, others = 0;  // operations, where it lags
    std::string says;
};

// Errors: bad_input, when it is not a RAS status in JSON.
scenarios::Result<emitters::RasReport> read_ras_json(std::string_view text);
std::vector<RasTrouble> find_troubles(const emitters::RasReport& report);

// ── PyTorch's Flight Recorder analyser as a detector, and its report as findings.

// One block of its report.
struct FlightRecorderProblem {
    enum class Kind { mismatch, state, missing, totals, undecided };
    Kind kind = Kind::mismatch;
    std::int64_t seq = 0;
    std::string group, collective;  // as printed: "0:default_pg", "nccl:all_reduce"
    std::vector<Rank> culprits;     // ascending; ranks as the dump's files are numbered
    std::string says;               // its error message, or the headline

    bool operator==(const FlightRecorderProblem&) const = default;
};

std::vector<FlightRecorderProblem> read_flight_recorder_report(std::string_view text);

class Torchfrtrace final : public Detector {
public:
    // Errors: environment, when no installed torch has it.
    static scenarios::Result<Torchfrtrace> find(const processes::Bounds& bounds = {});

    std::string_view name() const override { return "torchfrtrace"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<Finding> examine(const Evidence& evidence) const override;

    const std::string& version() const { return version_; }  // of torch
    // Its report on the dumps in this directory. Errors: environment, with the last lines of its output, when
    // its exit code is not 0.
    scenarios::Result<std::string> report(const std::string& directory, const std::string& prefix) const;

private:
    std::string python_, version_;
    processes::Bounds bounds_;
};

// ── traincheck-lint, a linter of training configurations, unmodified: it is shown the job's configuration
// as its ranks had it when they started.

// Its input: its own YAML form, one for each set of processes with the same configuration.
struct LintedConfiguration {
    std::vector<Rank> processes;  // ascending
    std::string yaml;
};
std::vector<LintedConfiguration> linted_configurations(const Evidence& evidence);

struct LintViolation {
    std::string rule, message;
    bool operator==(const LintViolation&) const = default;
};
// Errors: bad_input, when it is not an answer of `traincheck check --json`.
scenarios::Result<std::vector<LintViolation>> read_lint(std::string_view json);

// The symptom that its rule warns of; empty for advice that describes no failure.
std::string_view symptom_of_lint_rule(std::string_view rule);

class TraincheckLint final : public Detector {
public:
    // Errors: environment, when it is not installed.
    static scenarios::Result<TraincheckLint> find(const processes::Bounds& bounds = {});
    std::string_view name() const override { return "traincheck_lint"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<Finding> examine(const Evidence& evidence) const override;
    const std::string& version() const { return version_; }

private:
    std::string program_, version_;
    processes::Bounds bounds_;
    mutable Memo memo_;
};

}  // namespace deadrank::results::external
