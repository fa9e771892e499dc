// runners/commands/find/probe_subject.cpp — What the command line asks to probe: a detector over a scenario
// or an alert rule over a failure; and the curve as a text chart, as JSON and as CSV.
#include "runners/commands/find/probe_subject.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <nlohmann/json.hpp>

#include "results/alerts/promtool_player.h"
#include "results/exporters/toml_file.h"
#include "results/record/words.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/alert_site.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/find/knob.h"
#include "runners/find/probe.h"
#include "runners/score/tools.h"

namespace deadrank::runners::commands {

// ── One of our detectors by name, all of them, a known tool, or a user's command.

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

struct DetectorSet {
    std::string name;
    results::Detectors detectors;
    bool ours = true;
};

Result<DetectorSet> of_tool(Result<Tool> tool) {
    if (!tool) return tl::unexpected(tool.error());
    if (!tool->missing.empty())
        return refuse(ErrorCode::environment, tool->name + " is not here", tool->missing);
    const std::string release = tool->version.empty() ? "" : " " + tool->version;
    return DetectorSet{tool->name + release, std::move(tool->detectors), false};
}

Result<DetectorSet> of_detector(const std::string& name, const Library& library) {
    DetectorSet eyes{name, {}};
    std::vector<std::string> known;
    for (auto& detector : library.detectors()) {
        known.emplace_back(detector->name());
        if (detector->name() == name) eyes.detectors.push_back(std::move(detector));
    }
    if (!eyes.detectors.empty()) return eyes;
    const std::string near = scenarios::nearest(name, known);
    return refuse(ErrorCode::usage, fmt::format("there is no detector '{}'", name),
                  near.empty() ? fmt::format("the first is {}", known.front())
                               : fmt::format("did you mean '{}'?", near));
}

Result<DetectorSet> choose_detectors(const ProbeArguments& arguments, const Library& library) {
    results::processes::Bounds bounds;
    bounds.time = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.time_limit * 1000));
    bounds.stopped = [] { return stop_on_interrupt().load(); };
    if (!arguments.tool.empty()) return of_tool(find_tool(arguments.tool, bounds));
    if (!arguments.command.empty())
        return of_tool(tool_of_command(arguments.command, scenarios::ids(library.taxonomy.symptoms), bounds));
    if (!arguments.detector.empty()) return of_detector(arguments.detector, library);
    return DetectorSet{"all detectors", library.detectors()};
}

}  // namespace

Result<Vary> parse_vary(const std::string& text) {
    const std::size_t equal = text.find('=');
    if (equal == std::string::npos || equal == 0)
        return refuse(ErrorCode::usage, fmt::format("--vary '{}' says no range", text),
                      "write NAME=A..B, as in slow_rank.factor=1x..4x");
    return Vary{text.substr(0, equal), text.substr(equal + 1)};
}

Result<Probed> probe_detector(const ProbeArguments& arguments, const Library& library, Session& session,
                              Progress& progress) {
    const auto vary = parse_vary(arguments.vary);
    if (!vary) return tl::unexpected(vary.error());
    auto eyes = choose_detectors(arguments, library);
    if (!eyes) return tl::unexpected(eyes.error());
    const auto seeds = seeds_of(arguments.seeds);
    if (!seeds) return tl::unexpected(seeds.error());
    std::vector<scenarios::Plan> plans;
    find::CurveOptions options{.points = arguments.points};
    for (const scenarios::Seed& seed : *seeds) {
        auto plan = one_plan(library, arguments.scenario, seed.number);
        if (!plan) return tl::unexpected(plan.error());
        plan->seed = seed;
        plans.push_back(std::move(*plan));
        options.seeds.push_back(seed.number);
    }
    const auto knob = find::find_knob(vary->path, plans.front(), library.vocabulary);
    if (!knob) return tl::unexpected(knob.error());
    const auto range = find::parse_range(vary->range, knob->type);
    if (!range) return tl::unexpected(range.error());
    std::atomic<bool>& stop = stop_on_interrupt();
    Workers workers;
    workers.make_runner = [&] { return std::move(*make_runner("sim", session.extension)); };
    workers.threads = arguments.jobs > 0 ? arguments.jobs : eyes->ours ? usual_jobs("sim") : 1;
    workers.stop = &stop;
    const find::DetectorProbe probe(plans, *knob, eyes->detectors, arguments.symptom, workers);
    options.low = range->low;
    options.high = range->high;
    options.finest = knob->finest();
    options.stopped = [&] { return stop.load(); };
    options.progress = [&](std::int64_t magnitude) { progress.show("  " + knob->text(magnitude)); };
    Probed probed;
    probed.curve = find::measure(
        options, [&](std::int64_t magnitude, const auto&) { return probe.fire(magnitude); },
        probe.fire_healthy());
    probed.subject = {eyes->name, fmt::format("{}, {}", arguments.scenario, knob->path),
                      [knob = *knob](std::int64_t magnitude) { return knob.text(magnitude); }};
    return probed;
}

// ── An unmodified rule file on the described site, judged by promtool.

namespace {

namespace results_alerts = results::alerts;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using scenarios::ValueType;

struct Turned {
    find::AlertKnob knob;
    ValueType type;
};

Result<Turned> knob_of(const std::string& path) {
    if (path == "lasts") return Turned{find::AlertKnob::lasts, ValueType::duration};
    if (path == "strength") return Turned{find::AlertKnob::strength, ValueType::factor};
    if (path == "targets") return Turned{find::AlertKnob::targets, ValueType::integer};
    return refuse(ErrorCode::usage, fmt::format("'{}' of a failure cannot be varied", path),
                  "there are lasts (how long it lasts), strength and targets (how many it strikes)");
}

Result<void> read_rules(results_alerts::Study& study, const ProbeArguments& arguments,
                        const runners::commands::Site& site) {
    auto file = results_alerts::read_rules(arguments.rules, std::filesystem::path(arguments.out) / "copies");
    if (!file) return tl::unexpected(file.error());
    if (!file->broken.empty()) return refuse(ErrorCode::bad_input, file->broken, "", {arguments.rules});
    study.world = site.world;
    study.rules = file->rules;
    study.files.push_back(std::move(*file));
    const results_alerts::Emitted emitted(study.world, site.signatures);
    study.analysis = results_alerts::analyse(study.rules, emitted);
    std::vector<std::string> names;
    for (const auto& rule : study.rules) {
        if (rule.is_alert) names.push_back(rule.name);
        if (rule.is_alert && rule.name == arguments.alert) return {};
    }
    return refuse(ErrorCode::usage, fmt::format("{} has no alert '{}'", arguments.rules, arguments.alert),
                  fmt::format("it has {}", fmt::join(names, ", ")));
}

Result<find::AlertProbeOptions> options_of(const ProbeArguments& arguments, const Turned& turned,
                                           const runners::commands::Site& site) {
    find::AlertProbeOptions options{.knob = turned.knob, .alert = arguments.alert};
    options.signatures = &site.signatures;
    options.failure = site.signatures.find(arguments.failure);
    if (!options.failure || options.failure->internal) {
        const std::string near = scenarios::nearest(arguments.failure, site.signatures.ids());
        return refuse(
            ErrorCode::usage, fmt::format("there is no failure '{}'", arguments.failure),
            near.empty() ? "deadrank alerts --list names them" : fmt::format("did you mean '{}'?", near));
    }
    if (turned.knob == find::AlertKnob::strength && !find::has_strength(*options.failure))
        return refuse(ErrorCode::usage,
                      fmt::format("'{}' has no strength: it sets levels outright", arguments.failure),
                      "vary lasts or targets");
    options.study.jobs = arguments.jobs > 0 ? arguments.jobs : usual_jobs("sim");
    options.study.suggest = false;
    return options;
}

}  // namespace

Result<Probed> probe_alert(const ProbeArguments& arguments, const Library& library, Progress& progress) {
    const auto vary = parse_vary(arguments.vary);
    if (!vary) return tl::unexpected(vary.error());
    const auto turned = knob_of(vary->path);
    if (!turned) return tl::unexpected(turned.error());
    const auto range = find::parse_range(vary->range, turned->type);
    if (!range) return tl::unexpected(range.error());
    const auto seeds = seeds_of(arguments.seeds);
    if (!seeds) return tl::unexpected(seeds.error());
    const runners::commands::SiteOptions wish{.cluster = arguments.cluster,
                                              .scrape = arguments.scrape,
                                              .eval = arguments.eval,
                                              .duration = arguments.duration,
                                              .catalog = arguments.catalog};
    auto site = runners::commands::open_site(library, wish);
    if (!site) return tl::unexpected(site.error());
    auto options = options_of(arguments, *turned, **site);
    if (!options) return tl::unexpected(options.error());
    auto tool = results::external::Promtool::find(arguments.promtool);
    if (!tool) return tl::unexpected(tool.error());
    results_alerts::Study study;
    if (auto read = read_rules(study, arguments, **site); !read) return tl::unexpected(read.error());
    results_alerts::PromtoolPlayer player(std::move(*tool), {arguments.out, false, false});
    find::AlertProbe probe(*options, study, player);
    std::atomic<bool>& stop = stop_on_interrupt();
    const auto unit = [type = turned->type](std::int64_t magnitude) {
        return scenarios::value_text({.type = type, .number = magnitude});
    };
    find::CurveOptions curve{.low = range->low, .high = range->high, .points = arguments.points};
    for (const scenarios::Seed& seed : *seeds) curve.seeds.push_back(seed.number);
    curve.finest = turned->type == ValueType::duration ? 1'000'000'000
                   : turned->type == ValueType::factor ? 10
                                                       : 1;
    curve.stopped = [&] { return stop.load(); };
    curve.progress = [&](std::int64_t magnitude) { progress.show("  " + unit(magnitude)); };
    Probed probed;
    probed.curve = find::measure(
        curve, [&](std::int64_t magnitude, const auto& some) { return probe.fire(magnitude, some); },
        probe.fire_healthy());
    probed.subject = {fmt::format("alert {} ({})", arguments.alert, player.name()),
                      fmt::format("{}, {}", arguments.failure, vary->path), unit, false};
    return probed;
}

}  // namespace deadrank::runners::commands
