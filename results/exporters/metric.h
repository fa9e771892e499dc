// results/exporters/metric.h — One metric family of an exporter: its labels, whether a stock install has it,
// and how it behaves on a healthy cluster. The tables are in results/exporters/metrics/*.toml.
#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/model/enum_words.h"
#include "scenarios/model/error.h"

namespace deadrank::results::exporters {

using Labels = std::map<std::string, std::string>;  // sorted by name, as Prometheus prints them

enum class MetricType { gauge, counter };

// Exporters that more is known of than their tables say. A site's own tables may name any others, so metrics
// keep the name as a text.
enum class ExporterId {
    dcgm,
    inspector,  // NCCL's Inspector: node_exporter shows its metrics
    node,
    nvidia_nvml,
    nvidia_smi,
    prometheus,  // `up`, which Prometheus itself writes
    training,
};
constexpr auto enum_words(ExporterId) {
    return std::to_array<std::string_view>(
        {"dcgm", "inspector", "node", "nvidia-nvml", "nvidia-smi", "prometheus", "training"});
}
constexpr bool operator==(std::string_view name, ExporterId exporter) {
    return name == scenarios::enum_name(exporter);
}

// What a metric has one series for.
enum class Scope { target, node, gpu, port, nic, mount, rank, communicator, job };

struct Variant {
    Labels labels;
    double value = 0;
    double rate = 0;
    bool absent = false;  // the exporter shows it only once something sets it
};

struct Metric {
    std::string name;       // as the exporter shows it
    std::string canonical;  // training signals: the word of the name map
    std::string old;        // its name in dcgm-exporter 1.x
    std::string exporter;   // an ExporterId's word, or another
    std::string job;        // label of the scrape target
    int port = 0;
    std::string instance;  // of an exporter that runs once for the whole cluster; empty = one per node
    Scope scope = Scope::node;
    MetricType type = MetricType::gauge;
    bool stock = true;     // on in a stock install
    std::string changing;  // a label whose value changes with the metric's: each change is a new series
    std::string help;
    double least = -std::numeric_limits<double>::infinity();  // what it can't fall below or rise above
    double most = std::numeric_limits<double>::infinity();
    std::string bounds;  // where these two come from; empty = its help

    double value = 0;        // healthy level of a gauge, start of a counter
    double rate = 0;         // healthy growth a second of a counter
    double noise = 0;        // standard deviation of a gauge
    double quantum = 1;      // noise comes in steps of it
    double every = 0;        // seconds between two writes of the source; 0 = written for each scrape
    bool unix_time = false;  // seconds since 1970 on a real machine; since the run's start in a unit test
    bool clock = false;      // the value is the present time
    double clock_every = 0;  // the value is the last multiple of it
    bool floor = false;      // a counter that is shown in whole numbers
    bool per_rank = false;   // the level is the number of ranks

    // The metric of another exporter for the same quantity: its levels, and what failures do to them, apply
    // here too, times `unit`.
    std::string follows;
    double unit = 1;

    Labels labels;
    std::vector<Variant> variants;

    // What a Prometheus Operator calls this exporter's targets; with honor_labels the exporter's own labels
    // win over them, else they are shown as exported_….
    Labels kubernetes;
    bool honor_labels = false;
};

// "dcgm-exporter: GPU utilization (in %)."
std::string source_of_bounds(const Metric& metric);

// An exporter that is not simulated, recognised by the prefixes of its metrics' names.
struct OtherExporter {
    std::string name;
    std::vector<std::string> prefixes;
};

// A name of an earlier release. A * in `old` stands for the rest of the name, as one in `now` does.
struct Renaming {
    std::string old, now;
    std::string since;  // "kube-state-metrics 2.0"; empty where the release is not known
};

// A label, told by its beginning, that these metrics have only in a set-up that is not simulated.
struct LabelElsewhere {
    std::string prefix, metrics;  // beginnings
    std::string says;             // "comes from …"
    bool off = false;             // the same exporter shows it once it is switched on
};

struct MetricCatalog {
    std::vector<Metric> metrics;
    std::vector<OtherExporter> others;  // metrics/known.toml, as all below
    std::vector<Renaming> renamings;
    std::vector<LabelElsewhere> labels;
    std::set<std::string> real;         // metrics of real exporters that are not simulated, by name

    // Which exporter this metric belongs to, by the longest prefix that fits; empty when none does.
    std::string other_exporter(std::string_view name) const;

    // What an earlier release called by this name, as a selector; only where such a metric is known.
    std::optional<Renaming> renamed(const std::string& name) const;

    const LabelElsewhere* label_elsewhere(std::string_view metric, std::string_view label) const;

    const Metric* find(std::string_view name) const;  // by its name or by its 1.x name
    std::vector<std::string> names() const;
};

// All *.toml below `directory`, and `up`.
scenarios::Result<MetricCatalog> load_metrics(const std::filesystem::path& directory);

// A table of the operator's own, in the same form; a metric that we have is replaced.
scenarios::Result<void> add_metrics(const std::filesystem::path& file, MetricCatalog& catalog);

}  // namespace deadrank::results::exporters
