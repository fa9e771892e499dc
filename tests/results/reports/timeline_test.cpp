// Goal: a rank's begins and ends become slices that tell the truth about what never ended; ranks that did the
// same become one row, suspects never, and what was left out or blurred is said.
#include "results/reports/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "results/reports/trace.h"
#include "tests/results/evidence_builder.h"

namespace deadrank::tests {
namespace {

using namespace results::reports;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Slice* last_of(const Timeline& timeline, Rank rank, Lane lane) {
    const auto& slices = timeline.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = slices.size(); i > 0; --i) {
        if (timeline.kinds[slices[i - 1].kind].lane == lane) return &slices[i - 1];
    }
    return nullptr;
}

// Eight ranks; rank 3 dies on its way into the third all-reduce, and the others wait.
Evidence hang() {
    EvidenceBuilder job(8);
    job.start().world().step(0).step(1);
    for (const Rank rank : job.everybody()) job.add(rank, StepBegin{2});
    job.after(100ms).exits(3, -9, 9);
    for (const Rank rank : job.everybody_but(3)) job.enters(rank, 1, 3);
    return job.watched(60s);
}

TEST(Timeline, TellsWhoIsInWhichCallAndWhoIsGone) {
    const Evidence evidence = hang();
    const Timeline timeline = timeline_of(evidence);
    ASSERT_EQ(timeline.ranks.size(), 8u);
    const Slice* call = last_of(timeline, 0, Lane::call);
    ASSERT_TRUE(call);
    EXPECT_EQ(call->end, never);
    EXPECT_EQ(call->number, 3);
    EXPECT_EQ(timeline.kinds[call->kind].label, "all_reduce of world");
    EXPECT_EQ(timeline.kinds[call->kind].detail, "1024 f32, sum");

    const Slice* dead = last_of(timeline, 3, Lane::work);
    ASSERT_TRUE(dead);
    EXPECT_EQ(timeline.kinds[dead->kind].label, "exited (signal 9)");
    const Slice* step = last_of(timeline, 3, Lane::step);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->end, dead->begin) << "what a rank had open ends with it";
    EXPECT_EQ(last_of(timeline, 3, Lane::call)->number, 2);
}

TEST(Timeline, EndsTheTimeOfTheDeadWhenTheyAreStartedAgain) {
    EvidenceBuilder job(1, 1);
    job.start().after(1s).exits(0, 1).after(2s).start().after(1s);
    const Evidence evidence = job.watched();
    const Timeline timeline = timeline_of(evidence);
    const Slice* dead = last_of(timeline, 0, Lane::work);
    ASSERT_TRUE(dead);
    EXPECT_EQ(dead->begin, Time(1s));
    EXPECT_EQ(dead->end, Time(3s));
}

TEST(Fold, MakesOneRowOfRanksThatDidTheSame) {
    const Evidence evidence = hang();
    const Timeline timeline = timeline_of(evidence);
    const Folded folded = fold(timeline, {}, 1'000'000);
    ASSERT_EQ(folded.rows.size(), 2u);
    EXPECT_THAT(folded.rows[0].ranks, ElementsAre(0, 1, 2, 4, 5, 6, 7));
    EXPECT_THAT(folded.rows[1].ranks, ElementsAre(3));
    EXPECT_THAT(folded.left_out, IsEmpty());
}

// Two tensor-parallel groups that do the same, each in a communicator of its own.
Evidence two_groups() {
    EvidenceBuilder job(4);
    job.start().world().comm(2, "tp", {0, 1}).comm(3, "tp", {2, 3});
    for (const Rank rank : job.everybody()) job.enters(rank, rank < 2 ? 2 : 3, 1);
    job.after(1ms);
    for (const Rank rank : job.everybody()) job.leaves(rank, rank < 2 ? 2 : 3, 1);
    return job.watched();
}

TEST(Fold, TakesGroupsOfOneNameForAlike) {
    const Evidence evidence = two_groups();
    const Folded folded = fold(timeline_of(evidence), {}, 1'000'000);
    ASSERT_EQ(folded.rows.size(), 1u);
    EXPECT_THAT(folded.rows[0].ranks, ElementsAre(0, 1, 2, 3));
}

TEST(Fold, KeepsSuspectsApart) {
    const Evidence evidence = hang();
    const Folded folded = fold(timeline_of(evidence), {5}, 1'000'000);
    ASSERT_EQ(folded.rows.size(), 3u);
    EXPECT_THAT(folded.rows[2].ranks, ElementsAre(5));
}

// Each rank's steps begin a little later than those of the rank before.
Evidence staggered(Rank ranks, std::int64_t steps, Time apart) {
    EvidenceBuilder job(ranks, 8);
    job.start();
    for (std::int64_t step = 0; step < steps; ++step) {
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step}).after(apart);
        for (const Rank rank : job.everybody()) job.add(rank, StepEnd{step, 1.0, 1.0}).after(apart);
    }
    return job.watched();
}

TEST(Fold, GrowsCoarserUntilItFitsAndSaysHowCoarse) {
    const Evidence evidence = staggered(64, 20, 1us);
    const Timeline timeline = timeline_of(evidence);
    const Folded fine = fold(timeline, {}, 1'000'000), coarse = fold(timeline, {}, 1'000);
    EXPECT_EQ(fine.rows.size(), 32u) << "of 2.5 ms no picture shows the 1 µs between two neighbours";
    EXPECT_LT(coarse.rows.size(), 8u);
    EXPECT_GT(coarse.tolerance, fine.tolerance);
    EXPECT_THAT(coarse.left_out, IsEmpty());
}

TEST(Fold, LeavesRowsOutOnlyWhenNothingElseHelpsAndNeverSuspects) {
    EvidenceBuilder job(32, 8);
    job.start();
    for (const Rank rank : job.everybody()) {
        for (std::int64_t step = 0; step <= rank; ++step) job.add(rank, StepBegin{step});
    }
    const Evidence evidence = job.watched();
    const Folded folded = fold(timeline_of(evidence), {31}, 300);
    EXPECT_FALSE(folded.left_out.empty());
    std::size_t shown = 0;
    bool suspect = false;
    for (const Row& row : folded.rows) {
        shown += row.ranks.size();
        suspect |= row.ranks.front() == 31;
    }
    EXPECT_EQ(shown + folded.left_out.size(), 32u);
    EXPECT_TRUE(suspect);
}

TEST(Encode, WritesBase64AsTheStandardSays) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foo"), "Zm9v");
    EXPECT_EQ(base64(std::string("\xff\x00\xfe\x80", 4)), "/wD+gA==");
}

TEST(Encode, TellsAShapeOnceForAllRowsThatHaveIt) {
    const Evidence evidence = staggered(64, 20, 10us);
    const Timeline timeline = timeline_of(evidence);
    const Folded folded = fold(timeline, {}, 1'000'000);
    ASSERT_EQ(folded.rows.size(), 32u);
    const EncodedRows encoded = encode(timeline, folded.rows);
    EXPECT_LT(encoded.shapes.size(), 200u);
    EXPECT_GT(encoded.times.size(), 32u * 20u * 2u);
}

using nlohmann::json;

TEST(Trace, HasSlicesArrowsAndCountersThatPerfettoReads) {
    const Evidence evidence = hang();
    const Trace trace = trace_of(evidence, {}, nullptr);
    const json read = json::parse(trace.json);
    EXPECT_EQ(read["traceEvents"].size(), trace.events);
    EXPECT_THAT(trace.left_out, IsEmpty());
    std::map<std::string, int> phases;
    std::map<std::string, std::pair<int, int>> arrows;  // begins and ends of each
    for (const json& event : read["traceEvents"]) {
        const std::string phase = event["ph"];
        ++phases[phase];
        if (phase == "s") ++arrows[event["id"]].first;
        if (phase == "f") ++arrows[event["id"]].second;
        if (phase == "X") {
            EXPECT_GE(event["dur"].get<double>(), 0) << event;
        }
    }
    EXPECT_GT(phases["X"], 8 * 4);
    EXPECT_EQ(phases["C"], 2) << "a loss for each step that ended";
    for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, std::pair(1, 1)) << id;
    EXPECT_THAT(trace.json, HasSubstr("all_reduce of world (never ended)"));
}

TEST(Trace, DrawsArrowsFromTheLastThatCame) {
    EvidenceBuilder job(3, 4);
    job.start().world().enters(0, 1, 1).after(1ms).enters(1, 1, 1).after(1ms).enters(2, 1, 1).after(1ms);
    for (const Rank rank : job.everybody()) job.leaves(rank, 1, 1);
    const Evidence evidence = job.watched();
    const json read = json::parse(trace_of(evidence, {}, nullptr).json);
    int begins = 0;
    for (const json& event : read["traceEvents"]) {
        if (event["ph"] != "s") continue;
        ++begins;
        EXPECT_EQ(event["tid"].get<int>() / 8, 2);
    }
    EXPECT_EQ(begins, 2);
}

TEST(Trace, DrawsNoArrowBetweenGroupsThatOnlyShareAName) {
    EvidenceBuilder job(4);
    job.start().world().comm(2, "tp", {0, 1}).comm(3, "tp", {2, 3});
    for (const Rank rank : job.everybody()) job.enters(rank, rank < 2 ? 2 : 3, 1).after(1ms);
    for (const Rank rank : job.everybody()) job.leaves(rank, rank < 2 ? 2 : 3, 1);
    const Evidence evidence = job.watched();
    std::map<std::string, std::set<int>> ends;
    const json read = json::parse(trace_of(evidence, {}, nullptr).json);
    for (const json& event : read["traceEvents"]) {
        if (event["ph"] == "s" || event["ph"] == "f") ends[event["id"]].insert(event["tid"].get<int>() / 8);
    }
    EXPECT_EQ(ends.size(), 2u);
    for (const auto& [id, ranks] : ends)
        EXPECT_TRUE(ranks == (std::set{0, 1}) || ranks == (std::set{2, 3})) << id;
}

TEST(Trace, StopsAtItsCapAndSaysWhatIsMissing) {
    const Evidence evidence = staggered(64, 20, 1us);
    const Trace trace =
        trace_of(evidence, {{.symptom = "x", .detector = "y", .blame = {.ranks = {63}}}}, nullptr, 1'000);
    EXPECT_LE(trace.events, 1'000u);
    EXPECT_THAT(trace.left_out, HasSubstr("did not fit into 1000 events"));
    EXPECT_THAT(trace.json, HasSubstr("\"rank 63\"")) << "who is blamed comes first";
    EXPECT_EQ(json::parse(trace.json)["otherData"]["left_out"], trace.left_out);
}

}  // namespace
}  // namespace deadrank::tests
