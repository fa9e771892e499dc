// tests/support/fake_runner.h — A runner whose runs are told by the test, and a scenario for it to play.
#pragma once

#include <functional>

#include "runners/backend/runner.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners::testing_runner {

class FakeRunner final : public Runner {
public:
    using Play = std::function<scenarios::Result<Record>(const scenarios::Plan&)>;
    explicit FakeRunner(Play play) : play_(std::move(play)) {}

    std::string_view name() const override { return "fake"; }
    scenarios::Capabilities capabilities() const override {
        return {.backend = "fake", .levers = {"*"}, .workloads = {"*"}};
    }
    bool reads(const scenarios::Plan&, const std::string& setting) override { return setting != unread; }
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions&) override {
        return play_(plan);
    }

    std::string unread = {};  // a setting of the workload

private:
    Play play_;
};

// kill_rank on rank 3 in step 2 of data_parallel, two nodes of four.
scenarios::Scenario killed_rank_scenario();

// Every rank starts and finishes; with `hung`, all but rank 3 wait for ever in an all-reduce after it was
// killed.
Record finished_record();
Record hung_record();

}  // namespace deadrank::runners::testing_runner
