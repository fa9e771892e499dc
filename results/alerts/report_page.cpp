// results/alerts/report_page.cpp — A study as one page without scripts: its rules by severity, and for each
// the curve that came nearest to its threshold.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

#include "results/alerts/report.h"
#include "results/exporters/toml_file.h"
#include "results/reports/output.h"

namespace deadrank::results::alerts {

namespace {

using exporters::duration_text;

std::string in_html(const std::string& text) { return reports::html_text(reports::visible(text)); }

constexpr const char* page_style = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#66707c;--line:#d5dae0;--paper:#fff;
--band:#fbe9e7;--now:#c0392b;--usual:#8a949e;--limit:#1f6feb}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--dim:#97a1ac;--line:#3a424b;--paper:#15191e;
--band:#3a2220;--now:#ff7b6b;--usual:#7f8993;--limit:#79b8ff}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);
max-width:70rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}
.rule{display:grid;grid-template-columns:1fr 25rem;gap:1rem;padding:.8rem 0;
border-bottom:1px solid var(--line)}
@media(max-width:56rem){.rule{grid-template-columns:1fr}}
.rule b{font-size:1rem}.dim{color:var(--dim)}code{font-size:.85rem;overflow-wrap:anywhere}
svg{width:100%;height:8.5rem}svg text{font:11px system-ui,sans-serif;fill:var(--dim)}
.band{fill:var(--band)}.now{stroke:var(--now);fill:none;stroke-width:1.6}
.usual{stroke:var(--usual);fill:none}.limit{stroke:var(--limit);stroke-dasharray:5 3}
)";

// "1.95T": at most six characters, since the axis has no room for more.
std::string axis_number(double value) {
    constexpr std::pair<double, const char*> units[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"},
                                                        {1e3, "k"},  {1e-3, "m"}, {1e-6, "µ"}};
    const double size = std::abs(value);
    if (size >= 999.5 && size < 9999.5) return fmt::format("{:.0f}", value);
    if (size == 0 || (size >= 0.01 && size < 999.5)) return fmt::format("{:.{}g}", value, size < 0.1 ? 2 : 3);
    for (const auto& [unit, name] : units) {
        if (size >= 0.9995 * unit && size < 999.5 * unit) return fmt::format("{:.3g}{}", value / unit, name);
    }
    return fmt::format("{:.0e}", value);
}

// One curve over the run, beside that of the healthy run.
class Plot {
public:
    Plot(const Study& study, const Row& row, std::size_t rule, const Nearness& near)
        : study_(study), row_(row), near_(near) {
        const auto points = [&](const PlayerAnswer& played) {
            const auto at = played.curves.find({rule, near.threshold});
            return at == played.curves.end() ? Curve{} : at->second;
        };
        now_ = points(row.played);
        usual_ = points(study.healthy_played);
        limit_ = near.distance ? 0 : std::strtod(near.limit.c_str(), nullptr);
        low_ = high_ = limit_;
        for (const auto* each : {&now_, &usual_}) {
            for (const auto& [time, value] : *each) {
                if (std::isfinite(value)) low_ = std::min(low_, value), high_ = std::max(high_, value);
            }
        }
        const double room = high_ > low_ ? (high_ - low_) * 0.08 : 1;
        low_ -= room, high_ += room;
    }

    std::string svg() const {
        const double from = x(row_.incident.at), to = x(row_.incident.until);
        std::string out = fmt::format(
            "<svg viewBox=\"0 0 400 136\" role=\"img\" aria-label=\"{0} under {1}\">"
            "<rect class=\"band\" x=\"{2:.1f}\" y=\"8\" width=\"{3:.1f}\" height=\"104\"/>",
            in_html(near_.left), in_html(row_.incident.id), from, to - from);
        out += path(usual_, "usual") + path(now_, "now");
        out += fmt::format("<line class=\"limit\" x1=\"44\" x2=\"396\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>",
                           y(limit_));
        out += fmt::format("<text x=\"40\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", y(limit_) + 4,
                           axis_number(limit_));
        for (const double value : {low_, high_}) {
            if (std::abs(y(value) - y(limit_)) > 14)
                out += fmt::format("<text x=\"40\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", y(value) + 4,
                                   axis_number(value));
        }
        out += fmt::format("<text x=\"{:.1f}\" y=\"128\">{}</text>", from, in_html(row_.incident.id));
        out += fmt::format("<text x=\"396\" y=\"128\" text-anchor=\"end\">{}</text></svg>",
                           duration_text(study_.world.window.duration));
        return out;
    }

private:
    double x(double time) const { return 44 + 352 * time / study_.world.window.duration; }
    double y(double value) const { return 112 - 104 * (value - low_) / (high_ - low_); }

    std::string path(const Curve& points, const char* name) const {
        std::string text;
        double last = -1e9;
        for (const auto& [time, value] : points) {
            if (!std::isfinite(value)) continue;
            const bool gap = time - last > 2 * study_.world.window.eval + 1;
            text += fmt::format("{}{:.1f} {:.1f}", gap ? "M" : "L", x(time), y(value));
            last = time;
        }
        return text.empty() ? "" : fmt::format("<path class=\"{}\" d=\"{}\"/>", name, text);
    }

    const Study& study_;
    const Row& row_;
    Nearness near_;
    Curve now_, usual_;
    double limit_ = 0, low_ = 0, high_ = 0;
};

struct Shown {
    const Row* row = nullptr;
    Nearness near;
};

// The failure that the rule caught first, else the one that it missed by least. None that does not concern
// it.
Shown shown_of(const Study& study, std::size_t rule) {
    Shown best;
    double caught = std::numeric_limits<double>::infinity(), gap = caught;
    for (const Row& row : study.rows) {
        if (rule >= row.cells.size()) continue;
        const Cell& cell = row.cells[rule];
        if (cell.verdict == AlertVerdict::unconcerned) continue;
        const auto& thresholds = study.analysis.rules[rule].thresholds;
        for (std::size_t k = 0; k < thresholds.size(); ++k) {
            if (!row.played.curves.contains({rule, k})) continue;
            Nearness near{thresholds[k].left,       thresholds[k].op, thresholds[k].limit, 0, k,
                          !thresholds[k].is_bound()};
            for (const Nearness& one : cell.near) {
                if (one.threshold == k) near = one;
            }
            if (cell.noticed() && cell.latency_low < caught) {
                caught = cell.latency_low;
                best = {&row, near};
            }
            const double limit = near.distance ? 0 : std::strtod(near.limit.c_str(), nullptr);
            const double apart = std::abs(near.value - limit);
            if (std::isinf(caught) && !cell.near.empty() && apart < gap) gap = apart, best = {&row, near};
        }
    }
    return best;
}

std::string verdict_line(const Study& study, std::size_t rule) {
    const RuleReads& reads = study.analysis.rules[rule];
    if (reads.dead()) return in_html(reads.why_dead + (reads.remedy.empty() ? "" : "; " + reads.remedy));
    if (rule < study.healthy.size() && study.healthy[rule].verdict != AlertVerdict::unconcerned)
        return in_html(study.healthy[rule].says);
    std::map<std::string_view, std::size_t> counts;
    for (const Row& row : study.rows) {
        if (rule < row.cells.size() && row.cells[rule].verdict != AlertVerdict::unconcerned)
            ++counts[name_of(row.cells[rule].verdict)];
    }
    std::vector<std::string> words;
    for (const auto& [name, count] : counts) words.push_back(fmt::format("{} {}", count, name));
    return words.empty() ? "concerned by none of these failures" : fmt::format("{}", fmt::join(words, ", "));
}

std::string rule_entry(const Study& study, std::size_t rule) {
    const Rule& one = study.rules[rule];
    std::string text = fmt::format(
        "<div class=\"rule\"><div><b>{}</b> <span class=\"dim\">{}:{}</span><br>"
        "<code>{}{}</code><br>{}",
        in_html(one.name), in_html(one.file), one.line, in_html(one.expr),
        one.hold > 0 ? " for " + duration_text(one.hold) : "", verdict_line(study, rule));
    const Shown shown = shown_of(study, rule);
    if (shown.row == nullptr) return text + "</div></div>\n";
    const Cell& cell = shown.row->cells[rule];
    text += fmt::format("<br><span class=\"dim\">{}: {}{}</span></div><div>{}</div></div>\n",
                        in_html(shown.row->incident.id), in_html(cell.says),
                        shown.near.distance ? in_html("; drawn: the distance to " + shown.near.limit) : "",
                        Plot(study, *shown.row, rule, shown.near).svg());
    return text;
}

// A page outlives its run: what it lacks stands at its head.
std::string what_is_missing(const Study& study) {
    std::string text;
    if (!study.complete)
        text += fmt::format("<p><b>incomplete</b> the run was stopped before its end{}</p>\n",
                            study.healthy.empty() ? ", in the healthy run: no alert was judged" : "");
    std::map<std::string, std::vector<std::string>> reasons;
    for (const Row& row : study.rows)
        if (!row.trouble.empty()) reasons[row.trouble].push_back(row.incident.id);
    for (const auto& [why, ids] : reasons)
        text +=
            fmt::format("<p><b>not judged</b> {} of {} failures, {}: {}</p>\n", ids.size(), study.rows.size(),
                        in_html(why), in_html(fmt::format("{}", fmt::join(ids, ", "))));
    for (const auto& one : study.invalid)
        text += fmt::format("<p><b>invalid</b> {}: {}</p>\n", in_html(one.place()), in_html(one.words));
    return text;
}

std::string severity_shown(const Rule& rule) {
    const auto at = rule.labels.find("severity");
    return at == rule.labels.end() ? "no severity" : at->second;
}

}  // namespace

std::string page_report(const Study& study, const Policy& policy, const std::vector<Breach>& found) {
    const auto caught = std::count_if(study.rows.begin(), study.rows.end(),
                                      [](const Row& row) { return outcome_of(row) == RowOutcome::caught; });
    std::string text = fmt::format(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width\"><title>deadrank alerts</title><style>{}</style>"
        "<h1>{}</h1><p class=\"dim\">judged by {} · {} · failure at {} of {}{}</p>",
        page_style, caught_text(study, static_cast<std::size_t>(caught)),
        in_html(study.judge.empty() ? "nobody" : study.judge), in_html(study.world.profile.name),
        duration_text(study.world.window.fault_at), duration_text(study.world.window.duration),
        policy.given ? " · policy " + in_html(policy.file) : "");
    text +=
        "<p class=\"dim\">Red: the value nearest to the threshold during the failure. Grey: on the healthy "
        "run. Dashed: the threshold. The band is the failure.</p>\n";
    text += what_is_missing(study);
    for (const Breach& one : found)
        text += fmt::format("<p><b>breach</b> {} {}: {}</p>\n", in_html(one.fault), in_html(one.alert),
                            in_html(one.says));
    std::map<std::string, std::vector<std::size_t>> severities;
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        if (study.rules[i].is_alert) severities[severity_shown(study.rules[i])].push_back(i);
    }
    for (const auto& [severity, rules] : severities) {
        text += fmt::format("<h2>{} ({})</h2>\n", in_html(severity), rules.size());
        for (const std::size_t rule : rules) text += rule_entry(study, rule);
    }
    for (const std::string& note : study.notes)
        text += fmt::format("<p class=\"dim\">note: {}</p>\n", in_html(note));
    return text + "</html>\n";
}

}  // namespace deadrank::results::alerts
