// results/exporters/profile.h — Which metrics exist at this operator's site, and what they are called there.
// The default is what stock installs give; the operator's counters.csv and name map override it.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "results/exporters/metric.h"

namespace deadrank::results::exporters {

// --map names.toml: tables [metrics], [labels], [extra], [jobs], [cluster] host, and [[target]] for more `up`
// series.
struct NameMap {
    std::map<std::string, std::string> metrics;  // canonical signal or exporter's name → the site's
    std::map<std::string, std::string> labels;   // our label → the site's; an empty text drops it
    Labels extra;                                // on every series
    std::map<std::string, std::string> jobs;     // exporter → value of the label job
    std::string host = "gpu-node-###";           // the run of # becomes the node's number
    std::vector<Labels> targets;                 // further targets that are always up
};

struct Profile {
    std::string name = "dcgm-default";
    std::set<std::string> dcgm;                // DCGM fields that are on
    bool old_names = false;                    // dcgm-exporter 1.x
    std::set<std::string> exporters;           // dcgm, node, inspector, training
    Labels dcgm_labels;                        // label fields of the counters file
    std::map<std::string, Labels> kubernetes;  // exporter → labels of its targets under a Prometheus Operator
    std::string why;                           // why it was chosen, where nobody named it
    NameMap map;

    bool emits(const Metric& metric) const;
    std::string shown_name(const Metric& metric) const;
    std::string job_of(const std::string& exporter, const std::string& otherwise) const;
};

// "dcgm-default", "dcgm-full", "dcgm-1x", "kubernetes", or a file in dcgm-exporter's own format (FIELD, type,
// help; # = off). Fields of that file which our tables do not have are added to the catalog as constants of
// zero.
scenarios::Result<Profile> load_profile(const std::string& name, MetricCatalog& catalog);
// The same site with all targets found by a Prometheus Operator, which labels them by namespace, service,
// pod, container and endpoint, and names jobs after services.
void put_in_kubernetes(Profile& profile, const MetricCatalog& catalog);

// Errors: io, bad_input (a key that is no metric, label or exporter of ours, with its line).
scenarios::Result<NameMap> load_name_map(const std::filesystem::path& file, const MetricCatalog& catalog);

// Why a metric that the catalog knows is not there: "off in dcgm-exporter's default counters; …".
std::string why_absent(const Profile& profile, const Metric& metric);

}  // namespace deadrank::results::exporters
