// results/alerts/suggestion.cpp — Suggestions become a rule file of their own, and are played like anybody's
// rules.
#include "results/alerts/suggestion.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

#include "results/text/toml_tree.h"

namespace deadrank::results::alerts {

namespace {

// One alert alone, as a file that Prometheus reads.
struct Trial {
    std::vector<RuleFile> files;
    std::vector<Rule> rules;
    StaticAnalysis analysis;
};

Trial trial_of(const Tried& tried, const std::string& id, const Study& study, const Emitted& emitted) {
    Trial trial;
    Rule rule{.name = "Suggested", .expr = tried.expr, .group = "suggested"};
    rule.hold = std::max(0.0, exporters::seconds_of(tried.hold));
    RuleFile file{.path = "suggestion"};
    file.content = fmt::format("groups:\n- name: suggested\n  rules:\n  - alert: Suggested\n    expr: {}\n{}",
                               exporters::label_value(tried.expr),
                               tried.hold.empty() ? "" : "    for: " + tried.hold + "\n");
    const auto directory =
        std::filesystem::temp_directory_path() / fmt::format("deadrank-suggestions-{}", getpid());
    std::filesystem::create_directories(directory);
    file.loaded = (directory / (id + ".yml")).string();
    std::ofstream(file.loaded) << file.content;
    trial.files.push_back(std::move(file));
    trial.rules.push_back(std::move(rule));
    trial.analysis = analyse(trial.rules, emitted, study.world);
    return trial;
}

bool fires(const Played& played) {
    return std::any_of(played.activity[0].begin(), played.activity[0].end(),
                       [](const Instance& one) { return !one.firing.empty(); });
}

double first_after(const Played& played, double at) {
    double first = -1;
    for (const Instance& instance : played.activity[0]) {
        for (const Interval& one : instance.firing) {
            if (one.begin >= at && (first < 0 || one.begin < first)) first = one.begin;
        }
    }
    return first;
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

void suggest(Study& study, Player& player, const exporters::SignatureCatalog& signatures) {
    const Emitted emitted(study.world, signatures);
    for (Row& row : study.rows) {
        const bool caught =
            row.best >= 0 && row.cells[static_cast<std::size_t>(row.best)].in_time(row.incident.within);
        const exporters::Signature* signature = row.incident.signature;
        if (caught || !row.trouble.empty() || signature == nullptr || signature->suggest.expr.empty())
            continue;
        Tried tried{in_site_words(signature->suggest.expr, study.world), signature->suggest.hold,
                    signature->suggest.says};
        Trial trial = trial_of(tried, signature->id, study, emitted);
        tried.available = !trial.analysis.rules[0].dead;
        if (tried.available) {
            exporters::Incident incident = row.incident;
            incident.id = "suggested/" + incident.id;
            exporters::Incident healthy = exporters::healthy_run();
            healthy.id = "suggested/healthy/" + row.incident.id;
            auto failing = player.play(study.world, incident, trial.files, trial.rules, trial.analysis);
            auto usual = player.play(study.world, healthy, trial.files, trial.rules, trial.analysis);
            if (failing && usual) {
                const double first = first_after(*failing, row.incident.at);
                tried.fired = first >= 0;
                tried.latency_low = first - row.incident.at;
                tried.quiet_when_healthy = !fires(*usual);
                study.cpu_seconds += failing->cpu_seconds + usual->cpu_seconds;
            }
        }
        row.suggestion = std::move(tried);
    }
    std::error_code ignored;
    std::filesystem::remove_all(
        std::filesystem::temp_directory_path() / fmt::format("deadrank-suggestions-{}", getpid()), ignored);
}

}  // namespace deadrank::results::alerts
