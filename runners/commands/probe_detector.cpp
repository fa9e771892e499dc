// runners/commands/probe_detector.cpp — One of ours by name, all of ours, a known tool, or anybody's command.
#include <fmt/format.h>
#include <mutex>

#include "runners/backends/catalog/backend.h"
#include "runners/commands/interrupt.h"
#include "runners/commands/one_plan.h"
#include "runners/commands/probe_subject.h"
#include "runners/find/detector_probe.h"
#include "runners/studies/tools.h"

namespace deadrank::runners::commands {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

struct Eyes {
    std::string name;
    results::Detectors detectors;
    bool ours = true;
};

Result<Eyes> of_tool(Result<Tool> tool) {
    if (!tool) return tl::unexpected(tool.error());
    if (!tool->missing.empty())
        return refuse(ErrorCode::environment, tool->name + " is not here", tool->missing);
    const std::string release = tool->version.empty() ? "" : " " + tool->version;
    return Eyes{tool->name + release, std::move(tool->detectors), false};
}

Result<Eyes> of_detector(const std::string& name, const Library& library) {
    Eyes eyes{name, {}};
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

Result<Eyes> eyes_of(const ProbeArguments& arguments, const Library& library) {
    results::external::Bounds bounds;
    bounds.time = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.time_limit * 1000));
    bounds.stop = &stop_on_interrupt();
    if (!arguments.tool.empty()) return of_tool(find_tool(arguments.tool, bounds));
    if (!arguments.command.empty())
        return of_tool(tool_of_command(arguments.command, scenarios::ids(library.taxonomy.symptoms), bounds));
    if (!arguments.detector.empty()) return of_detector(arguments.detector, library);
    return Eyes{"all detectors", library.detectors()};
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
    auto eyes = eyes_of(arguments, library);
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
    find::Workers workers;
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

}  // namespace deadrank::runners::commands
