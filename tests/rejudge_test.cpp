// Goal: `deadrank judge` on the files of a run answers what `deadrank run` did: nothing that a verdict rests
// on is lost on the way to the disk and back.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runners/backends/sim/sim_runner.h"
#include "runners/pipeline/play_trial.h"
#include "runners/pipeline/run_files.h"
#include "tests/support/catalog.h"

namespace deadrank::tests {
namespace {

using results::Judgement;
using runners::Trialled;
namespace fs = std::filesystem;

class Rejudged : public testing::Test {
protected:
    Rejudged()
        : library_(*runners::open_library(fs::path(DEADRANK_BINARY_DIRECTORY) / "deadrank", extension_, "")) {
        options_.out = out_;
    }
    ~Rejudged() override { fs::remove_all(out_); }

    Trialled play(const scenarios::Scenario& scenario, runners::Runner& runner) const {
        return runners::play(scenario, {1}, runner, catalog_.vocabulary, options_);
    }

    void expect_same(const std::optional<Judgement>& run, const std::optional<Judgement>& files,
                     const std::string& which) const {
        ASSERT_EQ(run.has_value(), files.has_value()) << which;
        if (!run) return;
        EXPECT_TRUE(*run == *files) << which << ": " << name_of(run->verdict) << ", " << run->reason << " — "
                                    << name_of(run->job.reaction) << ", " << run->job.says
                                    << "\nfrom files: " << name_of(files->verdict) << ", " << files->reason
                                    << " — " << name_of(files->job.reaction) << ", " << files->job.says;
    }

    void expect_same(const Trialled& trialled) const {
        const results::Case& run = trialled.outcome;
        const auto judged = judge_directory(library_, run.directory);
        ASSERT_TRUE(judged) << judged.error().text();
        const results::Case& files = judged->outcome;
        expect_same(run.fault, files.fault, run.scenario);
        expect_same(run.control, files.control, run.scenario + ", control");
        expect_same(run.healed, files.healed, run.scenario + ", healed");
        EXPECT_EQ(run.verdict, files.verdict) << run.scenario;
        EXPECT_EQ(run.reason, files.reason) << run.scenario;
    }

    ShippedCatalog catalog_;
    runners::Extension extension_;
    runners::Library library_;
    runners::PipelineOptions options_;
    fs::path out_ = fs::path(testing::TempDir()) / fmt::format("deadrank_rejudged-{}", getpid());
};

class SlowRejudged : public Rejudged {};

TEST_F(SlowRejudged, EveryRunOfTheCatalogIsJudgedFromItsFilesAsItWasPlayed) {
    runners::SimRunner sim;
    for (const scenarios::Scenario& scenario : catalog_.scenarios) {
        expect_same(play(scenario, sim));
        fs::remove_all(out_);
    }
}

// Plays in the simulator, and claims of the run with the fault that a second lever was refused.
class HalfRefusing final : public runners::Runner {
public:
    std::string_view name() const override { return sim_.name(); }
    scenarios::Capabilities capabilities() const override { return sim_.capabilities(); }
    scenarios::Result<runners::Record> play(const scenarios::Plan& plan,
                                           const runners::RunOptions& options) override {
        auto record = sim_.run(plan, options);
        if (record && plan.variant == scenarios::Variant::fault)
            record->truth.marks.push_back(
                {.kind = results::MarkKind::refused, .fault = 0, .blame = {}, .says = "no such lever"});
        return record;
    }

private:
    runners::SimRunner sim_;
};

TEST_F(Rejudged, AHalfRefusedFaultIsUnknownInBoth) {
    HalfRefusing runner;
    const Trialled trialled = play(catalog_.named("communication/rank_leaves_all_reduce"), runner);
    EXPECT_EQ(trialled.outcome.verdict, results::Verdict::unknown);
    EXPECT_EQ(trialled.outcome.fault->outcome, results::Outcome::not_applied);
    expect_same(trialled);
}

// Goal: files that are not all there are said to be so, and never pass.
TEST_F(Rejudged, SaysWhatIsNotThere) {
    runners::SimRunner sim;
    const fs::path place =
        play(catalog_.named("communication/rank_leaves_all_reduce"), sim).outcome.directory;
    fs::remove_all(place / "control");
    auto judged = judge_directory(library_, place);
    ASSERT_TRUE(judged) << judged.error().text();
    EXPECT_FALSE(judged->outcome.control);
    ASSERT_EQ(judged->outcome.notes.size(), 1u);
    EXPECT_EQ(judged->outcome.notes.front(), runners::no_control_note);
    EXPECT_EQ(judged->outcome.verdict, results::Verdict::pass);

    fs::remove(place / "truth.json");
    judged = judge_directory(library_, place);
    ASSERT_TRUE(judged) << judged.error().text();
    EXPECT_EQ(judged->outcome.verdict, results::Verdict::unknown);
    EXPECT_EQ(judged->outcome.fault->outcome, results::Outcome::unjudged);
    EXPECT_NE(judged->outcome.reason.find("no truth to judge against"), std::string::npos);
    EXPECT_FALSE(judged->outcome.fault->findings.empty());

    judged = judge_directory(library_, place / "evidence.jsonl");
    ASSERT_TRUE(judged) << judged.error().text();
    EXPECT_NE(judged->outcome.reason.find("no plan to judge against"), std::string::npos);
}

// As a watched rank's hook writes it when its disk is full, and a copy that was cut short.
TEST_F(Rejudged, SaysWhatItsEvidenceLacks) {
    runners::SimRunner sim;
    const fs::path place =
        play(catalog_.named("communication/rank_leaves_all_reduce"), sim).outcome.directory;
    std::ifstream in(place / "evidence.jsonl");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto count = text.find(R"(,"events":)");  // a hook does not know it beforehand
    ASSERT_NE(count, std::string::npos);
    text.erase(count, text.find('}', count) - count);
    std::ofstream(place / "evidence.jsonl", std::ios::trunc)
        << text << R"({"t": 5000000000, "rank": 1, "kind": "evidence.lost", "why": "no space"})"
        << "\n"
        << R"({"t": 60000)";
    const auto judged = judge_directory(library_, place);
    ASSERT_TRUE(judged) << judged.error().text();
    ASSERT_EQ(judged->outcome.notes.size(), 2u);
    EXPECT_NE(judged->outcome.notes[0].find("the last line is incomplete"), std::string::npos);
    EXPECT_EQ(judged->outcome.notes[1], "evidence is missing: of rank 1 there is none after 5.0 s: no space");
}

}  // namespace
}  // namespace deadrank::tests
