// tests/runners/serve/serve_test.cpp — Goal: a failure can be scraped live, a whole Prometheus and
// Alertmanager can be rehearsed against it, and the second path fires when promtool does.
#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "results/exporters/series.h"
#include "results/processes/bounded.h"
#include "runners/serve/http.h"
#include "runners/serve/live_replay.h"
#include "runners/serve/server_player.h"
#include "tests/results/alerts_site.h"

namespace deadrank::runners::serve {
namespace {

using results::alerts::testing::rule_file;
using results::alerts::testing::Site;

// A server that replays one failure; the failure strikes after `at` virtual seconds.
struct Stage {
    Stage(const std::string& fault, double at, double speed) {
        site.world.window.fault_at = at;
        replay = std::make_unique<Replay>(
            site.world, fault.empty() ? results::exporters::healthy_run() : site.incident(fault), speed);
        server = HttpServer::listen("127.0.0.1", 0, [this](const HttpRequest& request) {
                     return replay->answer(request, port);
                 }).value();
        port = server->port();
    }
    HttpResponse get(const std::string& path) { return ask(port, {"GET", path, ""}).value(); }

    Site site;
    std::unique_ptr<Replay> replay;
    std::atomic<int> port{0};
    std::unique_ptr<HttpServer> server;
};

TEST(Serve, ShowsEveryExporterInTheTextFormat) {
    Stage stage("", 900, 1);
    const HttpResponse all = stage.get("/metrics");
    EXPECT_EQ(all.status, 200);
    EXPECT_NE(all.type.find("version=0.0.4"), std::string::npos);
    EXPECT_NE(all.body.find("# TYPE DCGM_FI_DEV_GPU_TEMP gauge"), std::string::npos);
    EXPECT_NE(all.body.find("instance=\"gpu-node-003:9100\""), std::string::npos);
    const HttpResponse one = stage.get("/targets/dcgm-exporter/gpu-node-001:9400/metrics");
    EXPECT_NE(one.body.find("gpu=\"3\""), std::string::npos);
    EXPECT_EQ(one.body.find("instance="), std::string::npos) << "Prometheus adds that label itself";
    EXPECT_EQ(one.body.find("node_load1"), std::string::npos);
    EXPECT_EQ(stage.get("/nothing").status, 404);
    EXPECT_EQ(nlohmann::json::parse(stage.get("/sd").body).size(), 40u) << "ten exporters on four nodes";
}

TEST(Serve, AnswersNotForANodeThatIsDown) {
    Stage stage("node_down", 0, 1);
    EXPECT_EQ(stage.get("/targets/node-exporter/gpu-node-002:9100/metrics").status, 503);
    EXPECT_EQ(stage.get("/targets/node-exporter/gpu-node-001:9100/metrics").status, 200);
}

TEST(Serve, TakesWebhooksAndRefusesWhatIsNone) {
    Stage stage("", 900, 1);
    const auto post = [&](const std::string& body) {
        return ask(stage.port, {"POST", "/hook/pager", body}).value().status;
    };
    EXPECT_EQ(
        post(R"({"receiver":"pager","alerts":[{"status":"firing","labels":{"alertname":"A","gpu":"3"}}]})"),
        200);
    for (const char* body : {"", "{", "[]", "{\"alerts\":3}", "null"}) EXPECT_EQ(post(body), 400) << body;
    EXPECT_EQ(post(R"({"alerts":[3,{"labels":null}]})"), 200);
    ASSERT_GE(stage.replay->notices().size(), 1u);
    EXPECT_EQ(stage.replay->notices()[0].alert, "A");
}

// Goal: a page in a browser that reaches the port under a name of a stranger's gets nothing.
TEST(HttpServer, AnswersOnlyToItsOwnNames) {
    std::atomic<int> asked{0};
    const auto server = HttpServer::listen("127.0.0.1", 0, [&](const HttpRequest&) {
                            ++asked;
                            return HttpResponse{.body = "told"};
                        }).value();
    const int port = server->port();
    const auto status = [&](const std::string& host) {
        return ask(port, {"GET", "/", ""}, {{"Host", host}}).value().status;
    };
    for (const char* name : {"localhost", "LocalHost", "127.0.0.1", "[::1]"})
        EXPECT_EQ(status(fmt::format("{}:{}", name, port)), 200) << name;
    EXPECT_EQ(asked, 4);
    for (const std::string& host :
         {fmt::format("attacker.example:{}", port), std::string("localhost"), std::string("127.0.0.1:1"),
          fmt::format("10.0.0.1:{}", port), fmt::format("localhost.attacker.example:{}", port)})
        EXPECT_EQ(status(host), 421) << host;
    EXPECT_EQ(asked, 4);
    const auto open = HttpServer::listen("0.0.0.0", 0, [&](const HttpRequest&) {
                          return HttpResponse{.body = "told"};
                      }).value();
    const auto of_open = [&](const std::string& name) {
        const std::string host = fmt::format("{}:{}", name, open->port());
        return ask(open->port(), {"GET", "/", ""}, {{"Host", host}}).value().status;
    };
    EXPECT_EQ(of_open("10.0.0.1"), 200);
    EXPECT_EQ(of_open("attacker.example"), 421);
}

// Sockets of this process that a child without our care would inherit.
std::vector<std::string> list_inherited_sockets() {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
        if (!target.starts_with("socket:")) continue;
        const int flags = fcntl(std::stoi(entry.path().filename()), F_GETFD);
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0) found.push_back(target);
    }
    return found;
}

TEST(HttpServer, LeavesNoSocketToAChild) {
    const auto before = list_inherited_sockets();
    std::vector<std::string> within;
    const auto server = HttpServer::listen("127.0.0.1", 0, [&](const HttpRequest&) {
                            within = list_inherited_sockets();  // the connection is open now
                            return HttpResponse{};
                        }).value();
    EXPECT_EQ(list_inherited_sockets().size(), before.size());
    const int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(own, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string request =
        fmt::format("GET / HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n", server->port());
    ASSERT_EQ(write(own, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    char byte = 0;
    while (read(own, &byte, 1) > 0) {
    }
    close(own);
    EXPECT_EQ(within.size(), before.size());
}

// Goal: two hundred silent clients neither take all descriptors nor end the service, and silence ends.
TEST(HttpServer, SurvivesMoreClientsThanDescriptors) {
    rlimit usual{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const rlimit few{64, usual.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto server =
        HttpServer::listen("127.0.0.1", 0, [](const HttpRequest&) { return HttpResponse{}; }).value();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
    std::vector<int> clients;
    for (int i = 0; i < 200; ++i) {
        clients.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(server->port()));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ASSERT_EQ(connect(clients.back(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::size_t sockets = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        sockets += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:");
    }
    EXPECT_LE(sockets, 200u + 16u + 8u) << "a quarter of 64, the listener, and what the test itself has";
    for (const int client : clients) close(client);
    EXPECT_EQ(ask(server->port(), {"GET", "/", ""}).value().status, 200);
}

TEST(RemoteWrite, IsProtobufInSnappyLiterals) {
    results::exporters::Series series{
        .name = "m", .labels = {{"a", "b"}}, .values = {1, results::exporters::absent_value(), 2}};
    const std::string bytes = results::exporters::write_request({&series, 1}, 0, 3, 1000, 500);
    EXPECT_EQ(bytes.front(), '\x0a');
    EXPECT_NE(bytes.find("__name__"), std::string::npos);
    const std::string packed = results::exporters::snappy_block(bytes);
    EXPECT_EQ(static_cast<unsigned char>(packed[1]), 0xf4);
    EXPECT_EQ(packed.size(), bytes.size() + 4);
}

using results::alerts::Instance;
using results::alerts::Interval;

std::string told(const std::vector<Instance>& instances) {
    std::vector<std::string> lines;
    for (const Instance& one : instances) {
        std::string line;
        for (const auto& [name, value] : one.labels) line += name + "=" + value + " ";
        for (const auto* intervals : {&one.pending, &one.firing}) {
            line += intervals == &one.pending ? "pending" : "firing";
            for (const Interval& each : *intervals)
                line += " " + std::to_string(each.begin) + "-" + std::to_string(each.end);
        }
        lines.push_back(line + "\n");
    }
    std::sort(lines.begin(), lines.end());
    std::string all;
    for (const std::string& line : lines) all += line;
    return all;
}

class DevicePrometheus : public ::testing::Test {
protected:
    void SetUp() override {
        tool_ = results::external::Promtool::find();
        if (!tool_ || results::processes::find_program("prometheus").empty())
            GTEST_SKIP() << "prometheus is not installed";
    }

    results::alerts::PlayerAnswer played(results::alerts::Player& player, const std::string& file,
                                         const std::string& fault) {
        files_ = {results::alerts::read_rules(rule_file(file), scratch_).value()};
        const auto& rules = files_[0].rules;
        const auto analysis = results::alerts::analyse(
            rules, results::alerts::Emitted(site_.world, site_.signatures), site_.world);
        auto& window = site_.world.window;
        window.history = std::max(window.history, results::alerts::history_needed(rules, analysis, window));
        const auto incident = fault.empty() ? results::exporters::healthy_run() : site_.incident(fault);
        auto played = player.play(site_.world, incident, files_, rules, analysis);
        EXPECT_TRUE(played) << (played ? "" : played.error().text());
        return played ? *played
                      : results::alerts::PlayerAnswer{.activity = results::alerts::Activity(rules.size())};
    }

    void expect_parity(const std::string& file, const std::vector<std::string>& faults) {
        for (const std::string& fault : faults) {
            results::alerts::PromtoolPlayer first(*tool_, {scratch_, "", false});
            ServerPlayer second({"prometheus", scratch_, false}, *tool_);
            const auto a = played(first, file, fault), b = played(second, file, fault);
            for (std::size_t rule = 0; rule < files_[0].rules.size(); ++rule) {
                EXPECT_EQ(told(a.activity[rule]), told(b.activity[rule]))
                    << file << " " << fault << " " << files_[0].rules[rule].name;
            }
        }
    }

    Site site_;
    const std::string scratch_ = results::alerts::testing::scratch() + "-parity";
    scenarios::Result<results::external::Promtool> tool_ =
        scenarios::refuse(scenarios::ErrorCode::io, "not looked for");
    std::vector<results::alerts::RuleFile> files_;
};

TEST_F(DevicePrometheus, SaysWhatPromtoolSaysOfEveryShippedFile) {
    for (const char* file : {"correct.yml", "broken.yml", "late.yml", "noisy.yml", "prometheus_rule.yml"})
        expect_parity(file, {"", "gpu_off_bus", "node_down", "ib_port_down", "node_reboot"});
    expect_parity("dead.yml", {"gpu_off_bus"});  // its long past is slow in promtool
}

// Long pasts, unix times, recorded series, states of alerts: one clock for both.
TEST_F(DevicePrometheus, SaysWhatPromtoolSaysWhateverAClockCouldChange) {
    expect_parity("clocks.yml", {"", "node_reboot", "thermal_throttle", "checkpoint_stale"});
}

// What a later group records is seen one evaluation late, and the server can play it without promtool.
TEST_F(DevicePrometheus, SaysWhatPromtoolSaysOfLaterRecordingRules) {
    expect_parity("later.yml", {"", "node_down", "nccl_hang"});
    ServerPlayer alone({"prometheus", scratch_, false}, std::nullopt);
    const auto answer = played(alone, "later.yml", "nccl_hang");
    for (std::size_t rule = 0; rule < files_[0].rules.size(); ++rule)
        EXPECT_FALSE(answer.unjudged[rule]) << files_[0].rules[rule].name;
}

// A server takes each series' samples in order of time alone, and would refuse the second rule's.
TEST_F(DevicePrometheus, SaysWhatPromtoolSaysOfASeriesThatTwoRulesRecord) {
    expect_parity("twice.yml", {"", "thermal_throttle"});
    ServerPlayer alone({"prometheus", scratch_, false}, std::nullopt);
    const auto usual = played(alone, "twice.yml", "");
    const auto hot = played(alone, "twice.yml", "thermal_throttle");
    for (std::size_t rule = 0; rule < files_[0].rules.size(); ++rule) {
        if (!files_[0].rules[rule].is_alert) continue;
        EXPECT_TRUE(usual.activity[rule].empty()) << files_[0].rules[rule].name;
        EXPECT_FALSE(hot.activity[rule].empty()) << files_[0].rules[rule].name;
    }
}

// The stronger alert really fires, and the weaker one is silent from then on: at once where it is evaluated
// after it, one evaluation later where before. The server says so without promtool.
TEST_F(DevicePrometheus, SaysWhatPromtoolSaysOfAlertsThatInhibitOthers) {
    for (const bool first : {false, true}) {
        const std::string file = first ? "inhibited_first.yml" : "inhibits.yml";
        expect_parity(file, {"", "thermal_throttle"});
        ServerPlayer alone({"prometheus", scratch_, false}, std::nullopt);
        const auto answer = played(alone, file, "thermal_throttle");
        std::map<std::string, Interval> firing;
        for (std::size_t rule = 0; rule < files_[0].rules.size(); ++rule) {
            const std::string& name = files_[0].rules[rule].name;
            EXPECT_FALSE(answer.unjudged[rule]) << name;
            ASSERT_EQ(answer.activity[rule].size(), 1u) << name;
            ASSERT_FALSE(answer.activity[rule][0].firing.empty()) << name;
            firing[name] = answer.activity[rule][0].firing.front();
        }
        EXPECT_EQ(firing["Mild"].begin, firing["Warm"].begin);
        EXPECT_LT(firing["Mild"].begin, firing["Hot"].begin);
        EXPECT_EQ(firing["Mild"].end, firing["Hot"].begin + (first ? site_.world.window.eval : 0));
        EXPECT_GT(firing["Warm"].end, firing["Mild"].end);
    }
}

TEST_F(DevicePrometheus, IsNotStartedForDeadRules) {
    const auto rules = results::alerts::testing::scratch() + "-dead.yml";
    std::ofstream(rules) << "groups:\n- name: a\n  rules:\n  - alert: Dead\n    expr: kube_hpa_labels > 1\n";
    files_ = {results::alerts::read_rules(rules, scratch_).value()};
    const auto analysis = results::alerts::analyse(
        files_[0].rules, results::alerts::Emitted(site_.world, site_.signatures), site_.world);
    ServerPlayer none({"/nonexistent/prometheus", scratch_, false}, std::nullopt);
    const auto healthy = results::exporters::healthy_run();
    EXPECT_TRUE(none.play(site_.world, healthy, files_, files_[0].rules, analysis));
}

// Rules on both sides of an alert may read its state, each side in its own stretch of time, without promtool.
TEST_F(DevicePrometheus, SaysWhatPromtoolSaysOfRulesOnBothSidesOfAnAlert) {
    expect_parity("readers.yml", {"", "thermal_throttle", "node_down"});
    ServerPlayer alone({"prometheus", scratch_, false}, std::nullopt);
    const auto answer = played(alone, "readers.yml", "thermal_throttle");
    std::map<std::string, double> begins;
    for (std::size_t rule = 0; rule < files_[0].rules.size(); ++rule) {
        EXPECT_FALSE(answer.unjudged[rule]) << files_[0].rules[rule].name;
        if (!answer.activity[rule].empty() && !answer.activity[rule][0].firing.empty())
            begins[files_[0].rules[rule].name] = answer.activity[rule][0].firing[0].begin;
    }
    EXPECT_EQ(begins["SeesHotAtOnce"], begins["Hot"]);
    EXPECT_EQ(begins["SeesHotLater"], begins["Hot"] + site_.world.window.eval);
}

// A `for` of hours is followed shortly at first: it makes no difference whether a condition held all the
// time.
TEST_F(DevicePrometheus, SaysWhatPromtoolSaysOfWhatRulesSee) {
    expect_parity("sights.yml", {"", "thermal_throttle", "gpu_off_bus", "node_down"});
}

// A player that has played the healthy run asks a failing one from the failure on, and only what the failure
// reaches, and says the same.
TEST_F(DevicePrometheus, SaysTheSameFromTheFailureOn) {
    for (const char* file : {"clocks.yml", "sights.yml", "readers.yml"}) {
        ServerPlayer knowing({"prometheus", scratch_, false}, *tool_);
        played(knowing, file, "");
        const auto& rules = files_[0].rules;
        const auto analysis = results::alerts::analyse(
            rules, results::alerts::Emitted(site_.world, site_.signatures), site_.world);
        std::size_t reused = 0;
        for (const char* fault :
             {"node_reboot", "thermal_throttle", "checkpoint_stale", "node_down", "gpu_off_bus"}) {
            ServerPlayer fresh({"prometheus", scratch_, false}, *tool_);
            const auto incident = site_.incident(fault);
            const auto a = fresh.play(site_.world, incident, files_, rules, analysis),
                       b = knowing.play(site_.world, incident, files_, rules, analysis);
            ASSERT_TRUE(a && b);
            for (std::size_t rule = 0; rule < rules.size(); ++rule) {
                EXPECT_EQ(told(a->activity[rule]), told(b->activity[rule]))
                    << fault << " " << rules[rule].name;
                reused += b->reused[rule];
            }
        }
        EXPECT_GT(reused, 0u) << file;
    }
}

// A long range elsewhere in the set, or --history, changes no other rule's answer.
TEST_F(DevicePrometheus, GivesTheSameAnswerAfterALongerPast) {
    for (const char* file : {"broken.yml", "correct.yml"}) {
        for (const char* fault : {"", "checkpoint_stale", "thermal_throttle"}) {
            site_.world.window.history = 0;
            ServerPlayer first({"prometheus", scratch_, false}, *tool_),
                second({"prometheus", scratch_, false}, *tool_);
            const auto shortly = played(first, file, fault);
            site_.world.window.history = 3 * 3600;
            const auto longly = played(second, file, fault);
            for (std::size_t rule = 0; rule < files_[0].rules.size(); ++rule)
                EXPECT_EQ(told(shortly.activity[rule]), told(longly.activity[rule]))
                    << files_[0].rules[rule].name;
        }
    }
}

TEST_F(DevicePrometheus, SeesARebootByTheClock) {
    ServerPlayer player({"prometheus", scratch_, false}, *tool_);
    const auto played = this->played(player, "clocks.yml", "node_reboot");
    const auto& rules = files_[0].rules;
    const auto at =
        std::find_if(rules.begin(), rules.end(), [](const auto& one) { return one.name == "JustBooted"; });
    const auto& found = played.activity[static_cast<std::size_t>(at - rules.begin())];
    ASSERT_EQ(found.size(), 1u) << "the one node that booted, and no other";
    EXPECT_EQ(found[0].firing[0].begin, 1200) << "as soon as it answers again";
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(DeviceRehearsal, BringsAPageFromPrometheusThroughAlertmanager) {
    for (const char* program : {"prometheus", "prometheus-alertmanager"}) {
        if (results::processes::find_program(program).empty()) GTEST_SKIP() << program << " is not installed";
    }
    Stage stage("node_down", 60, 20);  // three real seconds until the failure
    const auto directory =
        std::filesystem::temp_directory_path() / fmt::format("deadrank-rehearsal-{}", getpid());
    std::filesystem::create_directories(directory);
    const std::string at = directory.string();
    const int alertmanager = free_port(), prometheus = free_port();
    write(at + "/rules.yml",
          "groups:\n- name: a\n  rules:\n  - alert: TargetDown\n    expr: up == 0\n    labels: {severity: "
          "critical}\n");
    write(at + "/am.yml",
          fmt::format(
              "route: {{receiver: pager, group_wait: 0s, group_interval: 1s, group_by: [alertname, "
              "instance]}}\n"
              "receivers:\n- name: pager\n  webhook_configs: [{{url: 'http://127.0.0.1:{}/hook/pager'}}]\n",
              stage.port.load()));
    write(
        at + "/prometheus.yml",
        stage.get("/prometheus.yml").body +
            fmt::format("rule_files: [rules.yml]\nalerting: {{alertmanagers: [{{static_configs: [{{targets: "
                        "['127.0.0.1:{}']}}]}}]}}\n",
                        alertmanager));
    auto manager = results::processes::start_daemon(
        {"prometheus-alertmanager", "--config.file=" + at + "/am.yml", "--storage.path=" + at + "/am",
         "--cluster.listen-address=", fmt::format("--web.listen-address=127.0.0.1:{}", alertmanager)},
        at + "/am.log");
    ASSERT_TRUE(manager);
    ASSERT_TRUE(await_server(*manager, at + "/am.log", alertmanager, "/-/ready", 60));
    auto server = results::processes::start_daemon(
        {"prometheus", "--config.file=" + at + "/prometheus.yml", "--storage.tsdb.path=" + at + "/data",
         fmt::format("--web.listen-address=127.0.0.1:{}", prometheus)},
        at + "/prometheus.log");
    ASSERT_TRUE(server);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    const auto paged = [&] {
        for (const Notice& notice : stage.replay->notices()) {
            if (notice.alert == "TargetDown" && notice.labels.at("instance").starts_with("gpu-node-002:"))
                return true;
        }
        return false;
    };
    while (!paged() && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_TRUE(paged()) << "no page for the lost node within 90 seconds; logs are in " << at;
    for (const Notice& notice : stage.replay->notices()) EXPECT_EQ(notice.receiver, "pager");
    if (!::testing::Test::HasFailure()) std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace deadrank::runners::serve
