// Goal: who has not built the program reads in docs/ what it does: the pages are those that it writes, every
// word of a scenario file is told by `explain`, and what code reads from the environment is listed.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "runners/backends/sim/played_calls.h"
#include "runners/manual/meanings.h"
#include "scenarios/format/file_words.h"
#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/plan.h"
#include "sim/workloads/workload_catalog.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path source = DEADRANK_SOURCE_DIRECTORY;

Answer program(const std::string& arguments) {
    return shell("DEADRANK_CATALOG='" + (source / "scenarios/catalog").string() +
                 "' " DEADRANK_BINARY_DIRECTORY "/deadrank " + arguments);
}

std::string content(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// Pages that `deadrank help manual` does not write: TidyHouse.IsDrawn keeps structure.md, and the map,
// tutorials, guides, the course, explanations and measurements are written by hand.
bool is_written_elsewhere(const std::string& page) {
    return page == "README.md" || page == "how_it_decides.md" || page == "structure.md" ||
           page == "trials.md" || page.starts_with("measurements/") || page.starts_with("guides/") ||
           page.starts_with("tutorials/") || page.starts_with("course/");
}

std::map<std::string, std::string> pages_below(const fs::path& directory) {
    std::map<std::string, std::string> pages;
    if (!fs::exists(directory)) return pages;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        const std::string page = entry.path().lexically_relative(directory).generic_string();
        if (entry.is_regular_file() && !is_written_elsewhere(page)) pages[page] = content(entry.path());
    }
    return pages;
}

// UPDATE_DOCS=1 writes docs/ anew.
TEST(Manual, ThePagesInTheTreeAreThoseOfThisProgram) {
    const fs::path written = fs::path(testing::TempDir()) / "deadrank_manual_pages";
    fs::remove_all(written);
    const Answer answer = program("help manual --pages '" + written.string() + "'");
    ASSERT_EQ(answer.code, 0) << answer.out;
    const auto now = pages_below(written);
    ASSERT_GT(now.size(), 15u);
    if (std::getenv("UPDATE_DOCS")) {
        for (const auto& [name, text] : pages_below(source / "docs")) fs::remove(source / "docs" / name);
        fs::copy(written, source / "docs", fs::copy_options::recursive);
    }
    const auto kept = pages_below(source / "docs");
    const std::string remedy =
        "; write it with UPDATE_DOCS=1 build/tests/deadrank_tests --gtest_filter='Manual.ThePages*'";
    for (const auto& [name, text] : now) {
        const auto page = kept.find(name);
        ASSERT_NE(page, kept.end()) << "docs/" << name << " is missing" << remedy;
        EXPECT_TRUE(page->second == text) << "docs/" << name << " is stale" << remedy;
    }
    for (const auto& [name, text] : kept)
        EXPECT_TRUE(now.contains(name)) << "docs/" << name << " is no page any more" << remedy;
    fs::remove_all(written);
}

TEST(Manual, HasEveryCommandOptionAndWordOfAScenario) {
    const Answer manual = program("help manual");
    ASSERT_EQ(manual.code, 0) << manual.out;
    for (const char* word : {"## deadrank run", "--explore-order", "## kill_rank", "# Workload data_parallel",
                             "gpus_per_node", "collective_deadlock_hang", "before"}) {
        EXPECT_THAT(manual.out, HasSubstr(word));
    }
}

TEST(Manual, RefusesAFileThatCannotBeWritten) {
    const Answer answer = program("help manual --out /dev/null/manual.md");
    EXPECT_EQ(answer.code, 64);
    EXPECT_THAT(answer.out, HasSubstr("cannot be written"));
}

// The page of a workload is made of this: what a rank does in a step, as the simulator sees it.
TEST(PlayedCalls, AreThoseOfAStepInOrder) {
    const sim::WorkloadKind* kind = sim::find_workload("data_parallel");
    const scenarios::Value buckets{.type = scenarios::ValueType::integer, .number = 3};
    const auto job = runners::played_calls(*kind, {}, {{"buckets", buckets}});
    ASSERT_TRUE(job) << job.error().text();
    ASSERT_EQ(job->ranks.size(), 8u);
    std::vector<std::string> calls;
    for (const runners::PlayedCall& call : job->ranks[5]) {
        if (call.step != 1 || call.kind != sim::CallKind::collective) continue;
        calls.push_back(std::string(results::name_of(call.phase)) + " " + call.name + " " + call.comm);
    }
    EXPECT_THAT(calls, testing::ElementsAre("reduce all_reduce world", "reduce all_reduce world",
                                            "reduce all_reduce world", "optimizer all_reduce world"));
}

TEST(Explain, KnowsTheTablesKeysAndListsOfAScenarioFile) {
    for (const char* word : {"cluster", "when", "expect", "audit", "checkpoint_every", "link.bandwidth",
                             "until_step", "recovers_within", "seam", "NCCL_ALGO", "duration"}) {
        EXPECT_EQ(program(std::string("explain ") + word).code, 0) << word;
    }
    EXPECT_THAT(program("explain buckets").out,
                AllOf(HasSubstr("setting of workloads"), HasSubstr("data_parallel")));
    EXPECT_THAT(program("explain mpirun").out, HasSubstr("launcher"));
    const Answer unknown = program("explain chekpoint_every");
    EXPECT_EQ(unknown.code, 64);
    EXPECT_THAT(unknown.out, HasSubstr("did you mean 'checkpoint_every'?"));
}

// A word that the loader takes and that nobody explains would be a riddle.
TEST(Explain, HasAMeaningForEveryWordOfEveryClosedList) {
    std::set<std::pair<std::string, std::string>> told;
    for (const scenarios::ListedWord& one : scenarios::listed_words()) {
        EXPECT_TRUE(told.emplace(one.list, one.word).second) << one.word << " is told twice";
    }
    const auto choices = [](const std::vector<scenarios::Parameter>& parameters, const std::string& name) {
        return std::find_if(parameters.begin(), parameters.end(),
                            [&](const auto& one) { return one.name == name; })
            ->choices;
    };
    std::vector<std::string> values;
    for (int i = 0; i <= static_cast<int>(scenarios::ValueType::table); ++i)
        values.emplace_back(scenarios::type_name(static_cast<scenarios::ValueType>(i)));
    const std::map<std::string, std::vector<std::string>> lists = {
        {"launcher", choices(scenarios::cluster_parameters(), "launcher")},
        {"library", choices(scenarios::cluster_parameters(), "library")},
        {"topology", choices(scenarios::cluster_parameters(), "topology")},
        {"phase", choices(scenarios::trigger_parameters(), "phase")},
        {"reaction", scenarios::list_words<scenarios::WantedReaction>()},
        {"blame", scenarios::list_words<scenarios::BlameField>()},
        {"backend", scenarios::list_words<scenarios::BackendId>()},
        {"value", values},
    };
    for (const auto& [list, words] : lists) {
        for (const std::string& word : words) EXPECT_TRUE(told.contains({list, word})) << list << " " << word;
    }
}

// Names in quotes that code below these folders hands to a reader of the environment.
std::set<std::string> names_read(const std::vector<std::string>& folders, const std::regex& reader) {
    std::set<std::string> names;
    for (const std::string& folder : folders) {
        for (const auto& entry : fs::recursive_directory_iterator(source / folder)) {
            if (entry.path().extension() != ".cpp") continue;
            const std::string text = content(entry.path());
            for (std::sregex_iterator at(text.begin(), text.end(), reader), end; at != end; ++at)
                names.insert((*at)[1]);
        }
    }
    return names;
}

TEST(EnvironmentWords, ListWhatTheSimulatorAndTheProgramRead) {
    std::set<std::string> listed;
    for (const auto& one : runners::manual::environment_words()) listed.emplace(one.name);
    const auto in_jobs = names_read({"sim"}, std::regex(R"re(get\([^"()]*"([A-Z][A-Z0-9_]+)"\))re"));
    EXPECT_GE(in_jobs.size(), 8u);
    for (const std::string& name : in_jobs)
        EXPECT_TRUE(listed.contains(name)) << name << " steers a simulated job";
    // What deadrank tells its own processes, and what every program reads, is no setting of anybody.
    const std::set<std::string> inner = {"DEADRANK_EVIDENCE", "DEADRANK_FILES", "DEADRANK_PID",
                                         "DEADRANK_PLAN",     "DEADRANK_SEED",  "DEADRANK_STARTED"};
    for (const std::string& name :
         names_read({"runners", "results", "inject"}, std::regex(R"re(getenv\("(DEADRANK_[A-Z_]+)"\))re"))) {
        EXPECT_TRUE(listed.contains(name) || inner.contains(name)) << name << " steers deadrank";
    }
}

}  // namespace
}  // namespace deadrank::tests
