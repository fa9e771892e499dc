// results/external/traincheck.h — traincheck-lint, a linter of training configurations, unmodified: it is
// shown the job's configuration as its ranks had it when they started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/detectors/detector.h"
#include "results/external/memo.h"

namespace deadrank::results::external {

// What it is shown: its own YAML form, one for each set of processes whose configuration is the same.
struct LintedConfiguration {
    std::vector<Rank> processes;  // ascending
    std::string yaml;
};
std::vector<LintedConfiguration> linted_configurations(const Evidence& evidence);

struct LintViolation {
    std::string rule, message;
    bool operator==(const LintViolation&) const = default;
};
// Errors: bad_input, when it is no answer of `traincheck check --json`.
scenarios::Result<std::vector<LintViolation>> read_lint(std::string_view json);

// What its rule warns of, in our words; empty for advice that describes no failure.
std::string_view symptom_of_lint_rule(std::string_view rule);

class TraincheckLint final : public Detector {
public:
    // Errors: environment, when it is not installed.
    static scenarios::Result<TraincheckLint> find(const Bounds& bounds = {});
    std::string_view name() const override { return "traincheck_lint"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<Finding> examine(const Evidence& evidence) const override;
    const std::string& version() const { return version_; }

private:
    std::string program_, version_;
    Bounds bounds_;
    mutable Memo memo_;
};

}  // namespace deadrank::results::external
