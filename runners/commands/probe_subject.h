// runners/commands/probe_subject.h — What is probed, from the command line: a detector over a scenario, or an
// alert rule over a failure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runners/commands/command.h"
#include "runners/commands/options.h"
#include "runners/commands/probe_report.h"
#include "runners/commands/screen.h"
#include "runners/line/library.h"

namespace deadrank::runners::commands {

struct ProbeArguments {
    std::string scenario, catalog, vary;
    std::string detector, tool, command, symptom;              // whose eyes
    std::string rules, alert, failure, promtool = "promtool";  // or a rule's
    std::string cluster = "8x8", scrape = "15s", eval = "15s", duration = "45m", out = "out/probe";
    SeedOptions seeds{.range = "1..20"};
    std::size_t points = 7;
    double time_limit = 60;
    int jobs = 0;
    std::string csv;
    bool json = false;
};

// "name=A..B" in two. Errors: usage.
struct Vary {
    std::string path, range;
};
scenarios::Result<Vary> parse_vary(const std::string& text);

struct Probed {
    find::Curve curve;
    ProbeSubject subject;
};
scenarios::Result<Probed> probe_detector(const ProbeArguments& arguments, const Library& library,
                                         Session& session, Progress& progress);
scenarios::Result<Probed> probe_alert(const ProbeArguments& arguments, const Library& library,
                                      Progress& progress);

}  // namespace deadrank::runners::commands
