// tests/support/fake_runner.cpp — The least evidence that a judge can work with.
#include "tests/support/fake_runner.h"

namespace deadrank::runners::testing_runner {

namespace {

using results::Event;
using std::chrono::seconds;

scenarios::Setting ranks(std::int64_t rank) {
    return {.options = {{.type = scenarios::ValueType::ranks, .list = {rank}}}};
}
scenarios::Setting integer(std::int64_t number) { return {.options = {{.number = number}}}; }
scenarios::Setting text(std::string words) {
    return {.options = {{.type = scenarios::ValueType::text, .text = std::move(words)}}};
}

Record started_record() {
    Record record;
    record.evidence.record(
        {results::Time(0), results::no_rank, results::JobStart{8, 2, 4, record.evidence.text("train.py")}});
    for (results::Rank rank = 0; rank < 8; ++rank) {
        record.evidence.record({seconds(1), rank, results::RankStart{1000 + rank, rank / 4, rank % 4}});
    }
    return record;
}

}  // namespace

scenarios::Scenario killed_rank_scenario() {
    scenarios::Scenario scenario;
    scenario.id = "communication/killed";
    scenario.digest = "0123456789abcdef";
    scenario.bug = {"communication",
                    "collective_deadlock_hang",
                    "unpropagated_rank_failure",
                    "validation_and_failure_handling",
                    {}};
    scenario.workload_kind = "data_parallel";
    scenario.workload["steps"] = integer(4);
    scenarios::FaultSettings fault{.kind = "kill_rank"};
    fault.parameters["rank"] = ranks(3);
    fault.when.values["step"] = integer(2);
    fault.when.values["before"] = text("all_reduce");
    scenario.faults.push_back(fault);
    scenario.expect.symptom = "collective_deadlock_hang";
    scenario.expect.blames = {scenarios::BlameField::rank};
    scenario.expect.within = 600'000'000'000;
    return scenario;
}

Record finished_record() {
    Record record = started_record();
    for (results::Rank rank = 0; rank < 8; ++rank)
        record.evidence.record({seconds(9), rank, results::RankExit{}});
    record.evidence.record({seconds(10), results::no_rank, results::JobStop{}});
    record.evidence.finish(seconds(10));
    record.truth.ends.assign(8, results::RankEnd::finished);
    return record;
}

Record hung_record() {
    Record record = started_record();
    for (results::Rank rank = 0; rank < 8; ++rank) {
        record.evidence.record({seconds(2), rank, results::CommInitLeave{1}});
        if (rank == 3) continue;
        record.evidence.record({seconds(5), rank,
                                results::CollectiveEnter{1, 7, 16, -1, results::Op::all_reduce,
                                                         results::Dtype::f32, results::ReduceOp::sum}});
    }
    record.evidence.finish(seconds(300));
    record.truth.ends.assign(8, results::RankEnd::stuck);
    record.truth.marks.push_back({.at = seconds(5),
                                  .kind = results::MarkKind::applied,
                                  .fault = 0,
                                  .blame = {.ranks = {3}, .step = 2},
                                  .says = ""});
    return record;
}

}  // namespace deadrank::runners::testing_runner
