// Goal: the workbench answers nobody without its address, keeps to its bounds, shows what is wrong with a
// text in place, and lists its routes truly.
#include "runners/web/workbench.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "runners/backends/sim/sim_runner.h"
#include "runners/extension/extension.h"
#include "runners/pipeline/library.h"
#include "runners/serve/http.h"
#include "runners/web/http_answers.h"
#include "scenarios/model/document.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using runners::serve::HttpResponse;
using testing::HasSubstr;
using testing::Not;

// Reads the catalogue once for all tests.
class WebWorkbench : public testing::Test {
protected:
    static void SetUpTestSuite() {
        library_ = new runners::Library(
            runners::open_library({}, *extension_, DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog").value());
        runners::web::WorkbenchOptions options;
        options.access = access_;
        options.order = {.program = DEADRANK_BINARY_DIRECTORY "/deadrank",
                         .catalog = DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog"};
        options.capabilities = {.backend = "sim", .levers = {"*"}, .workloads = {"*"}};
        workbench_ = runners::web::Workbench::open(*library_, options).value();
        server_ = runners::serve::HttpServer::listen(
                      "127.0.0.1", 0, [](const auto& request) { return workbench_->answer(request); },
                      {.body = runners::web::request_most})
                      .value();
    }
    static void TearDownTestSuite() {
        server_.reset();
        workbench_.reset();
        delete library_;
    }

    static HttpResponse fetch(const std::string& method, const std::string& path,
                              const std::string& body = "",
                              const std::map<std::string, std::string>& headers = {}) {
        return runners::serve::fetch(server_->port(), {method, path, body}, headers, 20).value();
    }
    static HttpResponse get(const std::string& path) { return fetch("GET", "/" + access_ + "/" + path); }
    static HttpResponse post(const std::string& path, const json& body) {
        return fetch("POST", "/" + access_ + "/" + path, body.dump());
    }

    inline static const auto extension_ = std::make_unique<runners::Extension>();
    inline static runners::Library* library_ = nullptr;
    inline static const std::string access_ = runners::serve::random_access();
    inline static std::unique_ptr<runners::web::Workbench> workbench_;
    inline static std::unique_ptr<runners::serve::HttpServer> server_;
};

TEST_F(WebWorkbench, AnswersNobodyWithoutItsAddress) {
    const std::vector<std::string> paths = {"/",
                                            "/api/catalog",
                                            "/" + access_.substr(1) + "/api/catalog",
                                            "/" + std::string(access_.size(), '0') + "/",
                                            "//api/catalog",
                                            "/?" + access_};
    for (const std::string& path : paths) {
        const HttpResponse answer = fetch("GET", path);
        EXPECT_EQ(answer.status, 403) << path;
        EXPECT_THAT(answer.body, Not(HasSubstr("communication/"))) << path;
    }
    EXPECT_EQ(get("").status, 200);
    EXPECT_NE(runners::serve::random_access(), runners::serve::random_access());
}

TEST_F(WebWorkbench, AnswersNoPageUnderAnotherName) {
    const auto answer = fetch("GET", "/" + access_ + "/", "", {{"Host", "attacker.example:80"}});
    EXPECT_EQ(answer.status, 421);
}

TEST_F(WebWorkbench, RefusesAScenarioOfTenMegabytes) {
    const HttpResponse answer = post("api/check", {{"text", std::string(10 << 20, 'x')}});
    EXPECT_EQ(answer.status, 413);
    EXPECT_THAT(answer.body, HasSubstr("longer than 1048576 bytes"));
    EXPECT_EQ(get("").status, 200) << "it still serves others";
}

TEST_F(WebWorkbench, LoadsNothingFromElsewhere) {
    for (const char* file : {"", "app.js", "app.css"}) {
        const HttpResponse answer = get(file);
        EXPECT_EQ(answer.status, 200) << file;
        EXPECT_GT(answer.body.size(), 500u) << file;
        for (const char* outside : {"src=\"http", "href=\"http", "url(http", "import(", "@import"})
            EXPECT_THAT(answer.body, Not(HasSubstr(outside))) << file;
    }
}

TEST_F(WebWorkbench, ShowsTheCatalogueToSeveralAtOnce) {
    std::vector<std::thread> browsers;
    std::atomic<int> well = 0;
    for (int i = 0; i < 8; ++i) {
        browsers.emplace_back([&] {
            const json catalog = json::parse(get("api/catalog").body, nullptr, false);
            if (catalog.is_object() && catalog["scenarios"].size() > 250 && catalog["classes"].size() == 5)
                ++well;
        });
    }
    for (auto& browser : browsers) browser.join();
    EXPECT_EQ(well, 8);
}

TEST_F(WebWorkbench, ShowsATextAndItsKnobs) {
    const std::string id = "communication/rank_leaves_all_reduce";
    const json scenario = json::parse(get("api/scenario?id=communication%2Frank_leaves_all_reduce").body);
    EXPECT_EQ(scenario["id"], id);
    const json checked =
        json::parse(post("api/check", {{"id", id}, {"text", scenario["text"]}, {"seed", 7}}).body);
    EXPECT_EQ(checked["problems"], json::array());
    EXPECT_EQ(checked["ranks"], 8);
    const auto knob = [&](const std::string& path) {
        for (const json& one : checked["knobs"])
            if (one["path"] == path) return one;
        return json();
    };
    EXPECT_EQ(knob("fault.0.rank")["written"], "\"any\"");
    EXPECT_EQ(knob("cluster.debug")["choices"], (json{"off", "detail"}));
    EXPECT_EQ(knob("cluster.watchdog")["value"], "false");
    EXPECT_NE(knob("fault.0.when.step")["value"], "");
    EXPECT_EQ(get("api/scenario?id=..%2F..%2F..%2Fetc%2Fpasswd").status, 404);
    EXPECT_EQ(get("api/scenario?id=no/such").status, 404);
}

TEST_F(WebWorkbench, ShowsAProgramWithItsBugAndThePatch) {
    const std::string id = "communication/finaliser_runs_on_rank_zero_only";
    const json scenario = json::parse(get("api/scenario?id=" + id).body);
    const json checked = json::parse(post("api/check", {{"id", id}, {"text", scenario["text"]}}).body);
    EXPECT_THAT(checked["program"]["lines"].dump(), HasSubstr("        if rank == 0:\","));
    EXPECT_THAT(checked["program"]["patch"].get<std::string>(), HasSubstr("\n-        finalise(step)\n"));
    const std::string other = "communication/rank_leaves_all_reduce";
    const json simulated = json::parse(get("api/scenario?id=" + other).body);
    EXPECT_TRUE(json::parse(post("api/check", {{"id", other}, {"text", simulated["text"]}}).body)["program"]
                    .is_null());
}

TEST_F(WebWorkbench, TellsLineAndColumnOfWhatIsWrong) {
    const json answer = json::parse(
        post("api/check", {{"id", "my_bug"}, {"text", "format = 1\n[cluster]\nnodse = 2\n"}}).body);
    ASSERT_FALSE(answer["problems"].empty());
    bool told = false;
    for (const json& problem : answer["problems"])
        told |= problem["line"] == 3 && problem["column"] == 1 &&
                problem["remedy"].get<std::string>().find("nodes") != std::string::npos;
    EXPECT_TRUE(told) << answer.dump(1);
    const json broken =
        json::parse(post("api/check", {{"id", "my_bug"}, {"text", "format = 1\nx = = 2\n"}}).body);
    EXPECT_EQ(broken["problems"][0]["line"], 2) << broken.dump(1);
}

TEST_F(WebWorkbench, RefusesWhatItCannotRead) {
    EXPECT_EQ(fetch("POST", "/" + access_ + "/api/check", "no json").status, 400);
    EXPECT_EQ(fetch("POST", "/" + access_ + "/api/check", std::string(100'000, '[')).status, 400);
    EXPECT_EQ(
        post("api/jobs", {{"kind", "format_disk"}, {"id", "communication/rank_leaves_all_reduce"}}).status,
        400);
    EXPECT_EQ(post("api/jobs", {{"kind", "run"}, {"id", "../x"}, {"text", "format = 1"}}).status, 400);
    EXPECT_EQ(post("api/jobs", {{"kind", "run"}, {"id", "--help"}}).status, 400);
    EXPECT_EQ(post("api/jobs", {{"kind", "run"}, {"id", "no/such"}}).status, 400);
    const auto probe = [&](const std::string& vary) {
        return post("api/jobs", {{"kind", "probe"},
                                 {"id", "scheduling/one_slow_device"},
                                 {"vary", vary},
                                 {"low", "1x"},
                                 {"high", "2x"}})
            .status;
    };
    EXPECT_EQ(probe("--csv"), 400);
    EXPECT_EQ(post("api/jobs", {{"kind", "shrink"}, {"id", "scheduling/one_slow_device"}, {"keep", "--out"}})
                  .status,
              400);
    EXPECT_EQ(get("api/jobs/1").status, 404);
    EXPECT_EQ(get("api/jobs/1/result").status, 404);
    EXPECT_EQ(get("api/nothing").status, 404);
    EXPECT_EQ(get("api/jobs").status, 405);
    EXPECT_EQ(post("api/token", {{"token", "dr1-x"}}).status, 400);
    EXPECT_EQ(post("api/set", {{"text", "a = 1"}, {"path", "bug.cause"}, {"value", "1"}}).status, 400);
}

TEST_F(WebWorkbench, ListsRoutesThatExistAndTheREADMEHasThem) {
    const std::string readme =
        scenarios::read_text(DEADRANK_SOURCE_DIRECTORY "/runners/web/README.md").value();
    const json routes = json::parse(get("api").body, nullptr, false);
    ASSERT_TRUE(routes.is_array());
    EXPECT_GT(routes.size(), 10u);
    for (const auto& route : routes) {
        const std::string method = route["method"];
        std::string path = route["path"];
        EXPECT_THAT(readme, HasSubstr(fmt::format("| {} | `{}` |", method, path.empty() ? "/" : path)));
        const auto fill = [&](const std::string& name, const std::string& value) {
            if (const auto at = path.find(name); at != std::string::npos)
                path.replace(at, name.size(), value);
        };
        fill("ID", "communication/rank_leaves_all_reduce");
        fill("/N", "/7");
        fill("MICROSECONDS", "3");
        const auto answer = fetch(method, "/" + access_ + "/" + path, method == "POST" ? "{}" : "");
        EXPECT_THAT(answer.body, Not(HasSubstr("no such route"))) << path;
        EXPECT_NE(answer.status, 405) << path;
    }
}

TEST(WebPort, ThatIsTakenIsTold) {
    const auto nothing = [](const auto&) { return HttpResponse{}; };
    const auto first = runners::serve::HttpServer::listen("127.0.0.1", 0, nothing).value();
    const auto second = runners::serve::HttpServer::listen("127.0.0.1", first->port(), nothing);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().text(),
                testing::AllOf(HasSubstr(std::to_string(first->port())), HasSubstr("--port")));
}

}  // namespace
}  // namespace deadrank::tests
