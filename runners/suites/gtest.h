// runners/suites/gtest.h — Each scenario as a GoogleTest: call register_scenarios() before RUN_ALL_TESTS(). A
// test is named Stage.bug; a failure prints its story and the command that plays it again.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "runners/suites/suite.h"

namespace deadrank::runners::suites {

// One scenario under seeds 1 … `seeds`.
class ScenarioTest : public testing::Test {
public:
    ScenarioTest(std::shared_ptr<const Suite> suite, const scenarios::Scenario& scenario, std::uint64_t seeds)
        : suite_(std::move(suite)), scenario_(scenario), seeds_(seeds) {}

    void TestBody() override {
        for (std::uint64_t seed = 1; seed <= seeds_; ++seed) {
            const results::Case one = suite_->play(scenario_, seed);
            if (one.verdict == results::Verdict::pass) continue;
            if (!one.skipped.empty()) GTEST_SKIP() << one.skipped;
            ADD_FAILURE_AT(scenario_.file.c_str(), 1) << story_of(one);
        }
    }

private:
    const std::shared_ptr<const Suite> suite_;
    const scenarios::Scenario& scenario_;  // points into the suite
    const std::uint64_t seeds_;
};

// Returns how many tests were registered. A catalog that does not load becomes one failing test that says
// where.
inline std::size_t register_scenarios(const SuiteOptions& options, std::uint64_t seeds = 1) {
    auto opened = Suite::open(options);
    if (!opened) {
        class Refused : public testing::Test {
        public:
            explicit Refused(std::string text) : text_(std::move(text)) {}
            void TestBody() override { ADD_FAILURE() << text_; }

        private:
            const std::string text_;
        };
        const std::string text = opened.error().text();
        testing::RegisterTest("Scenarios", "Load", nullptr, nullptr, options.scenarios.c_str(), 1,
                              [text]() -> testing::Test* { return new Refused(text); });
        return 1;
    }
    const auto suite = std::make_shared<const Suite>(std::move(*opened));
    for (const scenarios::Scenario& scenario : suite->scenarios()) {
        const std::size_t slash = scenario.id.rfind('/');
        const std::string stage = slash == std::string::npos ? "scenarios" : scenario.id.substr(0, slash);
        testing::RegisterTest(stage.c_str(), scenario.id.substr(slash + 1).c_str(), nullptr, nullptr,
                              scenario.file.c_str(), 1, [suite, &scenario, seeds]() -> testing::Test* {
                                  return new ScenarioTest(suite, scenario, seeds);
                              });
    }
    return suite->scenarios().size();
}

}  // namespace deadrank::runners::suites
