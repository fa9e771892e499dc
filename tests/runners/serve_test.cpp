// tests/runners/serve_test.cpp — Goal: a failure can be scraped live, a whole Prometheus and Alertmanager can
// be rehearsed against it, and the second path fires when promtool does.
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

#include "results/exporters/series.h"
#include "results/external/program.h"
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
    EXPECT_EQ(nlohmann::json::parse(stage.get("/sd").body).size(), 12u) << "three exporters on four nodes";
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

results::alerts::Played played_by(results::alerts::Player& player, const Site& site, const std::string& fault,
                                  const std::vector<results::alerts::RuleFile>& files) {
    const auto& rules = files[0].rules;
    const auto analysis =
        results::alerts::analyse(rules, results::alerts::Emitted(site.world, site.signatures), site.world);
    auto played = player.play(site.world, site.incident(fault), files, rules, analysis);
    EXPECT_TRUE(played) << (played ? "" : played.error().text());
    return played ? *played : results::alerts::Played{.activity = results::alerts::Activity(rules.size())};
}

TEST(DevicePrometheus, FiresWhenPromtoolDoes) {
    auto tool = results::external::Promtool::find();
    if (!tool || results::external::find_program("prometheus").empty())
        GTEST_SKIP() << "prometheus is not installed";
    const Site site;
    const std::vector files = {results::alerts::read_rules(rule_file("correct.yml"), "").value()};
    const std::string scratch = results::alerts::testing::scratch() + "-parity";
    results::alerts::PromtoolPlayer first(*tool, {scratch, "", false});
    ServerPlayer second("prometheus", scratch);
    for (const char* fault : {"gpu_off_bus", "node_down", "ib_port_down"}) {
        const auto a = played_by(first, site, fault, files), b = played_by(second, site, fault, files);
        for (std::size_t rule = 0; rule < files[0].rules.size(); ++rule) {
            const std::string& name = files[0].rules[rule].name;
            ASSERT_EQ(a.activity[rule].size(), b.activity[rule].size()) << fault << " " << name;
            for (const auto& instance : a.activity[rule]) {
                const auto same =
                    std::find_if(b.activity[rule].begin(), b.activity[rule].end(),
                                 [&](const auto& other) { return other.labels == instance.labels; });
                ASSERT_NE(same, b.activity[rule].end()) << fault << " " << name;
                ASSERT_EQ(instance.firing.size(), same->firing.size()) << fault << " " << name;
                for (std::size_t i = 0; i < instance.firing.size(); ++i) {
                    EXPECT_EQ(instance.firing[i].begin, same->firing[i].begin) << fault << " " << name;
                }
            }
        }
    }
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(DeviceRehearsal, BringsAPageFromPrometheusThroughAlertmanager) {
    for (const char* program : {"prometheus", "prometheus-alertmanager"}) {
        if (results::external::find_program(program).empty()) GTEST_SKIP() << program << " is not installed";
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
    auto manager = Daemon::start(
        {"prometheus-alertmanager", "--config.file=" + at + "/am.yml", "--storage.path=" + at + "/am",
         "--cluster.listen-address=", fmt::format("--web.listen-address=127.0.0.1:{}", alertmanager)},
        at + "/am.log");
    ASSERT_TRUE(manager);
    ASSERT_TRUE((*manager)->await(alertmanager, "/-/ready", 60));
    auto server = Daemon::start(
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
