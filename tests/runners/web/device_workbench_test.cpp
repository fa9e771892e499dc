// Goal: the workbench plays real runs in child processes, keeps them within bounds, leaves none behind, and
// is used in a real browser; thirty learners find bugs in class mode and are shown no answer before.
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "results/processes/child.h"
#include "results/processes/private_directory.h"
#include "runners/extension/extension.h"
#include "runners/pipeline/library.h"
#include "runners/serve/http.h"
#include "runners/web/classroom.h"
#include "runners/web/http_answers.h"
#include "runners/web/workbench.h"
#include "scenarios/model/document.h"
#include "scenarios/model/text.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using results::processes::Child;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr const char* web_program = DEADRANK_BINARY_DIRECTORY "/deadrank";
// Each browser test leaves pictures of its pages here, for a person to look at.
constexpr const char* web_pictures = DEADRANK_BINARY_DIRECTORY "/tests/pictures";
constexpr const char* web_catalog = DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog";
const std::string killed_rank = "communication/rank_leaves_all_reduce";
const std::string real_code = "communication/finaliser_runs_on_rank_zero_only";

// A job that trains for minutes of real time.
const std::string endless_text = R"(format = 1
[bug]
stage = "communication"
symptom = "collective_deadlock_hang"
cause = "unpropagated_rank_failure"
fix = "validation_and_failure_handling"
[cluster]
nodes = 1
gpus_per_node = 2
time_limit = "100000h"
[workload]
kind = "data_parallel"
steps = 6000000
[[fault]]
kind = "kill_rank"
rank = 0
when = { step = 5999999 }
[expect]
symptom = "collective_deadlock_hang"
blames = ["rank"]
within = "90s"
)";

// A workbench whose runs may take `seconds`.
class Bench {
public:
    explicit Bench(std::chrono::seconds limit,
                   runners::web::EvidenceShelf::Read read = results::read_evidence)
        : library_(runners::open_library({}, extension_, web_catalog).value()),
          workbench_(runners::web::Workbench::open(
                         library_, {.access = "secret",
                                    .order = {.program = web_program, .catalog = web_catalog},
                                    .jobs = {.time = limit},
                                    .capabilities = {.backend = "sim", .levers = {"*"}, .workloads = {"*"}},
                                    .read = std::move(read)})
                         .value()) {}

    json fetch(const std::string& method, const std::string& path, const json& body = nullptr) {
        const auto answer =
            workbench_->answer({method, "/secret/api/" + path, body.is_null() ? "" : body.dump()});
        return json::parse(answer.body, nullptr, false);
    }
    int start(const json& order) { return fetch("POST", "jobs", order).value("job", 0); }
    json ended(int job) {
        for (int i = 0; i < 1200; ++i) {
            json state = fetch("GET", fmt::format("jobs/{}", job));
            if (state["state"] != "waiting" && state["state"] != "running") return state;
            std::this_thread::sleep_for(50ms);
        }
        return {{"state", "it never ended"}};
    }

private:
    const runners::Extension extension_{};
    runners::Library library_;
    std::unique_ptr<runners::web::Workbench> workbench_;
};

TEST(DeviceWeb, PlaysARunAsTheCommandDoes) {
    Bench bench(120s);
    const int job = bench.start({{"kind", "run"}, {"id", killed_rank}, {"seed", 7}});
    ASSERT_EQ(bench.ended(job)["state"], "done");
    const json result = bench.fetch("GET", fmt::format("jobs/{}/result", job));
    const Answer command =
        shell(fmt::format("{} run {} --seed 7 --json --catalog '{}'", web_program, killed_rank, web_catalog));
    EXPECT_EQ(result["case"]["token"], json::parse(command.out)["token"]);
    EXPECT_EQ(result["page"]["cases"][0]["runs"].size(), 3u);
    const double until = result["page"]["cases"][0]["runs"][0]["until"];
    const json late = bench.fetch("GET", fmt::format("jobs/{}/waits?variant=fault&at={:.0f}", job, until));
    EXPECT_GE(late["groups"].size(), 2u) << late.dump(1);
    const json healthy =
        bench.fetch("GET", fmt::format("jobs/{}/waits?variant=control&at={:.0f}", job, until));
    EXPECT_EQ(healthy["groups"].size(), 0u) << healthy.dump(1);
    const json known = bench.fetch("POST", "token", {{"token", result["case"]["token"]}});
    EXPECT_EQ(known["known"], true);
    EXPECT_EQ(known["seed"], 7);
}

// Its browser asks who waits for whom as soon as it shows a run.
TEST(DeviceWeb, ReadsTheEvidenceOfARunOnceAndBeforeItIsAskedFor) {
    std::atomic<int> reads = 0;
    Bench bench(120s, [&](const fs::path& file) {
        ++reads;
        return results::read_evidence(file);
    });
    const int job = bench.start({{"kind", "run"}, {"id", killed_rank}});
    ASSERT_EQ(bench.ended(job)["state"], "done");
    for (int i = 0; i < 600 && reads < 3; ++i) std::this_thread::sleep_for(50ms);
    ASSERT_EQ(reads, 3) << "fault, healed run and control";
    for (const char* variant : {"fault", "control", "healed", "fault"})
        for (const int at : {0, 1'000'000})
            EXPECT_TRUE(bench.fetch("GET", fmt::format("jobs/{}/waits?variant={}&at={}", job, variant, at))
                            .contains("groups"));
    EXPECT_EQ(reads, 3);
}

TEST(DeviceWeb, EndsARunWithoutEnd) {
    Bench bench(2s);
    const json state = bench.ended(bench.start({{"kind", "run"}, {"id", "endless"}, {"text", endless_text}}));
    EXPECT_EQ(state["state"], "out_of_time") << state.dump(1);
    EXPECT_THAT(state["trouble"].get<std::string>(), HasSubstr("was ended"));
}

TEST(DeviceWeb, RefusesARunThatNeedsMoreMemoryThanItGets) {
    std::string text = endless_text;
    text.replace(text.find("6000000"), 7, "6000000000");
    Bench bench(20s);
    const int job = bench.start({{"kind", "run"}, {"id", "large"}, {"text", text}});
    ASSERT_EQ(bench.ended(job)["state"], "done");
    const json one = bench.fetch("GET", fmt::format("jobs/{}/result", job))["case"];
    EXPECT_EQ(one["verdict"], "unknown");
    EXPECT_THAT(one["reason"].get<std::string>(), HasSubstr("--memory allows 2.0 GiB"));
}

TEST(DeviceWeb, CancelsARunAndPlaysTheNext) {
    Bench bench(120s);
    const int endless = bench.start({{"kind", "run"}, {"id", "endless"}, {"text", endless_text}});
    const int other = bench.start({{"kind", "run"}, {"id", "endless"}, {"text", endless_text}});
    const int third = bench.start({{"kind", "run"}, {"id", killed_rank}});
    EXPECT_EQ(bench.fetch("GET", fmt::format("jobs/{}", third))["state"], "waiting");
    bench.fetch("DELETE", fmt::format("jobs/{}", endless));
    EXPECT_EQ(bench.ended(endless)["state"], "cancelled");
    EXPECT_EQ(bench.ended(third)["state"], "done") << "two clients: one waits, and is played";
    bench.fetch("DELETE", fmt::format("jobs/{}", other));
    EXPECT_EQ(bench.ended(other)["state"], "cancelled");
    EXPECT_TRUE(bench.fetch("GET", fmt::format("jobs/{}/result", other)).contains("error"));
}

TEST(DeviceWeb, RefusesMoreRunsThanMayWait) {
    Bench bench(120s);
    json refused;
    for (int i = 0; i < 40 && !refused.contains("error"); ++i)
        refused = bench.fetch("POST", "jobs", {{"kind", "run"}, {"id", "endless"}, {"text", endless_text}});
    EXPECT_THAT(refused.dump(), HasSubstr("waiting already"));
}

// The addresses that it prints, once all are there.
std::vector<std::string> addresses_of(Child& child) {
    std::string text;
    for (int i = 0; i < 3000 && text.find("Ctrl-C") == std::string::npos; ++i) {
        if (!child.output.read(text)) std::this_thread::sleep_for(20ms);
    }
    std::vector<std::string> addresses;
    for (const std::string_view line : scenarios::parts_of(text, '\n'))
        if (line.starts_with("http://")) addresses.emplace_back(line);
    addresses.resize(2);
    return addresses;
}

Child start_web(const std::vector<std::string>& more = {}) {
    std::vector<std::string> argv = {web_program, "web", "--port", "0", "--catalog", web_catalog};
    argv.insert(argv.end(), more.begin(), more.end());
    Child child = Child::start({.argv = argv, .ends_with_us = true}).value();
    child.output.never_block();
    return child;
}

std::vector<int> children_of(int pid) {
    std::vector<int> children;
    for (const auto& one : fs::directory_iterator("/proc")) {
        const std::string stat = scenarios::read_text(one.path() / "stat").value_or("");
        const std::size_t name_end = stat.rfind(')');
        if (name_end == std::string::npos) continue;
        int parent = 0;
        if (std::sscanf(stat.c_str() + name_end, ") %*c %d", &parent) == 1 && parent == pid)
            children.push_back(std::stoi(one.path().filename().string()));
    }
    return children;
}

TEST(DeviceWeb, LeavesNothingRunningAfterCtrlC) {
    Child web = start_web();
    const auto there = runners::serve::address_of(addresses_of(web)[0]);
    ASSERT_TRUE(there) << there.error().text();
    const json order = {{"kind", "run"}, {"id", "endless"}, {"text", endless_text}};
    const auto started = runners::serve::fetch(*there, {"POST", "/api/jobs", order.dump()}, {}, 20);
    ASSERT_TRUE(started) << started.error().text();
    std::vector<int> runs;
    for (int i = 0; i < 200 && runs.empty(); ++i) {
        runs = children_of(web.pid());
        std::this_thread::sleep_for(20ms);
    }
    ASSERT_FALSE(runs.empty());
    kill(web.pid(), SIGINT);
    EXPECT_TRUE(web.wait().well());
    for (const int run : runs) EXPECT_FALSE(fs::exists(fmt::format("/proc/{}", run))) << run;
}

TEST(DeviceWeb, IsUsedInABrowserAndItsLinkInAnother) {
    Child here = start_web(), elsewhere = start_web();
    const Answer answer = shell(fmt::format("python3 '" DEADRANK_SOURCE_DIRECTORY
                                            "/tests/browser/check_workbench.py' '{}' '{}' '{}'",
                                            addresses_of(here)[0], addresses_of(elsewhere)[0], web_pictures));
    if (answer.code == 77) GTEST_SKIP() << answer.out;
    EXPECT_EQ(answer.code, 0) << answer.out;
}

TEST(DeviceWeb, HoldsAClassInABrowser) {
    Child room = start_web({"--class", killed_rank});
    const auto addresses = addresses_of(room);
    const Answer answer = shell(fmt::format("python3 '" DEADRANK_SOURCE_DIRECTORY
                                            "/tests/browser/check_class.py' '{}' '{}' '{}'",
                                            addresses[0], addresses[1], web_pictures));
    if (answer.code == 77) GTEST_SKIP() << answer.out;
    EXPECT_EQ(answer.code, 0) << answer.out;
}

// ── Class mode.

class DeviceClass : public testing::Test {
protected:
    void SetUp() override {
        library_ = runners::open_library({}, extension_, web_catalog).value();
        const std::atomic<bool> never_stop = false;
        runners::web::Jobs jobs({});
        auto puzzles = runners::web::make_puzzles(
            library_, {killed_rank, "scheduling/one_slow_device", real_code}, 1, order_, jobs, never_stop);
        ASSERT_TRUE(puzzles) << puzzles.error().text();
        puzzles_ = *puzzles;
        runners::web::Classroom::Options options;
        options.learners = "join";
        options.teacher = "board";
        options.order = order_;
        options.order.program = counted_program();
        classroom_ = std::make_unique<runners::web::Classroom>(library_, std::move(*puzzles), options);
        server_ = runners::serve::HttpServer::listen("127.0.0.1", 0, [this](const auto& request) {
                      return classroom_->answer(request);
                  }).value();
    }

    // The program, which notes each run of a class in a file.
    fs::path counted_program() const {
        const fs::path program = place_.path() / "deadrank";
        std::ofstream(program) << fmt::format("#!/bin/sh\necho \"$2\" >> '{}'\nexec '{}' \"$@\"\n",
                                              (place_.path() / "played").string(), web_program);
        fs::permissions(program, fs::perms::owner_all);
        return program;
    }
    std::vector<std::string> played() const {
        const std::string text = scenarios::read_text(place_.path() / "played").value_or("");
        std::vector<std::string> lines;
        for (const std::string_view line : scenarios::parts_of(text, '\n'))
            if (!line.empty()) lines.emplace_back(line);
        return lines;
    }

    json post(const std::string& path, const json& body) const {
        const auto answer =
            runners::serve::fetch(server_->port(), {"POST", "/join/api/" + path, body.dump()}, {}, 60)
                .value();
        json told = json::parse(answer.body, nullptr, false);
        told["status"] = answer.status;
        return told;
    }

    const runners::Extension extension_{};
    runners::Library library_;
    const results::processes::PrivateDirectory place_ = results::processes::PrivateDirectory::make().value();
    runners::web::OrderOptions order_{.program = web_program, .catalog = web_catalog};
    std::vector<runners::web::Puzzle> puzzles_;
    std::unique_ptr<runners::web::Classroom> classroom_;
    std::unique_ptr<runners::serve::HttpServer> server_;
};

// Every learner looks at all evidence of all bugs, guesses one wrong and then right, and tries all of its
// fixes. The limits are those of the command.
TEST_F(DeviceClass, IsSolvedByFortyLearnersWhoAreShownNoAnswerBefore) {
    constexpr int learners_count = 40;
    std::vector<std::thread> learners;
    std::mutex mutex;
    std::vector<std::string> complaints;
    const auto complain = [&](const std::string& what) {
        const std::lock_guard lock(mutex);
        complaints.push_back(what);
    };
    for (int i = 0; i < learners_count; ++i) {
        learners.emplace_back([&, i] {
            const json joined = post("join", {{"name", fmt::format("learner {}", i)}});
            const std::string key = joined.value("key", "");
            if (key.empty()) return complain(joined.dump());
            const auto act = [&](const std::string& what, json body, std::size_t number = 0) {
                body["key"] = key;
                body["puzzle"] = number;
                return post(what, body);
            };
            for (std::size_t number = 0; number < puzzles_.size(); ++number) {
                const runners::web::Puzzle& puzzle = puzzles_[number];
                json seen;
                for (std::size_t look = 0; look < puzzle.looks.size(); ++look)
                    seen = act("look", {{"look", look}}, number);
                const std::string name = puzzle.scenario.substr(puzzle.scenario.find('/') + 1);
                for (const std::string& secret : {puzzle.cause, puzzle.answer, puzzle.why, name})
                    if (seen.dump().find(json(secret).dump().substr(1, 40)) != std::string::npos)
                        complain("told: " + secret);
                if (seen.contains("fixes") || seen.contains("answer"))
                    complain("fixes or answer before the guess");
            }
            const runners::web::Puzzle& puzzle = puzzles_[0];
            if (act("fix", {{"fix", puzzle.right_fix}})["status"] != 409) complain("a fix before the guess");
            const auto guess = [&](results::Rank rank, std::int64_t step) {
                return act("guess", {{"rank", rank}, {"step", step}, {"cause", puzzle.cause}})["found"] ==
                       true;
            };
            const results::Rank rank = puzzle.culprits.front();
            if (guess((rank + 1) % 8, *puzzle.step)) complain("wrong rank");
            if (guess(rank, *puzzle.step + 1)) complain("wrong step");
            if (!guess(rank, *puzzle.step)) complain("right guess");
            for (std::size_t k = 1; k <= puzzle.fixes.size(); ++k) {
                const std::size_t fix = (puzzle.right_fix + k) % puzzle.fixes.size();
                json state = act("fix", {{"fix", fix}});
                for (int poll = 0; poll < 3000 && state.value("trying", false); ++poll) {
                    std::this_thread::sleep_for(100ms);
                    state = post("state", {{"key", key}})["puzzles"][0];
                }
                if (state["fixed"] != (fix == puzzle.right_fix)) complain(state.dump());
            }
        });
    }
    for (auto& learner : learners) learner.join();
    EXPECT_THAT(complaints, testing::IsEmpty());
    EXPECT_LE(played().size(), puzzles_[0].fixes.size()) << "equal tries are one run";
    const auto csv = classroom_->answer({"GET", "/board/board.csv", ""});
    EXPECT_EQ(std::count(csv.body.begin(), csv.body.end(), '\n'), 1 + learners_count * 3);
    EXPECT_THAT(csv.body, HasSubstr("\"learner 17\",\"" + killed_rank + "\","));
}

TEST_F(DeviceClass, ShowsWhatAnEngineerWouldHave) {
    const std::string key = post("join", {{"name", "Ada"}})["key"];
    const json state = post("state", {{"key", key}})["puzzles"];
    const std::string program = state[2]["program"].dump();
    EXPECT_THAT(program, HasSubstr("if rank == 0:\",")) << "the bug's own line";
    EXPECT_THAT(program, HasSubstr("finalise(step)"));
    EXPECT_THAT(program, Not(HasSubstr(real_code)));
    EXPECT_EQ(state[0]["program"], json::array());
    EXPECT_THAT(state[0]["watched"].get<std::string>(),
                HasSubstr("no launcher watches the ranks; no watchdog"));
    EXPECT_THAT(state[0]["seen"].dump(), HasSubstr("The job did not end"));
    EXPECT_THAT(state[0]["sees"].get<std::string>(), Not(HasSubstr("The report says")));
    EXPECT_THAT(state[0]["reported"].get<std::string>(), HasSubstr("Every GPU is busy"));
    EXPECT_EQ(state[0]["asks_step"], true);
    EXPECT_EQ(state[1]["asks_step"], false);
}

// A wrong fix that changes settings is played with them; one that changes none is not played, and says so.
TEST_F(DeviceClass, PlaysWhatWasChosenOrSaysThatItDoesNot) {
    const runners::web::Puzzle& puzzle = puzzles_[0];
    const std::string key = post("join", {{"name", "Ada"}})["key"];
    const auto act = [&](const std::string& what, json body) {
        body["key"] = key;
        body["puzzle"] = 0;
        return post(what, body);
    };
    act("guess", {{"rank", puzzle.culprits.front()}, {"step", *puzzle.step}, {"cause", puzzle.cause}});
    std::size_t runs = 0, changed = 0;
    for (std::size_t k = 1; k < puzzle.fixes.size(); ++k) {
        const std::size_t fix = (puzzle.right_fix + k) % puzzle.fixes.size();
        json state = act("fix", {{"fix", fix}});
        for (int poll = 0; poll < 600 && state.value("trying", false); ++poll) {
            std::this_thread::sleep_for(100ms);
            state = post("state", {{"key", key}})["puzzles"][0];
        }
        const bool plays = !puzzle.fixes[fix].settings.empty();
        EXPECT_THAT(state["last_try"].get<std::string>(),
                    testing::StartsWith(plays ? "played with" : "not played"));
        EXPECT_EQ(state["fixed"], false);
        runs += plays ? 1 : 0;
        ASSERT_EQ(played().size(), runs) << puzzle.fixes[fix].says;
        if (plays && played().back() != killed_rank) ++changed;
    }
    EXPECT_GT(runs, 0u) << "no fix that is offered changes a setting";
    EXPECT_EQ(changed, runs) << "a text of its own is played, not the catalogue's";
}

TEST_F(DeviceClass, PlaysNothingThatALearnerMayAskFor) {
    const std::string key = post("join", {{"name", "Ada"}})["key"];
    EXPECT_EQ(post("join", {{"name", "Ada"}})["status"], 409) << "one name, one learner";
    EXPECT_EQ(post("join", {{"name", "  "}})["status"], 400);
    EXPECT_EQ(post("join", {{"name", "José"}})["name"], "José");
    EXPECT_EQ(post("join", {{"name", "\u009b31mred"}})["name"], "\\u009b31mred")
        << "U+009B commands a terminal";
    EXPECT_EQ(post("join", {{"name", std::string(39, 'a') + "é"}})["name"], std::string(39, 'a'))
        << "in whole letters";
    EXPECT_EQ(post("jobs", {{"kind", "run"}, {"id", killed_rank}, {"key", key}, {"puzzle", 0}})["status"],
              404);
    EXPECT_EQ(post("fix", {{"key", key}, {"puzzle", 7}, {"fix", 0}})["status"], 400);
    EXPECT_EQ(post("look", {{"key", "no key"}, {"puzzle", 0}})["status"], 403);
    for (const char* path : {"/join/api/board", "/join/board.csv", "/join/api/catalog", "/board2/api/board"})
        EXPECT_GE(classroom_->answer({"GET", path, ""}).status, 403) << path;
    for (const char* file : {"/join/", "/join/app.js"}) {
        const auto answer = classroom_->answer({"GET", file, ""});
        EXPECT_EQ(answer.status, 200);
        for (const auto& puzzle : puzzles_) EXPECT_THAT(answer.body, Not(HasSubstr(puzzle.answer)));
    }
}

}  // namespace
}  // namespace deadrank::tests
