// Goal: reports begin with how to see it again, say who was blamed and who it was, and keep the keys that
// scripts read.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "results/judging/scorecard.h"
#include "results/reports/json_files.h"
#include "results/reports/terminal.h"
#include "tests/results/hand_made.h"

namespace deadrank::tests {
namespace {

using results::Case;
using results::Finding;
using results::Verdict;
using results::reports::Ink;
using results::reports::Style;
using testing::HasSubstr;

Case judged_case(const std::vector<Finding>& findings, std::uint64_t seed = 1) {
    Case one;
    one.scenario = "communication/rank_leaves_all_reduce";
    one.runner = "sim";
    one.seed = seed;
    one.bug = {"communication",
               "collective_deadlock_hang",
               "unpropagated_rank_failure",
               "validation_and_failure_handling",
               {}};
    one.expect = expect_hang_of_a_rank();
    one.fault = judge_fault(one.expect, truth_of_rank_3(), started(8), findings);
    one.control = judge_control(truth_of_nothing(8), healthy(8), {});
    one.healed = judge_control(truth_of_nothing(8), healthy(8), {});
    one.trace_hash = 0x0123456789abcdef;
    one.token = "dr1-build-sim-communication/rank_leaves_all_reduce-1-11111111-22222222-0123456789abcdef";
    one.excerpt = {R"({"at":10000000000,"rank":3,"kind":"rank.exit"})"};
    one.seconds = 0.25;
    one.conclude();
    return one;
}

Case good_case(std::uint64_t seed = 1) { return judged_case({hang_of({3}, 70s)}, seed); }
Case bad_case(std::uint64_t seed = 1) { return judged_case({hang_of({5}, 70s)}, seed); }

Case unknown() {
    Case one = judged_case({});
    one.fault->verdict = Verdict::unknown;
    one.fault->outcome = results::Outcome::not_applied;
    one.fault->reason = "the fault never happened: its `when` was never met";
    one.conclude();
    return one;
}

TEST(ScenarioLine, SaysWhatWasNoticedAboutWhomAndHowSoon) {
    EXPECT_EQ(scenario_line({good_case()}, 24, Style{}),
              "  ✔ rank_leaves_all_reduce       60.0 s  collective_deadlock_hang · rank 3 never entered "
              "all_reduce #7 of "
              "world\n");
    EXPECT_EQ(scenario_line({bad_case()}, 24, Style{}),
              "  ✘ rank_leaves_all_reduce       60.0 s  wrong rank: collective_hang blamed rank 5; it was "
              "rank 3\n");
}

TEST(ScenarioLine, LetsTheWorstSeedSpeakAndCountsTheOthers) {
    EXPECT_EQ(scenario_line({good_case(1), bad_case(2), good_case(3)}, 24, Style{}),
              "  ✘ rank_leaves_all_reduce      2/3       60.0 s  wrong rank: collective_hang blamed rank 5; "
              "it was rank 3\n");
}

TEST(ScenarioLine, NamesTheRunThatFailedWhenTheFaultWasCaught) {
    Case one = good_case();
    one.healed = judge_control(truth_of_nothing(8), healthy(8), {hang_of({1}, 5s)});
    one.conclude();
    EXPECT_THAT(scenario_line({one}, 24, Style{}),
                HasSubstr("       60.0 s  healed: nothing was wrong, but it raised an alarm"));
}

TEST(ScenarioLine, NeverGrowsWiderThanTheTerminal) {
    for (const std::size_t width : {60u, 80u, 100u, 140u}) {
        for (const Case& one : {good_case(), bad_case(), unknown()}) {
            std::string line = scenario_line({one}, 24, Style{.width = width});
            line.pop_back();
            EXPECT_LE(results::reports::columns_of(line), std::max<std::size_t>(width, 75)) << line;
        }
    }
}

TEST(FailureBlock, BeginsWithHowToSeeItAgainThenBlameThenEvidence) {
    EXPECT_EQ(
        failure_block(bad_case(), Style{}),
        "✘ communication/rank_leaves_all_reduce · seed 1 · sim\n"
        "    see it again  deadrank replay "
        "dr1-build-sim-communication/rank_leaves_all_reduce-1-11111111-22222222-0123456789abcdef\n"
        "                  deadrank run communication/rank_leaves_all_reduce --seed 1\n"
        "    because       collective_hang blamed rank 5; it was rank 3\n"
        "    was due       collective_deadlock_hang about rank 3, step 7, within 60.0 s\n"
        "    was said      collective_deadlock_hang about rank 5, step 7, all_reduce, 60.0 s after the fault "
        "(collective_hang): rank 3 never entered all_reduce #7 of world\n"
        "    the job       it hung\n"
        "    control       quiet, and every rank finished\n"
        "    healed        quiet, and every rank finished\n"
        "    evidence      {\"at\":10000000000,\"rank\":3,\"kind\":\"rank.exit\"}\n");
}

TEST(FailureBlock, WrapsWordsButNeverACommand) {
    const std::string block = failure_block(bad_case(), Style{.width = 72});
    EXPECT_THAT(block, HasSubstr(bad_case().token));
    EXPECT_THAT(
        block,
        HasSubstr("step 7,\n                  all_reduce, 60.0 s after the fault (collective_hang):\n"));
}

TEST(Style, ColoursOnlyWhenAsked) {
    EXPECT_THAT(failure_block(bad_case(), Style{}), testing::Not(HasSubstr("\033")));
    EXPECT_THAT(failure_block(bad_case(), Style{.color = true}),
                HasSubstr(Style{.color = true}.paint(Ink::red, "✘")));
}

TEST(EventText, IsOneLineThatLeavesOutWhatSaysNothing) {
    results::Evidence evidence;
    const auto words = [&](results::Time at, results::Rank rank, results::Payload what) {
        return results::reports::event_text(evidence, event(at, rank, what));
    };
    EXPECT_EQ(words(1'334'100'287ns, 0, results::RankExit{.code = -9, .signal = 9}),
              "    1.334100 s  rank 0    rank.exit         code -9, signal 9");
    EXPECT_EQ(
        words(60s, 3,
              results::CollectiveEnter{.comm = 1, .seq = 7, .count = 16, .op = results::Op::all_reduce}),
        "   60.000000 s  rank 3    collective.enter  comm 1, seq 7, count 16, op all_reduce");
    EXPECT_EQ(words(0s, results::no_rank, results::JobStop{.code = 1, .reason = evidence.text("one\ntwo")}),
              "    0.000000 s  job       job.stop          code 1, reason one two");
}

TEST(Scorecard, CountsWhatBecameOfTheAlarms) {
    const auto card = results::score_by_symptom({good_case(), good_case(2), bad_case(3), unknown()});
    ASSERT_EQ(card.rows.size(), 1u);
    const results::ScoreRow& row = card.total;
    EXPECT_EQ(row.cases, 4u);
    EXPECT_EQ(row.outcomes.at(results::Outcome::caught), 2u);
    EXPECT_EQ(row.outcomes.at(results::Outcome::wrong_rank), 1u);
    EXPECT_EQ(row.due, 3u) << "where the fault never happened no alarm is due";
    EXPECT_DOUBLE_EQ(*row.precision(), 2.0 / 3);
    EXPECT_DOUBLE_EQ(*row.recall(), 1.0);
    EXPECT_DOUBLE_EQ(*row.localisation(), 2.0 / 3);
    EXPECT_EQ(row.median_delay(), 60s);
    EXPECT_EQ(row.quiet, 8u);
}

TEST(Scorecard, CountsAnAlarmInTheControlAgainstPrecision) {
    Case one = good_case();
    one.control = judge_control(truth_of_nothing(8), healthy(8), {hang_of({3}, 5s)});
    one.conclude();
    const auto card = results::score_by_symptom({one});
    EXPECT_DOUBLE_EQ(*card.total.precision(), 0.5);
    EXPECT_EQ(card.total.quiet, 1u);
}

TEST(Scorecard, HasNoShareOfNothing) {
    const auto card = results::score_by_symptom({});
    EXPECT_FALSE(card.total.precision());
    EXPECT_EQ(results::share_text(card.total.recall()), "—");
    EXPECT_EQ(results::share_text(0.999), "99 %") << "only all is 100 %";
}

TEST(ScorecardTable, LeavesOutColumnsOfZeros) {
    const std::string table =
        scorecard_table(results::score_by_symptom({good_case(), bad_case(2)}), "", Style{});
    EXPECT_EQ(
        table,
        "                            cases  caught  wrong rank  precision  recall  named  median  longest\n"
        "  collective_deadlock_hang      2       1           1       50 %   100 %   50 %  60.0 s   60.0 s\n"
        "  all                           2       1           1       50 %   100 %   50 %  60.0 s   60.0 s\n");
}

TEST(LastLine, CountsAllThreeVerdicts) {
    const auto card = results::score_by_symptom({good_case(), bad_case(2), unknown()});
    EXPECT_EQ(last_line(card, 1.24, Style{}),
              "  1 pass · 1 fail · 1 unknown · control and healed runs quiet 6/6 · 1.2 s\n");
}

TEST(JsonLine, HasExactlyTheKeysThatScriptsRead) {
    const auto json = nlohmann::ordered_json::parse(results::reports::json_line(bad_case()));
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    EXPECT_THAT(keys, testing::ElementsAre("scenario", "runner", "seed", "verdict", "reason", "outcome",
                                           "control", "healed", "healed_as_control", "findings", "trace_hash",
                                           "token", "seconds"));
    EXPECT_EQ(json["verdict"], "fail");
    EXPECT_EQ(json["control"], "pass");
    EXPECT_EQ(json["trace_hash"], "0123456789abcdef");
    EXPECT_EQ(json["findings"][0]["blame"]["ranks"], std::vector<int>{5});
}

TEST(JsonLine, SurvivesBytesThatAreNoText) {
    Case one = bad_case();
    one.reason = "bad byte \xff here";
    EXPECT_TRUE(nlohmann::json::accept(results::reports::json_line(one)));
}

TEST(VerdictDocument, BeginsWithTheVerdictAndHowToSeeItAgain) {
    const auto json = nlohmann::ordered_json::parse(results::reports::verdict_document(bad_case()));
    EXPECT_EQ(json.begin().key(), "verdict");
    EXPECT_THAT(json["see_it_again"][0].get<std::string>(), testing::StartsWith("deadrank replay dr1-"));
    EXPECT_EQ(json["fault"]["outcome"], "wrong_rank");
    EXPECT_EQ(json["fault"]["culprit"]["ranks"], std::vector<int>{3});
}

TEST(Junit, SkipsTheUnknownAndTellsTheStoryOfAFailure) {
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(
        results::reports::junit_document({good_case(), bad_case(2), unknown()}).c_str()));
    const auto suite = document.child("testsuites").child("testsuite");
    EXPECT_EQ(suite.attribute("tests").as_int(), 3);
    EXPECT_EQ(suite.attribute("failures").as_int(), 1);
    EXPECT_EQ(suite.attribute("skipped").as_int(), 1);
    auto test = suite.child("testcase");
    EXPECT_EQ(std::string(test.attribute("classname").value()), "sim.communication");
    EXPECT_EQ(std::string(test.attribute("name").value()), "rank_leaves_all_reduce seed 1");
    EXPECT_FALSE(test.first_child());
    test = test.next_sibling();
    EXPECT_EQ(std::string(test.child("failure").attribute("type").value()), "wrong_rank");
    EXPECT_THAT(test.child("failure").text().get(), HasSubstr("see it again"));
    EXPECT_TRUE(test.next_sibling().child("skipped"));
}

TEST(Junit, IsXmlWhateverAForeignLogHolds) {
    Case one = bad_case();
    one.reason = "a bell \a and <markup> & \x01";
    pugi::xml_document document;
    EXPECT_TRUE(document.load_string(results::reports::junit_document({one}).c_str()));
}

TEST(FindingsFile, SaysWhatWasFound) {
    const auto file = std::filesystem::path(testing::TempDir()) / "deadrank_findings" / "findings.json";
    Finding full = hang_of({3, 5}, 70s);
    full.blame.nodes = {0, 1};
    full.blame.variable = "NCCL_SOCKET_IFNAME";
    full.blame.component = "nccl";
    full.blame.shard = "model-00003";
    full.causes = {"unpropagated_rank_failure"};
    const std::vector<Finding> findings = {full, finding("straggler_step_time_skew", {}, 1ns)};
    ASSERT_TRUE(results::reports::write_findings(findings, file));
    std::ifstream in(file);
    const auto json = nlohmann::json::parse(in);
    EXPECT_EQ(json.at("format"), 1);
    ASSERT_EQ(json.at("findings").size(), 2u);
    const auto& first = json.at("findings").at(0);
    EXPECT_EQ(results::blame_from(first.at("blame")), full.blame);
    EXPECT_EQ(first.at("symptom"), full.symptom);
    EXPECT_EQ(first.at("causes"), nlohmann::json(full.causes));
    EXPECT_EQ(json.at("findings").at(1).at("symptom"), "straggler_step_time_skew");
}

}  // namespace
}  // namespace deadrank::tests
