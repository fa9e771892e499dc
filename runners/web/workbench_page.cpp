// runners/web/workbench_page.cpp — The workbench draws runs with the scripts of the report: one timeline for both.
#include "runners/web/workbench_page.h"

#include <array>
#include <span>

#include "results/reports/page.h"

namespace deadrank::runners::web {

namespace {

using Names = std::span<const std::string_view>;

// In the order in which they build on each other.
constexpr std::array<std::string_view, 9> report_scripts = {"tools.js", "decode.js",   "axis.js",
                                                            "paint.js", "timeline.js", "pointing.js",
                                                            "map.js",   "waits.js",    "lists.js"};
constexpr std::array<std::string_view, 9> workbench_scripts = {"server.js", "catalog.js", "editor.js",
                                                               "knobs.js",  "runs.js",    "find.js",
                                                               "links.js",  "shell.js",   "workbench.js"};
constexpr std::array<std::string_view, 3> learner_scripts = {"server.js", "shell.js", "learner.js"};
constexpr std::array<std::string_view, 3> teacher_scripts = {"server.js", "shell.js", "teacher.js"};

std::string joined(Names of_reports, Names own) {
    std::string all;
    for (const std::string_view name : of_reports) all += std::string(results::reports::asset(name)) + "\n";
    for (const std::string_view name : own) all += std::string(asset(name)) + "\n";
    return all;
}

std::string html_of(Page page) {
    switch (page) {
        case Page::workbench:
            return std::string(asset("workbench.html"));
        case Page::learner:
            return std::string(asset("learner.html"));
        case Page::teacher:
            return std::string(asset("teacher.html"));
    }
    return {};
}

std::string script_of(Page page) {
    if (page == Page::workbench) return joined(report_scripts, workbench_scripts);
    return joined(report_scripts, page == Page::learner ? Names(learner_scripts) : Names(teacher_scripts));
}

std::string style_of(Page page) {
    std::string all(results::reports::asset("page.css"));
    all += asset("workbench.css");
    if (page != Page::workbench) all += asset("class.css");
    return all;
}

}  // namespace

std::optional<serve::HttpResponse> page_file(Page page, const serve::HttpRequest& request,
                                             const Target& target) {
    if (request.method != "GET" || target.parts.size() > 1) return std::nullopt;
    if (target.parts.empty()) {
        serve::HttpResponse redirect = answer_of(308, "", "text/plain; charset=utf-8");
        redirect.headers["Location"] = "/" + target.access + "/";
        return redirect;
    }
    const std::string& name = target.parts.front();
    if (name.empty()) return answer_of(200, html_of(page), "text/html; charset=utf-8");
    if (name == "app.js") return answer_of(200, script_of(page), "text/javascript; charset=utf-8");
    if (name == "app.css") return answer_of(200, style_of(page), "text/css; charset=utf-8");
    return std::nullopt;
}

}  // namespace deadrank::runners::web
