// results/alerts/suggest.cpp — What would have caught a missed failure, and which name was meant. Both are
// alerts that the judge plays like any other, before anybody reads them.
#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "results/alerts/emitted.h"
#include "results/alerts/study.h"
#include "results/exporters/toml_file.h"
#include "results/external/tool_program.h"

namespace deadrank::results::alerts {

namespace {

using scenarios::Result;

bool fires(const std::vector<Instance>& played) {
    return std::any_of(played.begin(), played.end(), [](const Instance& one) { return !one.firing.empty(); });
}

double first_after(const std::vector<Instance>& played, double at, double until) {
    double first = -1;
    for (const Instance& instance : played) {
        for (const Interval& one : instance.firing) {
            if (one.begin >= at && one.begin < until && (first < 0 || one.begin < first)) first = one.begin;
        }
    }
    return first;
}

// What is suggested for the failures that nothing caught in time, by row.
std::map<std::size_t, Tried> suggestions_for(const Study& study) {
    std::map<std::size_t, Tried> all;
    for (std::size_t i = 0; i < study.rows.size(); ++i) {
        const Row& row = study.rows[i];
        const bool caught =
            row.best >= 0 && row.cells[static_cast<std::size_t>(row.best)].in_time(row.incident.within);
        const exporters::Signature* signature = row.incident.signature;
        if (caught || !row.trouble.empty() || signature == nullptr || signature->suggest.expr.empty())
            continue;
        all[i] = {in_site_words(signature->suggest.expr, study.world), signature->suggest.hold,
                  signature->suggest.says};
    }
    return all;
}

Rule rule_of(const std::string& name, const std::string& expr, const std::string& hold) {
    return {.name = name,
            .expr = expr,
            .hold = std::max(0.0, exporters::seconds_of(hold)),
            .file = "suggestion",
            .group = "suggestion"};
}

// The expression with one metric's name replaced.
std::string renamed(const std::string& expr, const std::string& from, const std::string& to) {
    std::string text;
    std::size_t copied = 0;
    for (const Token& token : tokens_of(expr)) {
        if (token.kind != Token::Kind::word || token.text != from) continue;
        text += expr.substr(copied, token.at - copied) + to;
        copied = token.at + from.size();
    }
    return text + expr.substr(copied);
}

}  // namespace

std::string in_site_words(std::string expr, const exporters::World& world) {
    const auto replace_all = [&](const std::string& from, const std::string& to) {
        for (std::size_t at = expr.find(from); from != to && at != std::string::npos;
             at = expr.find(from, at + to.size())) {
            const bool inside = at + from.size() < expr.size() &&
                                (std::isalnum(static_cast<unsigned char>(expr[at + from.size()])) != 0 ||
                                 expr[at + from.size()] == '_');
            if (!inside) expr.replace(at, from.size(), to);
        }
    };
    for (const exporters::Metric& metric : world.catalog->metrics) {
        if (expr.find(metric.name) != std::string::npos)
            replace_all(metric.name, world.profile.shown_name(metric));
    }
    for (const auto& [exporter, job] : world.profile.map.jobs)
        replace_all("\"" + exporter + "-exporter\"", "\"" + job + "\"");
    return expr;
}

Result<void> suggest(Study& study, Player& player, const exporters::SignatureCatalog& signatures,
                     const StudyOptions& options) {
    if (options.over()) return {};
    player.stop_when([options] { return options.over(); });
    const Emitted emitted(study.world, signatures);
    const std::map<std::size_t, Tried> all = suggestions_for(study);
    if (all.empty()) return {};
    std::vector<std::size_t> rows;
    std::vector<Rule> rules;
    for (const auto& [row, tried] : all) {
        rows.push_back(row);
        rules.push_back(rule_of(fmt::format("Suggested{}", row), tried.expr, tried.hold));
    }
    StaticAnalysis analysis = analyse(rules, emitted);
    auto there = player.presence(rules, analysis, emitted);
    if (!there) return {};  // stopped
    explain_silence(rules, *there, emitted, study.world, analysis);
    exporters::Incident healthy = exporters::healthy_run();
    healthy.id = "suggested/healthy";
    const auto usual = player.play(study.world, healthy, {}, rules, analysis, nullptr);
    if (!usual) return {};
    study.cpu_seconds += usual->cpu_seconds;
    each_of(rows.size(), options.jobs, [&](std::size_t i) {
        Row& row = study.rows[rows[i]];
        Tried tried = all.at(rows[i]);
        tried.available = !analysis.rules[i].dead();
        tried.why = analysis.rules[i].why_dead;
        tried.quiet_when_healthy = !fires(usual->activity[i]) && !usual->unjudged[i];
        if (tried.available && tried.quiet_when_healthy && !options.over()) {
            exporters::Incident incident = row.incident;
            incident.id = "suggested/" + incident.id;
            const StaticAnalysis own{{analysis.rules[i]}, {}};
            const auto failing = player.play(study.world, incident, {}, {rules[i]}, own, nullptr);
            if (failing && !failing->unjudged[0]) {
                const double first = first_after(failing->activity[0], row.incident.at, row.incident.until);
                tried.fired = first >= 0;
                tried.latency_low = first - row.incident.at;
            }
        }
        row.suggestion = std::move(tried);
    });
    return {};
}

void try_hints(Study& study, Player& player, const Emitted& emitted) {
    std::vector<std::size_t> whose;
    std::vector<Rule> rules;
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        const RuleReads& reads = study.analysis.rules[i];
        if (!study.rules[i].is_alert || reads.meant.empty()) continue;
        whose.push_back(i);
        rules.push_back(study.rules[i]);
        rules.back().expr = renamed(study.rules[i].expr, reads.slip, reads.meant);
    }
    if (rules.empty()) return;
    exporters::Incident healthy = exporters::healthy_run();
    healthy.id = "suggested/names";
    const auto usual = player.play(study.world, healthy, {}, rules, analyse(rules, emitted), nullptr);
    for (std::size_t i = 0; i < whose.size(); ++i) {
        if (usual && !fires(usual->activity[i])) continue;
        // It would ring on a healthy cluster: another name was meant.
        RuleReads& reads = study.analysis.rules[whose[i]];
        const std::string hint = std::exchange(reads.remedy, "");
        for (StaticFinding& one : study.analysis.findings) {
            if (one.alert == study.rules[whose[i]].name && one.remedy == hint) one.remedy.clear();
        }
    }
}

}  // namespace deadrank::results::alerts
