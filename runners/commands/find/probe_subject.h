// runners/commands/find/probe_subject.h — What the command line asks to probe: a detector over a scenario or
// an alert rule over a failure; and the curve as a text chart, as JSON and as CSV.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "results/reports/style.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/find/curve.h"
#include "runners/pipeline/library.h"

namespace deadrank::runners::commands {

// What the command line asks to probe: a detector over a scenario, or an alert rule over a failure.

struct ProbeArguments {
    std::string scenario, catalog, vary;
    std::string detector, tool, command, symptom;              // which detector
    std::string rules, alert, failure, promtool = "promtool";  // or which alert rule
    std::string cluster = "8x8", scrape = "15s", eval = "15s", duration = "45m", out = "out/probe";
    SeedOptions seeds{.range = "1..20"};
    std::size_t points = 7;
    double time_limit = 60;
    int jobs = 0;
    std::string csv;
    bool json = false;
};

// "name=A..B", split. Errors: usage.
struct Vary {
    std::string path, range;
};
scenarios::Result<Vary> parse_vary(const std::string& text);

// A detection curve as a text chart, as JSON and as CSV.

struct ProbeSubject {
    std::string who;                                // "straggler", "alert GpuHot (promtool 2.42.0)"
    std::string what;                               // "scheduling/one_slow_device, slow_rank.factor"
    std::function<std::string(std::int64_t)> unit;  // a magnitude in words
    bool harm = true;                               // whether harm and bystanders are known
};

std::string probe_text(const find::Curve& curve, const ProbeSubject& subject,
                       const results::reports::Style& style);
std::string probe_json(const find::Curve& curve, const ProbeSubject& subject);
std::string probe_csv(const find::Curve& curve, const ProbeSubject& subject);

struct Probed {
    find::Curve curve;
    ProbeSubject subject;
};
scenarios::Result<Probed> probe_detector(const ProbeArguments& arguments, const Library& library,
                                         Session& session, Progress& progress);
scenarios::Result<Probed> probe_alert(const ProbeArguments& arguments, const Library& library,
                                      Progress& progress);

}  // namespace deadrank::runners::commands
