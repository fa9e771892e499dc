// tests/runners/serve/serve_test.cpp — Goal: a failure can be scraped live, a whole Prometheus and
// Alertmanager can be rehearsed against it.
#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "results/exporters/series.h"
#include "results/processes/bounded.h"
#include "results/processes/private_directory.h"
#include "runners/serve/http.h"
#include "runners/serve/live_replay.h"
#include "scenarios/model/document.h"
#include "tests/results/alerts_site.h"

namespace deadrank::runners::serve {
namespace {

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
    HttpResponse get(const std::string& path) { return fetch(port, {"GET", path, ""}).value(); }

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
    EXPECT_EQ(nlohmann::json::parse(stage.get("/sd").body).size(), 44u) << "eleven exporters on four nodes";
}

TEST(Serve, AnswersNotForANodeThatIsDown) {
    Stage stage("node_down", 0, 1);
    EXPECT_EQ(stage.get("/targets/node-exporter/gpu-node-002:9100/metrics").status, 503);
    EXPECT_EQ(stage.get("/targets/node-exporter/gpu-node-001:9100/metrics").status, 200);
}

TEST(Serve, TakesWebhooksAndRefusesWhatIsNone) {
    Stage stage("", 900, 1);
    const auto post = [&](const std::string& body) {
        return fetch(stage.port, {"POST", "/hook/pager", body}).value().status;
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
        return fetch(port, {"GET", "/", ""}, {{"Host", host}}).value().status;
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
        return fetch(open->port(), {"GET", "/", ""}, {{"Host", host}}).value().status;
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

int connected_client(int port) {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return client;
}

// Whether the other side closes it within ten seconds.
bool is_closed(int client) {
    pollfd end{client, POLLIN, 0};
    char byte = 0;
    return poll(&end, 1, 10'000) == 1 && recv(client, &byte, 1, 0) == 0;
}

TEST(HttpServer, ClosesAConnectionThatIsSilent) {
    const auto server = HttpServer::listen("127.0.0.1", 0, [](const HttpRequest&) { return HttpResponse{}; },
                                           {.idle = std::chrono::milliseconds(200)})
                            .value();
    const int silent = connected_client(server->port()), halting = connected_client(server->port());
    ASSERT_EQ(write(halting, "GET / HT", 8), 8);
    EXPECT_TRUE(is_closed(silent));
    EXPECT_TRUE(is_closed(halting)) << "a request without its end";
    close(silent), close(halting);
    EXPECT_EQ(HttpLimits().idle, std::chrono::seconds(30)) << "as SECURITY.md says";
}

// Goal: a server with 40 descriptors for everything still answers, while 200 silent clients hold connections.
TEST(DeviceHttpServer, SurvivesTwoHundredClientsWithFortyDescriptors) {
    const auto scratch = results::processes::PrivateDirectory::make();
    ASSERT_TRUE(scratch);
    const auto log = scratch->path() / "log";
    auto server = results::processes::Child::start(
        {.argv = {"/bin/sh", "-c",
                  "ulimit -n 40; exec '" DEADRANK_BINARY_DIRECTORY "/deadrank' alerts serve --port 0 "
                  "--catalog '" DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog'"},
         .streams = results::processes::Command::Streams::log,
         .log = log});
    ASSERT_TRUE(server) << server.error().text();
    const auto said = [&] { return scenarios::read_text(log).value_or(""); };
    int port = 0;
    for (int i = 0; i < 600 && port == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const std::string text = said();
        if (const auto at = text.find("127.0.0.1:"); at != text.npos)
            port = std::atoi(text.c_str() + at + 10);
    }
    ASSERT_GT(port, 0) << said();
    std::vector<int> clients;
    for (int i = 0; i < 200; ++i) clients.push_back(connected_client(port));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto stay = clients.end() - 5;  // half of a quarter of the descriptors
    for (auto client = clients.begin(); client != stay; ++client) close(*client);
    EXPECT_EQ(fetch(port, {"GET", "/metrics", ""}, {}, 20).value().status, 200) << said();
    for (auto client = stay; client != clients.end(); ++client) close(*client);
    EXPECT_FALSE(server->poll()) << said();
}

// Goal: two hundred silent clients neither take all descriptors nor end the service.
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
    EXPECT_EQ(fetch(server->port(), {"GET", "/", ""}).value().status, 200);
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
