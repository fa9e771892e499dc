// results/external/promtool.h — promtool: runs its checks and tests of rules, and parses its output.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::external {

struct Sample {
    std::map<std::string, std::string> labels;
    double value = 0;
};

// One expression that gave other samples than the test file expected.
struct Mismatch {
    std::string expr;
    double time = 0;  // seconds
    std::vector<Sample> got;
};

// "FILE: LINE:COL: group "g", rule 1, "T": could not parse expression: …"
struct LoadTrouble {
    std::string file;
    int line = 0, column = 0;  // 0: of the file as a whole
    std::string words;

    std::string place() const { return line > 0 ? file + ":" + std::to_string(line) : file; }
};

// "rule: X, time: 0s, err: query processing would load too many samples …": a rule that failed while it ran.
struct RuleTrouble {
    std::string rule;
    std::string words;
    double time = 0;  // seconds
};

struct TestAnswer {
    int code = 0;
    std::vector<Mismatch> mismatches;
    std::vector<LoadTrouble> load;
    std::vector<RuleTrouble> rules;
    std::vector<std::string> other;  // lines of trouble that fit none of these
    double cpu_seconds = 0;
};

TestAnswer read_test_output(int code, const std::string& out, const std::string& err);

// "{a=\"b\", …} 1E+00, {…} 0E+00" or "nil"; nullopt for anything else.
std::optional<std::vector<Sample>> read_samples(std::string_view text);

class Promtool {
public:
    // Errors: environment, when there is no such program.
    static scenarios::Result<Promtool> find(const std::string& name = "promtool");

    const std::string& path() const { return path_; }
    const std::string& version() const { return version_; }  // "2.42.0+ds"

    scenarios::Result<std::vector<LoadTrouble>> check_rules(const std::string& file) const;

    // It is killed, and there is no answer, once `stopped` says so.
    scenarios::Result<TestAnswer> test_rules(const std::string& test_file,
                                             const std::function<bool()>& stopped = {}) const;

private:
    std::string path_, version_;
};

}  // namespace deadrank::results::external
