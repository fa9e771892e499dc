// tests/runners/alerts/alerts_command_test.cpp — Goal: an operator's own metrics and failures, a limit of
// time, Ctrl-C and a server that runs do what the help says; a server that redirects or never answers gives a
// sentence.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "results/external/promtool.h"
#include "results/processes/bounded.h"
#include "runners/serve/http.h"
#include "runners/serve/live_server.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class DeviceAlertsCommand : public testing::Test {
protected:
    void SetUp() override {
        if (!results::external::Promtool::find()) GTEST_SKIP() << "promtool is not installed";
        fs::remove_all(directory_);
        fs::create_directories(directory_);
    }
    void TearDown() override { fs::remove_all(directory_); }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(directory_ / name) << text;
        return (directory_ / name).string();
    }
    std::string command(const std::string& arguments) const {
        return "DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog' " DEADRANK_BINARY_DIRECTORY
               "/deadrank alerts -o " +
               (directory_ / "out").string() + " " + arguments;
    }
    Answer alerts(const std::string& arguments) const { return shell(command(arguments) + " 2>&1"); }
    json judged(const std::string& arguments, int code) const {
        const Answer answer = shell(command(arguments + " --json") + " 2>/dev/null");
        EXPECT_EQ(answer.code, code) << answer.out;
        const json report = json::parse(answer.out, nullptr, false);
        EXPECT_FALSE(report.is_discarded()) << answer.out;
        return report;
    }
    // The verdict of the first alert under the first failure.
    static std::string verdict(const json& report) {
        return report["faults"][0]["cells"][0]["verdict"].get<std::string>();
    }

    // The report of a run that gets Ctrl-C as soon as this file is there.
    json interrupted(const std::string& rules, const std::string& file) {
        const std::string out = (directory_ / "report.json").string();
        const std::string line =
            "exec env " + command(std::string(DEADRANK_SOURCE_DIRECTORY "/tests/alerts/rules/") + rules +
                                  " --json > " + out + " 2>/dev/null");
        const pid_t child = fork();
        EXPECT_GE(child, 0);
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
            _exit(127);
        }
        for (int i = 0; i < 600 && !fs::exists(directory_ / "out" / file); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        EXPECT_TRUE(fs::exists(directory_ / "out" / file))
            << "the signal comes at another time than was meant";
        kill(child, SIGINT);
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 130);
        std::ifstream in(out);
        const json report = json::parse(in, nullptr, false);
        EXPECT_FALSE(report.is_discarded()) << "a report that stopped is a report";
        return report.is_discarded() ? json::object() : report;
    }

    const std::string metrics_ =
        "exporter = \"coolant\"\njob = \"coolant\"\nport = 9999\nscope = \"node\"\n"
        "[[metric]]\nname = \"coolant_flow_litres\"\ntype = \"gauge\"\nvalue = 40\n";
    const std::string signatures_ =
        "[[signature]]\nid = \"pump_dead\"\ntitle = \"a pump stands still\"\nscope = \"node\"\n"
        "within = \"5m\"\nsource = \"the pump's data sheet\"\n"
        "change = [{metric = \"coolant_flow_litres\", set = 2}]\n";
    const std::string rules_ =
        "groups:\n- name: own\n  rules:\n  - alert: NoFlow\n    expr: coolant_flow_litres < 10\n    for: "
        "1m\n";
    const fs::path directory_ =
        fs::path(testing::TempDir()) / ("deadrank-alerts-command-" + std::to_string(getpid()));
};

TEST_F(DeviceAlertsCommand, JudgesMetricsAndFailuresOfOnesOwn) {
    const std::string rules = write("rules.yml", rules_);
    const json without = judged(rules + " --scenarios gpu_off_bus", 0);
    EXPECT_EQ(verdict(without), "not simulated") << "an exporter that nobody here knows";
    const json with = judged(rules + " --metrics " + write("m.toml", metrics_) + " --signatures " +
                                 write("s.toml", signatures_) + " --scenarios pump_dead",
                             0);
    EXPECT_EQ(verdict(with), "caught") << with["faults"][0].dump(2);
    EXPECT_EQ(with["faults"][0]["cells"][0]["latency"][0], 60) << "its own `for`";
    EXPECT_EQ(with["faults"][0]["cells"][0]["place"], "exact");
}

TEST_F(DeviceAlertsCommand, RefusesTablesThatMeanNothingWithTheirLine) {
    const std::string rules = write("rules.yml", rules_);
    Answer answer =
        alerts(rules + " --metrics " + write("m.toml", "exporter = \"x\"\n[[metric]]\nnmae = \"a\"\n"));
    EXPECT_EQ(answer.code, 64);
    EXPECT_THAT(answer.out, HasSubstr("m.toml:3"));
    EXPECT_THAT(answer.out, HasSubstr("name"));
    answer = alerts(rules + " --signatures " + write("s.toml", "[[signature]]\nid = \"a\"\n"));
    EXPECT_EQ(answer.code, 64);
    EXPECT_THAT(answer.out, HasSubstr("source"));
}

// Nothing judged is no success: a directory without rules, a file without any, a time that is none.
TEST_F(DeviceAlertsCommand, IsNeverContentWithNothing) {
    fs::create_directories(directory_ / "bare");
    Answer answer = alerts((directory_ / "bare").string());
    EXPECT_EQ(answer.code, 64);
    EXPECT_THAT(answer.out, HasSubstr("no rule file in"));
    EXPECT_EQ(alerts(write("no_rules.yml", "groups: []\n") + " --scenarios gpu_off_bus").code, 2);
    answer = alerts(write("rules.yml", rules_) + " --limit soon");
    EXPECT_EQ(answer.code, 64);
    EXPECT_THAT(answer.out, HasSubstr("--limit"));
}

TEST_F(DeviceAlertsCommand, StopsAtItsLimitAndShowsWhatWasJudged) {
    const auto began = std::chrono::steady_clock::now();
    const json report =
        judged(std::string(DEADRANK_SOURCE_DIRECTORY "/tests/alerts/rules/correct.yml") + " --limit 2s", 2);
    // To the second where the processor is free; all failures take several times as long.
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
    EXPECT_THAT(report["notes"].dump(), HasSubstr("stopped before its end"));
    std::size_t unplayed = 0;
    for (const json& fault : report["faults"]) unplayed += fault["cells"].empty();
    EXPECT_TRUE(unplayed > 0 || report["faults"].empty())
        << "a slow machine plays the healthy run until then";
    EXPECT_FALSE(report["rules"].empty());
}

// clocks.yml looks back for days: its healthy run alone takes longer than this.
TEST_F(DeviceAlertsCommand, StopsAtItsLimitInTheHealthyRunToo) {
    const json report =
        judged(std::string(DEADRANK_SOURCE_DIRECTORY "/tests/alerts/rules/clocks.yml") + " --limit 200ms", 2);
    EXPECT_TRUE(report["faults"].empty()) << "the limit passed in the healthy run";
    EXPECT_FALSE(report["rules"].empty());
    EXPECT_THAT(report["notes"].dump(), HasSubstr("stopped before its end"));
}

// A job that one file calls otherwise changes nothing in the other.
TEST_F(DeviceAlertsCommand, JudgesFilesTogetherAsAlone) {
    const std::string down = write("down.yml",
                                   "groups:\n- name: a\n  rules:\n  - alert: NodeDown\n    expr: "
                                   "up{job=\"node\"} == 0\n    for: 1m\n");
    const std::string other = write("other.yml",
                                    "groups:\n- name: a\n  rules:\n  - alert: OtherDown\n    expr: "
                                    "up{job=\"node-exporter\"} == 0\n    for: 1m\n  - alert: More\n    expr: "
                                    "up{job=~\"node-exporter\"} == 0\n");
    const std::string how = " --scenarios node_down --no-suggestions";
    const json alone = judged(down + how, 0), together = judged(down + " " + other + how, 0);
    EXPECT_EQ(verdict(alone), "caught") << alone["faults"][0].dump(2);
    EXPECT_EQ(alone["faults"][0]["cells"][0], together["faults"][0]["cells"][0]);
    ASSERT_EQ(together["faults"][0]["cells"].size(), 3u);
    for (const json& cell : together["faults"][0]["cells"])
        EXPECT_EQ(cell["verdict"], "caught") << cell.dump();
}

// The five files that were once judged wrongly, each with what is right of it.
TEST_F(DeviceAlertsCommand, IsRightOfFilesThatItWasWrongOf) {
    const auto cells = [&](const std::string& text, const std::string& how) {
        std::map<std::string, std::string> found;
        const Answer answer = shell(command(write("r.yml", "groups:\n- name: a\n  rules:\n" + text) +
                                            " --no-suggestions --json " + how) +
                                    " 2>/dev/null");
        const json report = json::parse(answer.out, nullptr, false);
        if (report.is_discarded() || report["faults"].empty()) return found;
        for (const json& cell : report["faults"][0]["cells"]) found[cell["alert"]] = cell["verdict"];
        return found;
    };
    EXPECT_EQ(cells("  - {alert: T, expr: 'DCGM_FI_DEV_GPU_TEMP > 85 or DCGM_FI_DEV_SM_CLOCK < 1600'}\n",
                    "--scenarios thermal_throttle")["T"],
              "caught");
    auto cable = cells(
        "  - {alert: Right, expr: 'rate(node_infiniband_port_errors_received_total[5m]) > 0'}\n"
        "  - {alert: AsSuggested, expr: 'rate(node_infiniband_port_data_received_bytes_total[5m]) > 0', for: "
        "2m}\n",
        "--scenarios bad_cable");
    EXPECT_EQ(cable["Right"], "caught");
    EXPECT_EQ(cable["AsSuggested"], "background");
    const std::string states =
        "  - {alert: Drained, expr: 'count(slurm_node_cpu_alloc{status=~\"drain.*\"}) > 0'}\n"
        "  - {alert: Down, expr: 'slurm_node_cpu_alloc{status=~\"down.*\"} >= 0'}\n";
    EXPECT_EQ(cells(states, "--scenarios node_drained")["Drained"], "caught");
    EXPECT_EQ(cells(states, "--scenarios node_down")["Down"], "late") << "Slurm waits for five minutes";
    const std::string idle =
        "  - {alert: Idle, expr: 'avg by (Hostname) (DCGM_FI_DEV_GPU_UTIL) < 5', for: 30m}\n";
    EXPECT_EQ(cells(idle, "--scenarios idle_cluster")["Idle"], "pending only");
    EXPECT_EQ(cells(idle, "--scenarios idle_cluster --duration 2h")["Idle"], "caught");
}

TEST_F(DeviceAlertsCommand, ShowsWhatWasJudgedUntilCtrlC) {
    const json report = interrupted("correct.yml", "ecc_double_bit.edges.yml");
    std::size_t done = 0;
    for (const json& fault : report["faults"]) done += !fault["cells"].empty();
    EXPECT_LT(done, report["faults"].size());
}

// The healthy run comes first, and the run of rules that look back for days takes long: what was found
// without it is shown.
TEST_F(DeviceAlertsCommand, ShowsWhatIsKnownWhenCtrlCComesInTheHealthyRun) {
    const json report = interrupted("clocks.yml", "healthy.day.edges.yml");
    EXPECT_FALSE(report["rules"].empty());
    EXPECT_TRUE(report["faults"].empty()) << "promtool alone was to be stopped, and was waited for";
    EXPECT_THAT(report["notes"].dump(), HasSubstr("stopped before its end"));
}

TEST_F(DeviceAlertsCommand, TakesItsPromtoolAlongWhenItIsKilled) {
    const std::string program = write("promtool",
                                      "#!/bin/sh\ncase $1 in --version) echo promtool, version 2.42.0 ;;\n"
                                      "check) exit 0 ;;\n*) echo $$ > $0.pid; exec sleep 600 ;; esac\n");
    fs::permissions(program, fs::perms::owner_all);
    const std::string rules =
        write("rules.yml", "groups:\n- name: a\n  rules:\n  - alert: A\n    expr: up == 0\n");
    const Answer killed =
        shell(command("--jobs 1 --promtool " + program + " --rules " + rules) +
              " > /dev/null 2>&1 & job=$!; for i in $(seq 600); do [ -s " + program +
              ".pid ] && break; sleep 0.1; done; kill -9 $job; wait $job 2> /dev/null; "
              "pid=$(cat " +
              program +
              ".pid) || exit 3; "
              "for i in $(seq 100); do kill -0 $pid 2> /dev/null || exit 0; sleep 0.1; done; exit 4");
    EXPECT_EQ(killed.code, 0) << (killed.code == 3 ? "no promtool was started" : "promtool still runs");
}

// A real Prometheus that scrapes itself and has rules.
class DeviceLivePrometheus : public DeviceAlertsCommand {
protected:
    void SetUp() override {
        DeviceAlertsCommand::SetUp();
        if (IsSkipped()) return;
        if (results::processes::find_program("prometheus").empty())
            GTEST_SKIP() << "prometheus is not installed";
        port_ = runners::serve::free_port();
        const std::string at = "127.0.0.1:" + std::to_string(port_);
        write("live.yml",
              "groups:\n- name: live\n  interval: 30s\n  rules:\n"
              "  - alert: SelfDown\n    expr: up{job=\"myself\"} == 0\n    for: 1m\n    labels:\n      "
              "severity: page\n"
              "  - alert: Misspelt\n    expr: prometheus_tsdb_head_seris > 1\n"
              "  - alert: OtherJob\n    expr: up{job=\"somebody\"} == 0\n"
              "  - record: a:b\n    expr: sum(up)\n");
        const std::string config =
            write("prometheus.yml",
                  "global: {scrape_interval: 1s}\nrule_files: [live.yml]\nscrape_configs:\n"
                  "- job_name: myself\n  static_configs: [{targets: ['" +
                      at + "']}]\n");
        auto daemon = results::processes::start_daemon(
            {"prometheus", "--config.file=" + config, "--storage.tsdb.path=" + (directory_ / "data").string(),
             "--web.listen-address=" + at},
            directory_ / "log");
        ASSERT_TRUE(daemon) << daemon.error().text();
        daemon_ = std::move(*daemon);
        ASSERT_TRUE(runners::serve::await_server(*daemon_, directory_ / "log", port_, "/-/ready", 60));
        for (int i = 0; i < 300; ++i) {
            const auto told = runners::serve::fetch(port_, {"GET", "/api/v1/query?query=up", ""});
            if (told && told->body.find("myself") != std::string::npos) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
    }
    void TearDown() override {
        daemon_.reset();
        DeviceAlertsCommand::TearDown();
    }

    int port_ = 0;
    std::optional<results::processes::Child> daemon_;
};

TEST_F(DeviceLivePrometheus, GivesItsRulesItsTargetsAndWhatIsNotThere) {
    const std::string url = "http://127.0.0.1:" + std::to_string(port_);
    const json report = judged("--prometheus " + url + " --scenarios gpu_off_bus --no-suggestions", 0);
    ASSERT_EQ(report["rules"].size(), 4u);
    EXPECT_EQ(report["rules"][0]["name"], "SelfDown");
    EXPECT_FALSE(report["rules"][0].contains("dead")) << "its job is a target of that server";
    std::map<std::string, std::string> missing;
    for (const json& finding : report["findings"]) {
        if (finding["id"] == "live-missing")
            missing[finding["alert"]] =
                finding["says"].get<std::string>() + " " + finding["remedy"].get<std::string>();
    }
    EXPECT_EQ(missing.size(), 2u);
    EXPECT_THAT(missing["Misspelt"], HasSubstr("prometheus_tsdb_head_series"));
    EXPECT_THAT(missing["OtherJob"], HasSubstr("'job' is myself"));
}

TEST(LiveServer, AnswersTroubleWithASentence) {
    using runners::serve::LiveServer;
    const auto refused = [](const std::string& url, int timeout = 10) {
        const auto server = LiveServer::open(url, timeout);
        EXPECT_FALSE(server) << url;
        return server ? std::string() : server.error().text();
    };
    EXPECT_THAT(refused("https://here:9090"), HasSubstr("TLS"));
    EXPECT_THAT(refused("http://a:b@here"), HasSubstr("password"));
    EXPECT_THAT(refused("http://here:x"), HasSubstr("http://HOST:PORT"));
    EXPECT_THAT(refused("http://127.0.0.1:" + std::to_string(runners::serve::free_port())),
                HasSubstr("does not answer"));
    runners::serve::HttpResponse answer;
    auto server =
        runners::serve::HttpServer::listen("127.0.0.1", 0, [&](const runners::serve::HttpRequest& request) {
            if (request.target.starts_with("/slow"))
                std::this_thread::sleep_for(std::chrono::milliseconds(1500));
            return answer;
        });
    ASSERT_TRUE(server);
    const std::string url = "http://127.0.0.1:" + std::to_string((*server)->port());
    answer.status = 302;
    EXPECT_THAT(refused(url), HasSubstr("redirects"));
    answer.status = 401;
    EXPECT_THAT(refused(url), HasSubstr("who asks"));
    answer = {200, "<html>Grafana</html>"};
    EXPECT_THAT(refused(url), HasSubstr("not answer as Prometheus"));
    answer = {404, "not found"};
    EXPECT_THAT(refused(url + "/prefix"), HasSubstr("prefix"));
    EXPECT_THAT(refused(url + "/slow", 1), HasSubstr("no response within 1 s"));
}

}  // namespace
}  // namespace deadrank::tests
