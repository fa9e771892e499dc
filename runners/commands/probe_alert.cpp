// runners/commands/probe_alert.cpp — A rule file as it is, on the site that is described, judged by promtool.
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/alerts/promtool_player.h"
#include "results/text/toml_tree.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/alert_site.h"
#include "runners/commands/interrupt.h"
#include "runners/commands/probe_subject.h"
#include "runners/find/alert_probe.h"
#include "runners/find/knob.h"

namespace deadrank::runners::commands {

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
                        const runners::alerts::Site& site) {
    auto file = results_alerts::read_rules(arguments.rules, std::filesystem::path(arguments.out) / "copies");
    if (!file) return tl::unexpected(file.error());
    if (!file->broken.empty()) return refuse(ErrorCode::bad_input, file->broken, "", {arguments.rules});
    study.world = site.world;
    study.rules = file->rules;
    study.files.push_back(std::move(*file));
    const results_alerts::Emitted emitted(study.world, site.signatures);
    study.analysis = results_alerts::analyse(study.rules, emitted, study.world);
    auto& window = study.world.window;
    window.history =
        std::max(window.history, results_alerts::history_needed(study.rules, study.analysis, window));
    std::vector<std::string> names;
    for (const auto& rule : study.rules) {
        if (rule.is_alert) names.push_back(rule.name);
        if (rule.is_alert && rule.name == arguments.alert) return {};
    }
    return refuse(ErrorCode::usage, fmt::format("{} has no alert '{}'", arguments.rules, arguments.alert),
                  fmt::format("it has {}", fmt::join(names, ", ")));
}

Result<find::AlertProbeOptions> options_of(const ProbeArguments& arguments, const Turned& turned,
                                           const runners::alerts::Site& site) {
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
    const runners::alerts::SiteOptions wish{.cluster = arguments.cluster,
                                            .scrape = arguments.scrape,
                                            .eval = arguments.eval,
                                            .duration = arguments.duration,
                                            .catalog = arguments.catalog};
    auto site = runners::alerts::open_site(library, wish);
    if (!site) return tl::unexpected(site.error());
    auto options = options_of(arguments, *turned, **site);
    if (!options) return tl::unexpected(options.error());
    auto tool = results::external::Promtool::find(arguments.promtool);
    if (!tool) return tl::unexpected(tool.error());
    results_alerts::Study study;
    if (auto read = read_rules(study, arguments, **site); !read) return tl::unexpected(read.error());
    results_alerts::PromtoolPlayer player(std::move(*tool), {arguments.out, "", false});
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
