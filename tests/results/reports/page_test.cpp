// Goal: the page is one file whose data reads back, whatever a log line holds, and which stays small.
#include "results/reports/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/results/evidence_builder.h"
#include "tests/results/hand_made.h"

namespace deadrank::tests {
namespace {

using namespace results::reports;
using testing::HasSubstr;
using testing::Not;

nlohmann::json data_of(const std::string& html) {
    const std::string open = "<script type=\"application/json\" id=\"data\">";
    const std::size_t begin = html.find(open) + open.size();
    return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

std::string page_of(Evidence evidence, const Truth& truth, const std::vector<Finding>& findings) {
    Case one;
    one.scenario = "communication/rank_leaves_all_reduce";
    one.fault = judge_fault(expect_hang_of_a_rank(), truth, evidence, findings);
    one.conclude();
    Page page;
    page.add(0, one, {.title = "The one who never came", .story = "", .fix = ""},
             {{"fault", &evidence, &truth, &findings, &*one.fault}});
    return page.html({}, "class", "1 trial");
}

TEST(ReportPage, HoldsEverythingAndAsksTheNetworkForNothing) {
    const std::string html = page_of(started(8), truth_of_rank_3(), {hang_of({3}, 70s)});
    EXPECT_THAT(html, Not(HasSubstr("{{")));
    EXPECT_THAT(html, HasSubstr("class TimelineView"));
    EXPECT_THAT(html, Not(HasSubstr("src=\"http")));
    EXPECT_THAT(html, HasSubstr("default-src 'none'"));
    const auto data = data_of(html);
    EXPECT_EQ(data["cases"][0]["title"], "The one who never came");
    const auto& run = data["cases"][0]["runs"][0];
    EXPECT_EQ(run["suspects"].dump(), "[3]");
    EXPECT_EQ(run["marks"][0]["kind"], "fault.applied");
    EXPECT_EQ(run["alarms"][0]["answers"], true);
    EXPECT_EQ(run["world"], 8);
}

TEST(ReportPage, IsNotBrokenByWhatALogLineHolds) {
    Evidence evidence = started(8);
    const std::string evil = "</script><script>alert(1)</script> {{style}} <!-- \xff\xfe \\ \"";
    log_line(evidence, 11s, 2, 2, evil);
    evidence.finish(20s);
    const std::string html = page_of(std::move(evidence), truth_of_rank_3(), {});
    EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
    const auto lines = data_of(html)["cases"][0]["runs"][0]["logs"]["lines"];
    const std::string line = lines.back()[4];
    EXPECT_THAT(line, HasSubstr("</script><script>alert(1)</script> {{style}}"));
}

// Goal: a cell of the table leads to its case by the case's number on the page, however the threads brought
// them; what could not be told says why, and the simulator, which has no program of anybody's, has no cell.
TEST(ReportPage, HasATableOfHowProgramsStoodBugs) {
    const Subject ddp{"ddp", "PyTorch DDP", "torch 2.11.0", 10s, "DETAIL"};
    Page page;
    Case one;
    one.scenario = "communication/b_bug";
    page.stand(8, {"communication/b_bug", "cause", ddp, "deadrank run b_bug",
                   Grade{.reaction = Reaction::hung, .took = 66s, .says = "</script> watched"}});
    page.stand(3, {"communication/a_bug", "cause", ddp, "deadrank run a_bug", std::nullopt, "too slow"});
    page.stand(4, {});
    page.add(8, one, {}, {});
    page.add(7, one, {}, {});
    const auto standings = data_of(page.html({}, "class", "2 trials"))["standings"];
    ASSERT_EQ(standings.size(), 2u);
    EXPECT_EQ(standings[0]["case"], -1);
    EXPECT_EQ(standings[0]["untold"], "too slow");
    EXPECT_FALSE(standings[0].contains("response"));
    EXPECT_EQ(standings[1]["case"], 1);
    EXPECT_EQ(standings[1]["program"], "PyTorch DDP (torch 2.11.0, debug DETAIL)");
    EXPECT_EQ(standings[1]["took"], "≥ 66 s");
    EXPECT_EQ(standings[1]["good"], false);
    EXPECT_EQ(standings[1]["says"], "</script> watched");
    EXPECT_TRUE(data_of(page_of(started(8), {}, {}))["standings"].empty());
}

TEST(ReportPage, TellsWhoWaitsForWhom) {
    EvidenceBuilder job(8);
    job.start().world().step(0);
    job.exits(3, -9, 9);
    for (const Rank rank : job.everybody_but(3)) job.enters(rank, 1, 2);
    const Evidence evidence = job.watched(100s);
    const auto waits = waits_view(evidence, nullptr);
    ASSERT_EQ(waits["groups"].size(), 2u);
    EXPECT_EQ(waits["groups"][0]["ranks"], "3");
    EXPECT_EQ(waits["groups"][0]["says"], "exited (signal 9)");
    EXPECT_EQ(waits["groups"][1]["ranks"], "0-2,4-7");
    EXPECT_EQ(waits["groups"][1]["says"], "all_reduce (operation 2 of world)");
    EXPECT_EQ(waits["arrows"].dump(), "[[1,0]]");
}

// The rank that is waited for died first, and a watchdog ended the others long after.
TEST(ReportPage, TellsWhoWaitedUntilAWatchdogEndedTheWait) {
    EvidenceBuilder job(8);
    job.start().world().step(0);
    job.exits(3, -9, 9);
    for (const Rank rank : job.everybody_but(3)) job.enters(rank, 1, 2);
    job.after(600s);
    for (const Rank rank : job.everybody_but(3)) job.after(1ms).exits(rank, 1);
    const Evidence evidence = job.watched(10s);
    const auto waits = waits_view(evidence, nullptr);
    ASSERT_EQ(waits["groups"].size(), 2u) << waits.dump();
    EXPECT_EQ(waits["groups"][0]["ranks"], "3");
    EXPECT_EQ(waits["groups"][1]["ranks"], "0-2,4-7");
}

TEST(ReportPage, TellsAtAMomentNothingThatCameLater) {
    EvidenceBuilder job(8);
    job.start().world().step(0);
    for (const Rank rank : job.everybody_but(3)) job.enters(rank, 1, 2);
    job.after(10s).exits(3, -9, 9);
    const Evidence evidence = job.watched(100s);
    const Time exit = evidence.each<RankExit>().front()->at;
    const auto before = waits_at(evidence, exit - 1s), after = waits_at(evidence, exit + 1s);
    ASSERT_EQ(before["groups"].size(), 2u);
    EXPECT_EQ(before["groups"][0]["ranks"], "3");
    EXPECT_EQ(before["groups"][0]["says"], "still running, not waiting");
    EXPECT_EQ(after["groups"][0]["says"], "exited (signal 9)");
    EXPECT_EQ(after["groups"][1]["ranks"], "0-2,4-7");
    EXPECT_TRUE(waits_at(evidence, Time{0})["groups"].empty());
}

TEST(ReportPage, SeesNoWaitsInAHealthyJob) {
    EvidenceBuilder job(8);
    job.start().world().step(0).step(1).all_exit();
    const Evidence evidence = job.watched();
    EXPECT_TRUE(waits_view(evidence, nullptr)["groups"].empty());
}

TEST(ReportPage, NamesRanksThatWaitWhereTheEvidenceHasNoPeers) {
    EvidenceBuilder job(2);
    job.start().add(0, RendezvousEnter{0, 2, {}});
    const Evidence evidence = job.watched(std::chrono::seconds(60));
    const Json waits = waits_view(evidence, nullptr);
    ASSERT_EQ(waits["groups"].size(), 1u);
    EXPECT_EQ(waits["groups"][0]["ranks"], "0");
    EXPECT_EQ(waits["groups"][0]["says"], "rendezvous");
}

TEST(ReportPage, ShowsLinesAsTheyWerePrintedAndNoNamesOfEvents) {
    EvidenceBuilder job(2);
    job.start().add(1, RankExit{1, 0}).add(0, RankExit{0, 9});
    const Evidence evidence = job.watched();
    const std::string logs = logs_view(evidence).dump();
    EXPECT_THAT(logs, HasSubstr("exited with code 1"));
    EXPECT_THAT(logs, HasSubstr("killed by signal 9"));
    for (const char* name : {"rank.exit", "job.start", "signal 0"}) EXPECT_THAT(logs, Not(HasSubstr(name)));
}

// "source ranks text" of each line.
std::vector<std::string> lines_in(const Evidence& evidence) {
    const Json logs = logs_view(evidence);
    std::vector<std::string> lines;
    for (const Json& line : logs["lines"])
        lines.push_back(fmt::format("{}|{}", line[1].get<std::string>(), line[4].get<std::string>()));
    return lines;
}

TEST(ReportPage, PutsNoFoldedLineBeforeItsCause) {
    EvidenceBuilder one_by_one(2), all_at_once(2);
    one_by_one.start();
    all_at_once.start();
    for (const Rank rank : {0, 1}) {
        one_by_one.log(no_rank, fmt::format("Sending process {} closing signal SIGTERM", 1000 + rank), 1);
        one_by_one.add(rank, RankExit{-15, 15});
        all_at_once.log(no_rank, fmt::format("Sending process {} closing signal SIGTERM", 1000 + rank), 1);
    }
    for (const Rank rank : {0, 1}) all_at_once.add(rank, RankExit{-15, 15});
    EXPECT_THAT(
        lines_in(one_by_one.watched()),
        testing::ElementsAre("|started 2 ranks on 1 node", "|Sending process 1000 closing signal SIGTERM",
                             "0|killed by signal 15", "|Sending process 1001 closing signal SIGTERM",
                             "1|killed by signal 15"));
    EXPECT_THAT(
        lines_in(all_at_once.watched()),
        testing::ElementsAre("|started 2 ranks on 1 node", "|Sending process 1000 closing signal SIGTERM",
                             "|Sending process 1001 closing signal SIGTERM", "0,1|killed by signal 15"));
}

TEST(ReportPage, KeepsTheOrderInWhichARankPrinted) {
    EvidenceBuilder job(2);
    job.start();
    for (const char* words : {"a", "b", "a", "c"}) job.log(0, words, 1);
    for (const char* words : {"a", "b", "a", "c"}) job.log(1, words, 1);
    const Evidence alike = job.watched();
    EXPECT_THAT(lines_in(alike),
                testing::ElementsAre("|started 2 ranks on 1 node", "0,1|a", "0,1|b", "0,1|a", "0,1|c"));
    EvidenceBuilder other(2);
    other.start();
    for (const char* words : {"a", "b"}) other.log(0, words, 1);
    for (const char* words : {"b", "a"}) other.log(1, words, 1);
    const Evidence crossed = other.watched();
    EXPECT_THAT(lines_in(crossed), testing::ElementsAre("|started 2 ranks on 1 node", "0|a", "0,1|b", "1|a"));
}

TEST(ReportPage, ShowsALearnerNothingButEvidence) {
    EvidenceBuilder job(8);
    job.start().world().step(0).step(1).all_exit();
    const Evidence evidence = job.watched();
    Page page;
    page.add_blind(0, {"case-000000", "8 ranks", ""}, 1, evidence);
    const Json one = data_of(page.html({}, "class", "case-000000"))["cases"][0];
    EXPECT_EQ(one["blind"], true);
    const Json& run = one["runs"][0];
    for (const char* part : {"marks", "alarms", "ends", "suspects"}) EXPECT_TRUE(run[part].empty()) << part;
    EXPECT_TRUE(run["waits"]["groups"].empty());
    EXPECT_FALSE(run["rows"]["ranks"].empty());
}

TEST(ReportPage, FoldsWhatAllRanksLogAndKeepsErrorsOfVeryMany) {
    EvidenceBuilder job(8);
    job.start();
    for (const Rank rank : job.everybody()) job.log(rank, "NCCL WARN the same of all", 1);
    for (int i = 0; i < 2'000; ++i) job.after(2s).log(i % 8, fmt::format("line {}", i), i == 1'000 ? 2 : 0);
    const Evidence evidence = job.watched();
    const auto logs = logs_view(evidence);
    EXPECT_EQ(logs["lines"][1][1], "0-7");
    EXPECT_LT(logs["lines"].size(), 300u);
    EXPECT_EQ(logs["lines"].size() + logs["left_out"].get<std::size_t>(), 2'002u);
    EXPECT_THAT(logs.dump(), HasSubstr("line 1000\""));
}

// 512 ranks of which no two do anything at the same time: the worst case for folding.
TEST(ReportPage, StaysUnderTwoMegabytesForFiveHundredRanks) {
    EvidenceBuilder job(512, 8);
    job.start().world();
    for (std::int64_t step = 0; step < 40; ++step) {
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step}).after(37us);
        for (const Rank rank : job.everybody()) job.add(rank, PhaseBegin{step, Phase::forward}).after(41us);
        for (const Rank rank : job.everybody()) job.add(rank, PhaseEnd{step, Phase::forward}).after(43us);
        job.collective(1, step * 2 + 1, job.everybody());
        job.collective(1, step * 2 + 2, job.everybody());
        for (const Rank rank : job.everybody()) job.add(rank, StepEnd{step, 1.0, 1.0}).after(47us);
    }
    Evidence evidence = job.watched(60s);
    Truth truth;
    const std::string html = page_of(std::move(evidence), truth, {});
    EXPECT_LT(html.size(), 2'000'000u);
    const auto run = data_of(html)["cases"][0]["runs"][0];
    EXPECT_GT(run["rows"]["ranks"].size(), 1u);
    EXPECT_EQ(run["rows"]["left_out"], "");
}

}  // namespace
}  // namespace deadrank::tests
