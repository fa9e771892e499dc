// runners/web/workbench.cpp — The workbench's server: the catalogue, scenarios and their runs as JSON.
#include "runners/web/workbench.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "results/reports/page.h"
#include "runners/pipeline/build.h"
#include "runners/pipeline/run_files.h"
#include "runners/pipeline/token.h"
#include "runners/web/http_answers.h"
#include "runners/web/knobs.h"
#include "runners/web/orders.h"
#include "runners/web/scenario_view.h"
#include "runners/web/workbench_page.h"
#include "scenarios/model/document.h"

namespace deadrank::runners::web {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using serve::HttpRequest;
using serve::HttpResponse;

namespace {

Subject subject_of(const Json& body) {
    const auto explore = body.find("explore_order");
    return {.id = text_in(body, "id"),
            .text = text_in(body, "text"),
            .seed = number_in(body, "seed", 1),
            .explore_order = explore != body.end() && explore->is_boolean() && explore->get<bool>()};
}

// One row of the API. `path` is below /ACCESS/.
struct Route {
    std::string_view method, path, takes, gives;
};

constexpr std::array<Route, 13> routes = {{
    {"GET", "", "", "the page; app.js and app.css beside it"},
    {"GET", "api", "", "these rows: [{method, path, takes, gives}]"},
    {"GET", "api/catalog", "", "classes, stages, symptoms, causes, and every scenario with its words"},
    {"GET", "api/scenario?id=ID", "", "the text of a scenario: {id, text}"},
    {"POST", "api/check", "{id, text, seed}",
     "{problems: [{line, column, what, remedy}]}; without problems also ranks, knobs, the plan and the "
     "program"},
    {"POST", "api/set", "{text, path, value}", "the text with one setting changed: {text}"},
    {"POST", "api/token", "{token}",
     "the scenario and the seed of a replay token, and whether it is known here"},
    {"POST", "api/jobs",
     "{kind: run, sweep, shrink or probe, id, text, seed, explore_order, vary, low, high, seeds, keep}",
     "{job}: a number; the command runs in a child process"},
    {"GET", "api/jobs/N", "",
     "{state: waiting, running, done, failed, cancelled or out_of_time, ahead, seconds, "
     "progress, trouble}"},
    {"DELETE", "api/jobs/N", "", "cancels it"},
    {"GET", "api/jobs/N/result", "", "what it found: of a run {case, page}, else the command's JSON"},
    {"GET", "api/jobs/N/waits?variant=fault&at=MICROSECONDS", "", "who waits for whom at that time"},
    {"GET", "api/jobs/N/report.html", "", "the run as a page of its own, to save"},
}};

HttpResponse list_routes() {
    Json rows = Json::array();
    for (const Route& route : routes)
        rows.push_back(
            {{"method", route.method}, {"path", route.path}, {"takes", route.takes}, {"gives", route.gives}});
    return answer_of(200, results::reports::dumped(rows), json_type);
}

Json job_view(const JobView& job) {
    return {{"job", job.number},           {"kind", scenarios::enum_name(job.kind)},
            {"state", name_of(job.state)}, {"ahead", job.ahead},
            {"seconds", job.seconds},      {"progress", job.progress},
            {"trouble", job.trouble},      {"code", job.code}};
}

}  // namespace

struct Workbench::Parts {
    Parts(const Library& library_, WorkbenchOptions options_, scenarios::Catalog catalog_)
        : library(library_),
          options(std::move(options_)),
          catalog(results::reports::dumped(catalog_view(catalog_, library_.taxonomy))),
          shelf(options.read),
          jobs(options.jobs, [this](const auto& result) { read_ahead(result); }) {}

    HttpResponse api(const HttpRequest& request, const Target& target);
    HttpResponse scenario(const std::string& id) const;
    HttpResponse check(const Json& body) const;
    static HttpResponse set(const Json& body);
    HttpResponse token(const Json& body) const;
    HttpResponse start(const Json& body);
    HttpResponse of_job(const HttpRequest& request, const Target& target);
    static HttpResponse result_of(const Jobs::Result& result);
    HttpResponse waits_of(const Jobs::Result& result, const Target& target);
    void read_ahead(const std::shared_ptr<const Jobs::Result>& result);

    const Library& library;
    const WorkbenchOptions options;
    const std::string catalog;
    EvidenceShelf shelf;
    Jobs jobs;
};

HttpResponse Workbench::Parts::scenario(const std::string& id) const {
    const auto text = scenarios::read_text(file_of(library, {.id = id}));
    if (!text) return error_answer(404, fmt::format("the catalogue has no scenario '{}'", id));
    return json_answer({{"id", id}, {"text", *text}});
}

HttpResponse Workbench::Parts::check(const Json& body) const {
    const Subject subject = subject_of(body);
    return json_answer(check_view(subject.text, file_of(library, subject), scenarios::Seed{subject.seed},
                                  library, options.capabilities));
}

HttpResponse Workbench::Parts::set(const Json& body) {
    const auto changed = set_in_text(text_in(body, "text"), text_in(body, "path"), text_in(body, "value"));
    return changed ? json_answer({{"text", *changed}}) : error_answer(changed.error());
}

HttpResponse Workbench::Parts::token(const Json& body) const {
    const auto token = parse_token(text_in(body, "token"));
    if (!token) return error_answer(token.error());
    const auto file = file_of(library, {.id = token->scenario});
    const auto scenario = load_scenario(library, file);
    const std::string digest = scenario ? scenario->digest.substr(0, token->scenario_digest.size()) : "";
    return json_answer({{"id", token->scenario},
                        {"seed", token->seed},
                        {"explore_order", token->explored},
                        {"runner", token->runner},
                        {"build", token->build},
                        {"same_build", token->build == this_build().commit},
                        {"known", digest == token->scenario_digest}});
}

HttpResponse Workbench::Parts::start(const Json& body) {
    const auto kind = scenarios::read_word<JobKind>(text_in(body, "kind"));
    if (!kind)
        return error_answer(scenarios::Error{
            ErrorCode::usage, fmt::format("'{}' is nothing that can be done", text_in(body, "kind")),
            "run, sweep, shrink or probe"});
    Find find{.kind = *kind,
              .vary = text_in(body, "vary"),
              .low = text_in(body, "low"),
              .high = text_in(body, "high"),
              .keep = text_in(body, "keep")};
    find.seeds = static_cast<int>(std::min<std::uint64_t>(number_in(body, "seeds", 10), 100));
    auto order = make_order(library, subject_of(body), find, options.order);
    if (!order) return error_answer(order.error());
    const auto number = jobs.add(std::move(*order));
    if (!number) return error_answer(number.error(), 429);
    return json_answer({{"job", *number}}, 202);
}

HttpResponse Workbench::Parts::result_of(const Jobs::Result& result) {
    if (result.kind != JobKind::run) return answer_of(200, result.out, json_type);
    const auto page = scenarios::read_text(result.place.path() / report_file);
    if (!page) return error_answer(page.error(), 500);
    const std::string_view data = results::reports::data_of_page(*page);
    const std::string line = result.out.substr(0, result.out.find('\n'));
    if (data.empty() || line.empty()) return error_answer(500, "the run wrote no report");
    if (data.size() > answer_most) {
        return error_answer(
            500,
            fmt::format("the run's picture takes {} bytes, more than a browser is sent here", data.size()),
            "play it with fewer ranks or steps, or use deadrank run --html");
    }
    return answer_of(200, fmt::format("{{\"case\":{},\"page\":{}}}\n", line, data), json_type);
}

namespace {

// Where a run's files are; nothing if the job was no run.
std::optional<RunDirectory> files_of(const Jobs::Result& result) {
    const Json line = Json::parse(result.out.substr(0, result.out.find('\n')), nullptr, false);
    if (result.kind != JobKind::run || !line.is_object()) return std::nullopt;
    return RunDirectory(result.place.path() / kept_runs, text_in(line, "scenario"),
                        number_in(line, "seed", 1));
}

std::filesystem::path evidence_of(const RunDirectory& files, scenarios::Variant variant) {
    return files.of(variant) / "evidence.jsonl";
}

}  // namespace

// The page asks who waits for whom as soon as it shows a run.
void Workbench::Parts::read_ahead(const std::shared_ptr<const Jobs::Result>& result) {
    const auto files = files_of(*result);
    if (!files) return;
    using scenarios::Variant;
    shelf.read_ahead({evidence_of(*files, Variant::fault), evidence_of(*files, Variant::healed),
                      evidence_of(*files, Variant::control)},
                     result);
}

HttpResponse Workbench::Parts::waits_of(const Jobs::Result& result, const Target& target) {
    const std::string variant = target.value("variant");
    const auto micros = scenarios::parse_whole(target.value("at"));
    if (!micros || *micros < 0 || *micros > INT64_MAX / 1000)
        return error_answer(400, "'at' is no time in microseconds");
    const auto files = files_of(result);
    if (!files) return error_answer(400, "this is no run");
    const auto which = variant == "control"  ? scenarios::Variant::control
                       : variant == "healed" ? scenarios::Variant::healed
                                             : scenarios::Variant::fault;
    const auto waits = shelf.waits(evidence_of(*files, which), results::Time{*micros * 1000});
    return waits ? json_answer(*waits) : error_answer(waits.error(), 404);
}

HttpResponse Workbench::Parts::of_job(const HttpRequest& request, const Target& target) {
    const auto number = scenarios::parse_whole(target.parts[2]);
    const auto view = jobs.find(static_cast<int>(number.value_or(0)));
    if (!number || !view) return error_answer(404, fmt::format("there is no job {}", target.parts[2]));
    if (target.parts.size() == 3) {
        if (request.method == "DELETE")
            jobs.cancel(view->number);
        else if (request.method != "GET")
            return error_answer(405, "a job is read or deleted");
        return json_answer(job_view(*jobs.find(view->number)));
    }
    if (request.method != "GET" || target.parts.size() != 4)
        return error_answer(404, "there is no such route");
    const auto result = jobs.result(view->number);
    if (!result) return error_answer(409, "the job has no result", view->trouble);
    if (target.parts[3] == "result") return result_of(*result);
    if (target.parts[3] == "waits") return waits_of(*result, target);
    if (target.parts[3] != report_file) return error_answer(404, "there is no such route");
    const auto page = scenarios::read_text(result->place.path() / report_file);
    if (!page) return error_answer(page.error(), 404);
    HttpResponse response = answer_of(200, *page, "text/html; charset=utf-8");
    response.headers["Content-Disposition"] = "attachment; filename=\"deadrank.html\"";
    return response;
}

HttpResponse Workbench::Parts::api(const HttpRequest& request, const Target& target) {
    const std::string what = target.parts.size() > 1 ? target.parts[1] : "";
    if (what == "jobs" && target.parts.size() > 2) return of_job(request, target);
    if (target.parts.size() == 1 && request.method == "GET") return list_routes();
    if (target.parts.size() != 2) return error_answer(404, "there is no such route");
    if (what == "catalog" || what == "scenario") {
        if (request.method != "GET") return error_answer(405, "this is read with GET");
        if (what == "catalog") return answer_of(200, catalog, json_type);
        return scenario(target.value("id"));
    }
    using Answer = std::function<HttpResponse(const Json&)>;
    const std::map<std::string_view, Answer> answers = {
        {"jobs", [this](const Json& body) { return start(body); }},
        {"check", [this](const Json& body) { return check(body); }},
        {"set", [](const Json& body) { return set(body); }},
        {"token", [this](const Json& body) { return token(body); }}};
    const auto found = answers.find(what);
    if (found == answers.end()) return error_answer(404, "there is no such route");
    if (request.method != "POST") return error_answer(405, "this is asked with POST");
    const auto body = body_of(request);
    return body ? found->second(*body) : error_answer(body.error());
}

Workbench::Workbench(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Workbench::~Workbench() = default;

Result<std::unique_ptr<Workbench>> Workbench::open(const Library& library, WorkbenchOptions options) {
    auto catalog = scenarios::load_catalog(library.catalog, library.taxonomy, library.vocabulary);
    if (!catalog) return tl::unexpected(catalog.error());
    return std::unique_ptr<Workbench>(
        new Workbench(std::make_unique<Parts>(library, std::move(options), std::move(*catalog))));
}

HttpResponse Workbench::answer(const HttpRequest& request) {
    const Target target = target_of(request.target);
    if (!same_secret(target.access, parts_->options.access))
        return answer_of(403, "the address lacks its random part; deadrank web printed the whole of it\n",
                         "text/plain; charset=utf-8");
    if (auto file = page_file(Page::workbench, request, target)) return *file;
    if (!target.parts.empty() && target.parts.front() == "api") return parts_->api(request, target);
    return error_answer(404, "there is no such page");
}

}  // namespace deadrank::runners::web
