// tests/results/hand_made.h — Small evidence, truth and findings written by hand, for the tests of judge and
// reports.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

#include "results/judging/case.h"
#include "results/judging/judge.h"

namespace deadrank::tests {

using namespace std::chrono_literals;

inline results::Event event(results::Time at, results::Rank rank, results::Payload what) {
    return {at, rank, what};
}

// A job of `ranks` ranks on one node per four, started and in its first step.
inline results::Evidence started(std::int32_t ranks) {
    results::Evidence evidence;
    evidence.record(
        event(0s, results::no_rank, results::JobStart{.world_size = ranks, .nodes = (ranks + 3) / 4}));
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        evidence.record(event(1s, rank, results::RankStart{.pid = 1000 + rank, .node = rank / 4}));
    }
    for (std::int32_t rank = 0; rank < ranks; ++rank)
        evidence.record(event(2s, rank, results::StepBegin{.step = 0}));
    return evidence;
}

inline void log_line(results::Evidence& evidence, results::Time at, results::Rank rank, int level,
                     std::string_view line) {
    evidence.record(event(at, rank, results::RankLog{.level = level, .line = evidence.text(line)}));
}

inline void exits(results::Evidence& evidence, results::Time at, std::int32_t ranks, int code = 0) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        evidence.record(event(at, rank, results::RankExit{.code = code}));
    }
    evidence.record(event(at, results::no_rank, results::JobStop{.code = code}));
}

// Every rank finished; what a control run looks like.
inline results::Evidence healthy(std::int32_t ranks) {
    results::Evidence evidence = started(ranks);
    exits(evidence, 10s, ranks);
    evidence.finish(10s);
    return evidence;
}

// A fault on rank 3 in step 7, ten seconds into the run.
inline results::Truth truth_of_rank_3() {
    results::Truth truth;
    truth.marks.push_back({.at = 10s,
                           .kind = results::MarkKind::applied,
                           .fault = 0,
                           .blame = {.ranks = {3}, .nodes = {0}, .step = 7, .collective = "all_reduce"},
                           .says = "kill_rank on rank 3 in step 7 before all_reduce"});
    truth.ends.assign(8, results::RankEnd::stuck);
    return truth;
}

inline results::Truth truth_of_nothing(std::size_t ranks) {
    results::Truth truth;
    truth.ends.assign(ranks, results::RankEnd::finished);
    return truth;
}

// Plan and record as a run has them; the evidence is given back, to be judged again.
template <class E>
results::Judgement judge_as(scenarios::Variant variant, const scenarios::Expectation& expect,
                            const results::Truth& truth, E&& evidence,
                            const std::vector<results::Finding>& findings,
                            const results::Evidence* control = nullptr) {
    scenarios::Plan plan;
    plan.variant = variant;
    plan.expect = expect;
    results::Record record;
    record.evidence = std::move(evidence);
    record.truth = truth;
    auto judgement = results::judge(plan, record, findings, control);
    evidence = std::move(record.evidence);
    return judgement;
}

template <class E>
results::Judgement judge_fault(const scenarios::Expectation& expect, const results::Truth& truth,
                               E&& evidence, const std::vector<results::Finding>& findings,
                               const results::Evidence* control = nullptr) {
    return judge_as(scenarios::Variant::fault, expect, truth, evidence, findings, control);
}

template <class E>
results::Judgement judge_control(const results::Truth& truth, E&& evidence,
                                 const std::vector<results::Finding>& findings) {
    return judge_as(scenarios::Variant::control, {}, truth, evidence, findings);
}

inline scenarios::Expectation expect_hang_of_a_rank() {
    scenarios::Expectation expect;
    expect.symptom = "collective_deadlock_hang";
    expect.blames = {scenarios::BlameField::rank, scenarios::BlameField::step};
    expect.within = 60'000'000'000;
    return expect;
}

inline results::Finding hang_of(std::vector<results::Rank> ranks, results::Time at, std::int64_t step = 7) {
    return {.symptom = "collective_deadlock_hang",
            .detector = "collective_hang",
            .blame = {.ranks = std::move(ranks), .step = step, .collective = "all_reduce"},
            .at = at,
            .says = "rank 3 never entered all_reduce #7 of world"};
}

inline results::Finding finding(std::string symptom, std::vector<results::Rank> ranks, results::Time at) {
    return {.symptom = std::move(symptom),
            .detector = "straggler",
            .blame = {.ranks = std::move(ranks)},
            .at = at,
            .says = "it is slower than the others"};
}

}  // namespace deadrank::tests
