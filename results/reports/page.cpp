// results/reports/page.cpp — The report as one HTML file that needs no network.
#include "results/reports/page.h"

#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/judging/alarm.h"
#include "results/record/text_file.h"
#include "results/record/words.h"
#include "results/reports/resilience_table.h"
#include "results/reports/terminal.h"

namespace deadrank::results::reports {

// ── Puts data, style and scripts into page.html. A "<" inside the data is written as an escape, so that no
// log line can end the script that holds it.

namespace {

// In the order in which they build on each other.
constexpr std::array<std::string_view, 13> scripts = {
    "tools.js", "decode.js", "axis.js",   "paint.js",     "timeline.js", "pointing.js", "map.js",
    "waits.js", "lists.js",  "matrix.js", "standings.js", "moments.js",  "main.js"};

std::string escaped(std::string text) {
    std::string safe;
    safe.reserve(text.size());
    for (const char letter : text) {
        if (letter == '<')
            safe += "\\u003c";
        else
            safe += letter;
    }
    return safe;
}

Json card_view(const Scorecard& card) {
    const auto row = [](const ScoreRow& one) {
        Json outcomes = Json::object();
        for (const auto& [outcome, count] : one.outcomes) outcomes[std::string(name_of(outcome))] = count;
        return Json{{"name", one.name},
                    {"cases", one.cases},
                    {"outcomes", outcomes},
                    {"precision", share_text(one.precision())},
                    {"recall", share_text(one.recall())},
                    {"named", share_text(one.localisation())},
                    {"median", one.delays.empty() ? "—" : duration_text(one.median_delay())},
                    {"quiet", fmt::format("{}/{}", one.quiet, one.quiet_due)}};
    };
    Json rows = Json::array();
    for (const ScoreRow& one : card.rows) rows.push_back(row(one));
    rows.push_back(row(card.total));
    return rows;
}

std::string due_text(const Case& one) {
    if (!one.expect.unseen.empty()) return "silence, since " + one.expect.unseen;
    if (one.expect.symptom.empty()) return {};
    std::string text = one.expect.symptom_text();
    if (!one.expect.blames.empty() && one.fault)
        text += " about " + blame_text(one.fault->culprit, one.expect.blames);
    return text + ", within " + duration_text(Time{one.expect.within});
}

// Replaces each {{name}} in `page` by what `fill` returns.
template <class Fill>
std::string filled(std::string_view page, Fill fill) {
    std::string text;
    for (std::size_t at = 0; at < page.size();) {
        const std::size_t open = page.find("{{", at), close = page.find("}}", open);
        text += page.substr(at, open - at);
        if (close == std::string_view::npos) break;
        text += fill(page.substr(open + 2, close - open - 2));
        at = close + 2;
    }
    return text;
}

}  // namespace

std::string_view data_of_page(std::string_view html) {
    constexpr std::string_view begin = "<script type=\"application/json\" id=\"data\">", end = "</script>";
    const std::size_t at = html.find(begin);
    if (at == std::string_view::npos) return {};
    const std::string_view data = html.substr(at + begin.size());
    return data.substr(0, data.find(end));
}

void Page::add(std::size_t place, const Case& one, const CaseWords& words, const std::vector<SeenRun>& runs) {
    Json json = {{"scenario", one.scenario},
                 {"seed", one.seed},
                 {"runner", one.runner},
                 {"bug", {one.bug.stage, one.bug.symptom, one.bug.cause, one.bug.fix}},
                 {"reports", one.bug.replays},
                 {"verdict", name_of(one.verdict)},
                 {"reason", one.reason},
                 {"due", due_text(one)},
                 {"commands", list_repeat_commands(one)},
                 {"notes", one.notes},
                 {"title", words.title},
                 {"story", words.story},
                 {"fix", words.fix},
                 {"runs", Json::array()}};
    for (const SeenRun& run : runs) json["runs"].push_back(run_view(run));
    std::string text = escaped(dumped(json));
    const std::lock_guard lock(mutex_);
    cases_[place] = std::move(text);
}

void Page::add_blind(std::size_t place, const CaseWords& words, std::uint64_t seed, const Evidence& evidence) {
    Json run = run_view({"fault", &evidence});
    run["waits"] = {{"groups", Json::array()}, {"arrows", Json::array()}, {"left_out", 0}};
    const Json json = {{"blind", true},
                       {"scenario", words.title},
                       {"seed", seed},
                       {"runner", ""},
                       {"bug", {"", "", "", ""}},
                       {"reports", Json::array()},
                       {"verdict", "unknown"},
                       {"commands", Json::array()},
                       {"notes", Json::array()},
                       {"title", words.title},
                       {"story", words.story},
                       {"runs", Json::array({run})}};
    std::string text = escaped(dumped(json));
    const std::lock_guard lock(mutex_);
    cases_[place] = std::move(text);
}

void Page::stand(std::size_t place, const ResilienceCell& standing) {
    if (standing.subject.name.empty()) return;
    std::string text = escaped(dumped(standing_view(standing)));
    text.pop_back();
    const std::lock_guard lock(mutex_);
    standings_[place] = std::move(text);
}

void Page::show_moments(const MomentMap& map) {
    Json rows = Json::array();
    for (const MomentRow& row : map.rows) {
        Json cells = Json::array();
        for (const auto& cell : row.cells) {
            if (!cell) {
                cells.push_back(nullptr);
                continue;
            }
            const auto found = cases_.find(static_cast<std::size_t>(cell->place));
            const auto number =
                cell->place < 0 || found == cases_.end() ? -1 : std::distance(cases_.begin(), found);
            cells.push_back({{"outcome", cell->outcome},
                             {"sign", cell->sign},
                             {"bad", cell->bad},
                             {"where", cell->where},
                             {"says", cell->says},
                             {"again", cell->again},
                             {"case", number}});
        }
        rows.push_back(
            {{"fault", row.fault}, {"ranks", row.ranks}, {"runs", row.runs}, {"cells", std::move(cells)}});
    }
    moments_ = escaped(dumped({{"columns", map.columns}, {"rows", std::move(rows)}}));
}

std::string Page::cases_text() const {
    std::string text;
    for (const auto& [place, json] : cases_) text += (text.empty() ? "" : ",\n") + json;
    return text;
}

std::string Page::standings_text() const {
    std::string text;
    for (const auto& [place, json] : standings_) {
        const auto found = cases_.find(place);
        const auto number = found == cases_.end() ? -1 : std::distance(cases_.begin(), found);
        text += fmt::format("{}{},\"case\":{}}}", text.empty() ? "" : ",\n", json, number);
    }
    return text;
}

std::string Page::html(const Scorecard& card, const std::string& by, const std::string& headline) const {
    const auto data = [&] {
        const Json head = {{"headline", headline}, {"by", by}, {"card", card_view(card)}};
        std::string text = escaped(dumped(head));
        text.back() = ',';
        const std::lock_guard lock(mutex_);
        return text + fmt::format("\"moments\":{},\"standings\":[{}],\"cases\":[{}]}}", moments_,
                                  standings_text(), cases_text());
    };
    return filled(asset("page.html"), [&](std::string_view name) -> std::string {
        if (name == "title") return escaped(headline);
        if (name == "style") return std::string(asset("page.css"));
        if (name == "data") return data();
        std::string all;
        for (const std::string_view script : scripts) all += std::string(asset(script)) + "\n";
        return all;
    });
}

scenarios::Result<void> Page::write(const std::filesystem::path& file, const Scorecard& card,
                                    const std::string& by, const std::string& headline) const {
    return write_text(html(card, by, headline), file);
}

// A bad cell carries the command that reproduces it, an unknown one its reason; the page draws, it does not
// judge.
Json standing_view(const ResilienceCell& standing) {
    Json json = {{"bug", standing.scenario},
                 {"cause", standing.cause},
                 {"program", framework_text(standing.subject)},
                 {"again", standing.again}};
    if (!standing.grade) {
        json["untold"] = standing.untold;
        return json;
    }
    json["response"] = table_word(standing.grade->reaction).text;
    json["good"] = is_good(standing.grade->reaction);
    if (standing.grade->reaction == Reaction::not_checked) json["apart"] = true;
    json["took"] = took_text(*standing.grade);
    json["says"] = standing.grade->says;
    return json;
}

}  // namespace deadrank::results::reports
