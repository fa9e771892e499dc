// runners/commands/alert_site.h — The operator's site as one value: cluster, exporters, names, times and
// failures; read from the command line once for `alerts` and `alerts serve`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "results/exporters/render.h"
#include "results/exporters/signature.h"
#include "runners/pipeline/library.h"

namespace CLI {
class App;
}

namespace deadrank::runners::commands {

struct SiteOptions {
    std::string cluster = "8x8", profile, map, exporters;  // profile: empty = chosen by the rules
    std::string scrape, eval;                              // empty: 15s, or what a live server does
    std::string duration = "45m", fault_at = "15m", history = "0s";
    std::uint64_t seed = 1;
    std::vector<std::string> scenarios;
    std::vector<std::string> metrics, signatures;  // the operator's own tables
    std::string catalog;
};
void add_site(CLI::App& app, SiteOptions& options);

struct Site {
    results::exporters::MetricCatalog metrics;
    results::exporters::SignatureCatalog signatures;
    results::exporters::World world;  // points at `metrics`
};

// The directory with the tables of metrics and signatures, next to the catalogue of scenarios.
std::filesystem::path tables_of(const Library& library);

scenarios::Result<std::unique_ptr<Site>> open_site(const Library& library, const SiteOptions& options);

// The chosen failures: ids of signatures, patterns over them, "all" (the default), or scenarios of the
// catalogue, which are played in the simulator first. Errors: usage, for a name that is neither.
scenarios::Result<std::vector<results::exporters::Incident>> choose_incidents(
    const Site& site, const Library& library, const SiteOptions& options, std::vector<std::string>& notes);

}  // namespace deadrank::runners::commands
