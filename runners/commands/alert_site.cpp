// runners/commands/alert_site.cpp — The operator's site as one value: cluster, exporters, names, times and
// failures; read from the command line once for `alerts` and `alerts serve`.
#include "runners/commands/alert_site.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "results/exporters/toml_file.h"
#include "runners/alerts/scenario_incident.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/commands/ranges.h"
#include "runners/commands/selection.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/text.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::commands {

// ── Turns options into values, with an error for each that makes no sense.

namespace {

using results::exporters::seconds_of;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

Result<results::exporters::Cluster> cluster_of(const std::string& text) {
    const std::size_t cross = text.find('x');
    results::exporters::Cluster cluster{0, 0};
    if (cross != std::string::npos) {
        std::from_chars(text.data(), text.data() + cross, cluster.nodes);
        std::from_chars(text.data() + cross + 1, text.data() + text.size(), cluster.gpus_per_node);
    }
    if (cluster.nodes < 1 || cluster.gpus_per_node < 1 || cluster.nodes > 4096 ||
        cluster.gpus_per_node > 64) {
        return refuse(ErrorCode::usage, "'" + text + "' is not a cluster",
                      "write nodes x GPUs of each, as in 64x8");
    }
    return cluster;
}

Result<void> take_time(const std::string& text, const char* name, double least, double& into) {
    into = seconds_of(text);
    if (into >= least) return {};
    return refuse(
        ErrorCode::usage, fmt::format("--{} '{}' will not do", name, text),
        least > 0 ? "write a duration such as 15s, at least one second" : "write a duration such as 15s");
}

Result<results::exporters::Window> window_of(const SiteOptions& options) {
    results::exporters::Window window;
    for (const auto& [text, name, least, into] :
         {std::tuple{&options.scrape, "scrape", 1.0, &window.scrape},
          std::tuple{&options.eval, "eval", 1.0, &window.eval},
          std::tuple{&options.duration, "duration", 60.0, &window.duration},
          std::tuple{&options.fault_at, "fault-at", 0.0, &window.fault_at},
          std::tuple{&options.history, "history", 0.0, &window.history}}) {
        if (text->empty() && least == 1) continue;
        if (auto taken = take_time(*text, name, least, *into); !taken) return tl::unexpected(taken.error());
    }
    if (window.fault_at >= window.duration) {
        return refuse(
            ErrorCode::usage,
            fmt::format("the failure at {} is after the end at {}", options.fault_at, options.duration),
            "let --fault-at be smaller than --duration");
    }
    if (window.samples() > 200'000) {
        return refuse(ErrorCode::usage,
                      fmt::format("{} samples of each series are too many", window.samples()),
                      "shorten --duration or --history, or scrape less often");
    }
    return window;
}

Result<void> take_exporters(const std::string& list, const results::exporters::MetricCatalog& catalog,
                            std::set<std::string>& into) {
    std::vector<std::string> known;
    for (const auto& metric : catalog.metrics) {
        if (metric.exporter != results::exporters::ExporterId::prometheus &&
            std::find(known.begin(), known.end(), metric.exporter) == known.end())
            known.push_back(metric.exporter);
    }
    if (list.empty()) return {};
    into.clear();
    for (const std::string_view part : scenarios::parts_of(list, ',')) {
        const std::string name(part);
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            return refuse(ErrorCode::usage, "unknown exporter '" + name + "'",
                          fmt::format("known are {}", fmt::join(known, ", ")));
        }
        into.insert(name);
    }
    return {};
}

}  // namespace

void add_site(CLI::App& app, SiteOptions& options) {
    app.add_option("--cluster", options.cluster, "Nodes x GPUs of each [8x8]")->type_name("NxG");
    app.add_option("--scenarios", options.scenarios,
                   "Failures: all, ids and patterns (see --list), or scenarios of the catalogue [all]")
        ->type_name("ID");
    app.add_option(
           "--profile", options.profile,
           "What dcgm-exporter shows: dcgm-default, dcgm-full, dcgm-kubernetes, dcgm-1x, or your "
           "counters.csv; kubernetes labels all targets as a Prometheus Operator does [kubernetes for "
           "rules that say so, else dcgm-default]")
        ->type_name("PROFILE");
    app.add_option("--map", options.map, "Your names of metrics, labels, jobs and hosts (TOML)")
        ->type_name("FILE");
    app.add_option("--exporters", options.exporters,
                   "Which run, as in dcgm,node,training [all but inspector]")
        ->type_name("LIST");
    app.add_option("--metrics", options.metrics, "Metrics of your own (TOML, as results/exporters/metrics)")
        ->type_name("FILE");
    app.add_option("--signatures", options.signatures,
                   "Failures of your own (TOML, as results/exporters/signatures)")
        ->type_name("FILE");
    app.add_option("--scrape", options.scrape, "Scrape interval [15s, or that of --prometheus]")
        ->type_name("TIME");
    app.add_option("--eval", options.eval, "Evaluation interval [15s, or that of --prometheus]")
        ->type_name("TIME");
    app.add_option("--duration", options.duration, "How long is watched [45m]")->type_name("TIME");
    app.add_option("--fault-at", options.fault_at, "When the failure strikes [15m]")->type_name("TIME");
    app.add_option("--history", options.history, "Healthy time before, for rules with offset 1d [0s]")
        ->type_name("TIME");
    app.add_option("--seed", options.seed, "Decides the noise [1]")->type_name("N")->check(whole_number());
    app.add_option("--catalog", options.catalog, "Directory of scenarios")->type_name("DIR");
}

std::filesystem::path tables_of(const Library& library) {
    for (const char* place : {"../results/exporters", "exporters"}) {
        std::error_code ignored;
        const auto directory = library.data / place;
        if (std::filesystem::is_directory(directory / "metrics", ignored)) {
            return std::filesystem::weakly_canonical(directory, ignored);
        }
    }
    return library.data / "exporters";
}

Result<std::unique_ptr<Site>> open_site(const Library& library, const SiteOptions& options) {
    auto site = std::make_unique<Site>();
    const auto tables = tables_of(library);
    auto metrics = results::exporters::load_metrics(tables / "metrics");
    if (!metrics) return tl::unexpected(metrics.error());
    site->metrics = std::move(*metrics);
    for (const std::string& file : options.metrics) {
        if (auto added = results::exporters::add_metrics(file, site->metrics); !added)
            return tl::unexpected(added.error());
    }
    auto signatures = results::exporters::load_signatures(tables / "signatures");
    if (!signatures) return tl::unexpected(signatures.error());
    site->signatures = std::move(*signatures);
    for (const std::string& file : options.signatures) {
        if (auto added = results::exporters::add_signatures(file, site->signatures); !added)
            return tl::unexpected(added.error());
    }
    auto profile = results::exporters::load_profile(
        options.profile.empty() ? "dcgm-default" : options.profile, site->metrics);
    if (!profile) return tl::unexpected(profile.error());
    if (auto taken = take_exporters(options.exporters, site->metrics, profile->exporters); !taken)
        return tl::unexpected(taken.error());
    if (!options.map.empty()) {
        auto map = results::exporters::load_name_map(options.map, site->metrics);
        if (!map) return tl::unexpected(map.error());
        profile->map = std::move(*map);
    }
    auto cluster = cluster_of(options.cluster);
    if (!cluster) return tl::unexpected(cluster.error());
    auto window = window_of(options);
    if (!window) return tl::unexpected(window.error());
    site->world = {&site->metrics, std::move(*profile), *cluster, *window, options.seed, 0};
    return site;
}

// ── From the typed words to incidents. Scenarios of the catalogue are played in the simulator at their own
// size; what became of the job is then shown on the judged cluster.

namespace {

using results::exporters::Incident;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

// Signatures by id or pattern; false when none matches.
bool add_signatures(const Site& site, const std::string& pattern, std::vector<Incident>& incidents) {
    bool any = false;
    for (const auto& signature : site.signatures.signatures) {
        if (signature.internal) continue;
        if (pattern != "all" && !commands::matches_pattern(pattern, signature.id)) continue;
        any = true;
        const bool there = std::any_of(incidents.begin(), incidents.end(),
                                       [&](const Incident& one) { return one.id == signature.id; });
        if (there) continue;
        incidents.push_back(results::exporters::incident_of(
            signature, site.signatures, {usual_target(site.world.cluster, signature.scope)},
            site.world.window));
    }
    return any;
}

Result<void> add_scenario(const Site& site, const Library& library, const scenarios::Scenario& scenario,
                          std::uint64_t seed, std::vector<Incident>& incidents,
                          std::vector<std::string>& notes) {
    SimRunner runner;
    auto trial = scenarios::resolve(scenario, {seed}, runner.capabilities(), library.vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    auto record = runner.run(trial->fault, {});
    if (!record) return tl::unexpected(record.error());
    Incident incident = runners::alerts::incident_of(trial->fault, *record, site.signatures,
                                                     site.world.cluster, site.world.window);
    if (incident.effects.empty()) {
        notes.push_back(scenario.id + " shows nothing that an exporter could see; it is left out");
    } else {
        incidents.push_back(std::move(incident));
    }
    return {};
}

}  // namespace

Result<std::vector<Incident>> choose_incidents(const Site& site, const Library& library,
                                               const SiteOptions& options, std::vector<std::string>& notes) {
    std::vector<Incident> incidents;
    commands::SelectionOptions rest{.catalog = options.catalog};
    bool catalog = false;
    for (const std::string& name : options.scenarios) {
        if (name == "catalog")
            catalog = true;
        else if (!add_signatures(site, name, incidents))
            rest.names.push_back(name);
    }
    if (options.scenarios.empty()) add_signatures(site, "all", incidents);
    if (!catalog && rest.names.empty()) return incidents;
    if (catalog) rest.names.clear();
    auto selection = commands::select(library, rest);
    if (!selection) {
        scenarios::Error error = selection.error();
        const std::string near =
            scenarios::nearest(rest.names.empty() ? "" : rest.names[0], site.signatures.ids());
        if (!near.empty()) error.remedy = "did you mean the failure '" + near + "'?";
        return tl::unexpected(error);
    }
    for (const scenarios::Scenario& scenario : selection->scenarios) {
        if (auto added = add_scenario(site, library, scenario, options.seed, incidents, notes); !added) {
            notes.push_back(scenario.id + " could not be played: " + added.error().text());
        }
    }
    if (incidents.empty()) {
        return refuse(ErrorCode::usage, "none of these scenarios shows anything to an exporter",
                      "deadrank alerts --list names failures that do");
    }
    return incidents;
}

}  // namespace deadrank::runners::commands
