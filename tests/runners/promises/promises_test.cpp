// tests/runners/promises/promises_test.cpp — Goal: a promise is judged by what workers did beside a control;
// a run whose fault did not happen proves nothing; mistakes in a file are named with their place; what is
// shipped can be read.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "runners/backends/process/job_processes.h"
#include "runners/pipeline/library.h"
#include "runners/promises/promise_overlay.h"
#include "runners/promises/promise_suite.h"
#include "runners/releases/collection.h"
#include "scenarios/format/reader.h"

namespace deadrank::tests {
namespace {

using namespace runners::promises;

WorkerEvent did(Moment at, int unit, int step, std::vector<int> samples) {
    WorkerEvent event;
    event.at = at;
    event.unit = unit;
    event.kind = EventKind::step;
    event.step = step;
    event.loss = std::to_string(step);
    event.samples = std::move(samples);
    return event;
}

WorkerEvent ended(Moment at, int unit, const std::string& parameters) {
    WorkerEvent event;
    event.at = at;
    event.unit = unit;
    event.kind = EventKind::final;
    event.digests = {{"parameters", parameters}, {"optimizer", "o"}, {"random", "r"}};
    return event;
}

constexpr Moment second = 1'000'000'000;

PlayedRun healthy() {
    PlayedRun run;
    run.over = true;
    for (int step = 0; step < 4; ++step) {
        for (int unit = 0; unit < 2; ++unit)
            run.events.push_back(did(step * second, unit, step, {step * 2 + unit}));
    }
    for (int unit = 0; unit < 2; ++unit) run.events.push_back(ended(4 * second, unit, "same"));
    return run;
}

// Killed in step 2, back from a checkpoint of step 1, three seconds later.
PlayedRun restarted() {
    PlayedRun run = healthy();
    run.last_fault = 2 * second;
    run.fault_step = 2;
    std::erase_if(run.events,
                  [](const WorkerEvent& event) { return event.step >= 2 || event.kind == EventKind::final; });
    for (int step = 1; step < 4; ++step) {
        for (int unit = 0; unit < 2; ++unit)
            run.events.push_back(did((step + 4) * second, unit, step, {step * 2 + unit}));
    }
    for (int unit = 0; unit < 2; ++unit) run.events.push_back(ended(9 * second, unit, "same"));
    run.hit = {1};
    return run;
}

PromiseVerdict judged(const PlayedRun& run, std::vector<Ask> asks, double within = 0) {
    const Promise promise{{"kill"}, "it goes on", "https://example.org", std::move(asks), within, 0};
    return verdict_of({.name = "one", .framework = "One"}, promise, run, healthy());
}

TEST(Promises, AreKeptWhereARestartEndsAsTheControl) {
    const PlayedRun run = restarted();
    const Measured measured = measure(run, healthy());
    EXPECT_TRUE(measured.finished);
    EXPECT_EQ(measured.redone, 1);
    EXPECT_EQ(measured.lost, 0);
    EXPECT_EQ(measured.twice, 0);
    EXPECT_DOUBLE_EQ(measured.goes_on.value_or(0), 5.0);  // step 3 is the first beyond the one that was hit
    EXPECT_EQ(
        judged(run, {Ask::finishes, Ask::same_parameters, Ask::no_sample_lost, Ask::no_sample_twice}).kept,
        Kept::kept);
    EXPECT_EQ(judged(run, {Ask::finishes}, 4).kept, Kept::late);
    EXPECT_EQ(judged(run, {Ask::steps_redone}).kept, Kept::broken);
}

TEST(Promises, AreBrokenByEachThingThatMayGoWrong) {
    PlayedRun other = restarted();
    other.events.back().digests["parameters"] = "another";
    EXPECT_EQ(judged(other, {Ask::finishes}).kept, Kept::kept);
    EXPECT_EQ(judged(other, {Ask::same_parameters}).kept, Kept::broken);
    EXPECT_EQ(judged(other, {Ask::replicas_agree}).kept, Kept::broken);

    PlayedRun skips = restarted();
    std::erase_if(skips.events, [](const WorkerEvent& event) { return event.step == 3 && event.unit == 1; });
    EXPECT_EQ(judged(skips, {Ask::no_sample_lost}).kept, Kept::broken);

    PlayedRun twice = restarted();
    twice.events.push_back(did(8 * second, 1, 4, {3}));
    EXPECT_EQ(judged(twice, {Ask::no_sample_twice}).kept, Kept::broken);

    PlayedRun left = restarted();
    left.processes_left = 2;
    EXPECT_EQ(judged(left, {Ask::nothing_left}).kept, Kept::broken);

    PlayedRun stuck = restarted();
    stuck.over = false;
    stuck.stuck = "no worker did anything for 40 s";
    EXPECT_EQ(judged(stuck, {Ask::finishes}).kept, Kept::broken);
    EXPECT_EQ(judged(stuck, {Ask::ends}).kept, Kept::broken);
    EXPECT_EQ(judged(stuck, {Ask::ends_with_error}).kept, Kept::broken);
}

TEST(Promises, AreUnknownWhereTheFaultDidNotHappen) {
    PlayedRun run = restarted();
    run.unpulled = "0 of 1 actions of the fault met their moment";
    EXPECT_EQ(judged(run, {Ask::finishes}).kept, Kept::unknown);

    PlayedRun alone = restarted();
    WorkerEvent back;
    back.unit = 1;
    back.kind = EventKind::begin;
    back.life = 2;
    alone.events.push_back(back);
    alone.events.push_back(did(10 * second, 1, 0, {1}));
    EXPECT_EQ(judged(alone, {Ask::replicas_agree}).kept, Kept::kept);  // it had finished itself
    std::erase_if(alone.events,
                  [](const WorkerEvent& event) { return event.kind == EventKind::final && event.unit == 1; });
    EXPECT_EQ(judged(alone, {Ask::replicas_agree}).kept, Kept::unknown);
}

// Goal: a hang and a delay on a machine without a free processor are the machine's; wrong numbers are not.
TEST(Promises, AreUnknownWhereTheMachineWasTooBusyForThem) {
    PlayedRun run = restarted();
    run.waited = 0.5;
    EXPECT_EQ(judged(run, {Ask::finishes}, 4).kept, Kept::late);
    run.waited = 0.9;
    EXPECT_EQ(judged(run, {Ask::finishes}).kept, Kept::kept);
    EXPECT_EQ(judged(run, {Ask::finishes}, 4).kept, Kept::unknown);
    EXPECT_EQ(judged(run, {Ask::steps_redone}).kept, Kept::broken);
    run.over = false;
    run.stuck = "not over after 90 s";
    EXPECT_EQ(judged(run, {Ask::finishes}).kept, Kept::unknown);
}

TEST(Promises, CountTheRestartsOfWorkersThatNoFaultEnded) {
    PlayedRun run = restarted();
    for (const int unit : {0, 1}) {
        WorkerEvent event;
        event.unit = unit;
        event.kind = EventKind::begin;
        event.life = 2;
        run.events.push_back(event);
    }
    EXPECT_EQ(measure(run, healthy()).lives, 2);
    EXPECT_EQ(judged(run, {Ask::others_live}).kept, Kept::broken);
    run.hit = {0, 1};
    EXPECT_EQ(judged(run, {Ask::others_live}).kept, Kept::kept);
}

TEST(Promises, TellTheWorstOfTheRunsOfACell) {
    PromiseCell cell{"one", "kill", nullptr, {}, ""};
    cell.runs = {{Kept::late, "12 s", ""}, {Kept::broken, "hangs", ""}, {Kept::kept, "", ""}};
    EXPECT_EQ(cell.worst().kept, Kept::broken);
    EXPECT_EQ(cell.text(), "broken (1 of 3)");
}

// Goal: a table is written anew from the lines of its cells; a later file takes the place of an earlier one,
// and a line that is no cell is named with its place.
TEST(Promises, AreTabledFromTheLinesOfTheirCells) {
    const auto book = load_promises();
    ASSERT_TRUE(book) << book.error().text();
    const PromiseSubject& subject = book->subjects.front();
    const std::filesystem::path first = testing::TempDir() + "promise_lines_1", second = first.string() + "b";
    PromiseCell cell{subject.name, "healthy", promise_under(subject, "healthy"), {}, "again"};
    cell.runs = {{Kept::broken, "it hangs", "9 s"}, {Kept::kept, "", "8 s"}};
    const std::string broken = promise_line(cell);
    std::ofstream(first) << broken;
    cell.runs = {{Kept::late, "12 s", ""}};
    std::ofstream(second) << promise_line(cell);

    auto table = table_of_lines(*book, {first});
    ASSERT_TRUE(table) << table.error().text();
    ASSERT_EQ(table->cells.size(), 1u);
    EXPECT_EQ(promise_line(table->cells.front()), broken);
    EXPECT_EQ(table->cells.front().text(), "broken (1 of 2)");
    table->about = "On a machine of two cores.";
    EXPECT_NE(promise_markdown(*table).find("On a machine of two cores."), std::string::npos);
    table = table_of_lines(*book, {first, second});
    ASSERT_TRUE(table && table->cells.size() == 1u);
    EXPECT_EQ(table->cells.front().worst().kept, Kept::late);

    for (const std::string bad : {"{", "[]", "{\"subject\": 3}", "null", "{\"subject\": \"torchft\"}"}) {
        std::ofstream(second) << broken << bad << "\n";
        const auto refused = table_of_lines(*book, {second});
        ASSERT_FALSE(refused) << bad;
        EXPECT_NE(refused.error().text().find("promise_lines_1b:2"), std::string::npos)
            << refused.error().text();
    }
    EXPECT_FALSE(table_of_lines(*book, {first.string() + "-not-there"}));
}

TEST(Promises, ReadNoTornLine) {
    EXPECT_FALSE(worker_event(R"({"at": 5, "event": "st)"));
    EXPECT_FALSE(worker_event(R"({"at": "five", "event": "step"})"));
    EXPECT_EQ(worker_event(R"({"at": 5, "unit": 1, "event": "step", "step": 3})")->step, 3);
}

TEST(PromiseFiles, NameMistakesWithTheirPlace) {
    const auto bad = parse_subject(
        "framework = \"X\"\nsays = \"Y.\"\n[[promise]]\nfaults = [\"kil\"]\ntext = \"t\"\n"
        "source = \"s\"\nasks = [\"finish\"]\n",
        "x.toml", {"kill"});
    ASSERT_FALSE(bad);
    const std::string text = bad.error().text();
    EXPECT_NE(text.find("x.toml:"), std::string::npos) << text;
    EXPECT_NE(text.find("there is no 'kil'"), std::string::npos) << text;
    EXPECT_NE(text.find("there is no 'finish'"), std::string::npos) << text;
    EXPECT_NE(text.find("starts nothing"), std::string::npos) << text;
    EXPECT_FALSE(parse_faults(
        "[[fault]]\nname = \"a\"\nsays = \"b\"\n[[fault.action]]\non = \"worker 1\"\ndoes = \"cut\"\n",
        "f.toml"));
}

TEST(PromiseFiles, ThatAreShippedCanBeReadAndPromiseUnderFifteenFaults) {
    const auto book = load_promises();
    ASSERT_TRUE(book) << book.error().text();
    EXPECT_GE(book->faults.size(), 16u);
    std::set<std::string> promised;
    int played = 0;
    for (const PromiseSubject& subject : book->subjects) {
        played += subject.unplayed.empty() ? 1 : 0;
        for (const Promise& promise : subject.promises) {
            EXPECT_TRUE(promise.source.starts_with("https://")) << subject.name;
            promised.insert(promise.faults.begin(), promise.faults.end());
        }
        for (const PromisedFault& fault : book->faults) {
            if (promise_under(subject, fault.name)) {
                EXPECT_EQ(cannot_have(subject, fault), "") << subject.name << " " << fault.name;
            }
        }
    }
    EXPECT_GE(played, 8);
    EXPECT_GE(promised.size(), 15u);
}

// Goal: the page lists as known breaks the scenarios of recovery in frameworks that promise to survive: each
// with its report and its releases, and no other.
TEST(PromiseFiles, ListTheKnownBreaksOfTheirFrameworks) {
    const auto page = scenarios::read_text(DEADRANK_SOURCE_DIRECTORY "/docs/measurements/known_breaks.md");
    ASSERT_TRUE(page) << page.error().text();
    const std::size_t begin = page->find("<!-- known breaks -->");
    const std::size_t end = page->find("<!-- end of the known breaks -->");
    ASSERT_TRUE(begin < end && end != std::string::npos);
    const std::string listed = page->substr(begin, end - begin);
    const runners::Extension extension;
    const auto library = runners::open_library(DEADRANK_BINARY_DIRECTORY "/deadrank", extension, "");
    ASSERT_TRUE(library) << library.error().text();
    const auto collection = runners::releases::open_collection(*library, {});
    ASSERT_TRUE(collection) << collection.error().text();
    const std::set<std::string> promising = {"accelerate", "pytorch-lightning",    "torchft-nightly", "ray",
                                             "jax",        "nvidia-resiliency-ext"};
    int known = 0;
    for (const auto& [scenario, release] : collection->bugs) {
        const bool ours =
            scenario.id.starts_with("fault_tolerance/") && promising.contains(release.bug.package);
        EXPECT_EQ(listed.find("(../../scenarios/releases/" + scenario.id + ".toml)") != std::string::npos,
                  ours)
            << scenario.id;
        if (!ours) continue;
        ++known;
        const std::string row = "| " + release.bug.package + " " + release.bug.version + " → " +
                                release.fixed.version + " | [" + scenario.bug.replays.front() + "](";
        EXPECT_NE(listed.find(row), std::string::npos) << row;
    }
    EXPECT_GE(known, 10);
    EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), known + 3);
}

// Goal: a process that leaves its session, its parent and its environment is counted as left behind.
TEST(DevicePromises, CountAProcessThatDroppedItsMark) {
    runners::adopt_orphans();
    const std::string mark = "DEADRANK_EVIDENCE=no_such_run";
    EXPECT_EQ(left_after_grace(mark), 0);
    ASSERT_EQ(std::system("setsid --fork env -i sleep 60; sleep 0.5"), 0);
    EXPECT_EQ(left_after_grace(mark), 1);
    EXPECT_EQ(runners::end_orphans(), 1);
    EXPECT_EQ(left_after_grace(mark), 0);
}

// Goal: one promise for real, where its packages are: a worker that raises below torchrun is restarted, and
// the training ends with the bits of the control. A run that is not kept is played twice more: torchelastic's
// own rendezvous sometimes closes under a machine's load (RendezvousClosedError), which is for the published
// table to tell and no defect of the suite. One run of three must be read as kept.
TEST(DevicePromises, TorchelasticGoesOnAfterAWorkerThatRaises) {
    const auto book = load_promises();
    ASSERT_TRUE(book) << book.error().text();
    for (const PromiseSubject& subject : book->subjects) {
        if (subject.name != "torchelastic") continue;
        if (const auto there = overlay_of(subject); !there) GTEST_SKIP() << there.error().text();
    }
    SuiteOptions options;
    options.subjects = {"torchelastic"};
    options.faults = {"worker_raises"};
    const auto table = play_suite(
        *book, options, [](const PromiseCell&) {}, [](const std::string&) {});
    ASSERT_TRUE(table) << table.error().text();
    ASSERT_EQ(table->cells.size(), 1u);
    const PromiseCell& cell = table->cells.front();
    const PromiseVerdict worst = cell.worst();
    EXPECT_TRUE(std::any_of(
        cell.runs.begin(), cell.runs.end(),
        [](const PromiseVerdict& run) { return run.kept == Kept::kept || run.kept == Kept::late; }))
        << cell.text() << ": " << worst.why << "; " << worst.told << "\nagain with: " << cell.again;
}

}  // namespace
}  // namespace deadrank::tests
