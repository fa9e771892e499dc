// results/exporters/metric.h — One metric family of an exporter: its labels, whether a stock install has it,
// and how it behaves while all is well. The tables lie in results/exporters/metrics/*.toml.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::exporters {

using Labels = std::map<std::string, std::string>;  // sorted by name, as Prometheus prints them

enum class MetricType { gauge, counter };

// What there is one instance of.
enum class Scope { target, node, gpu, port, nic, mount, rank, communicator, job };

struct Variant {
    Labels labels;
    double value = 0;
    double rate = 0;
};

struct Metric {
    std::string name;       // as the exporter says it
    std::string canonical;  // training signals: the word of the name map
    std::string old;        // its name in dcgm-exporter 1.x
    std::string exporter;   // dcgm, node, inspector, training, prometheus
    std::string job;        // label of the scrape target
    int port = 0;
    Scope scope = Scope::node;
    MetricType type = MetricType::gauge;
    bool stock = true;     // on in a stock install
    std::string changing;  // a label whose value changes with the metric's: each change is a new series
    std::string help;

    double value = 0;        // healthy level of a gauge, start of a counter
    double rate = 0;         // healthy growth a second of a counter
    double noise = 0;        // standard deviation of a gauge
    double quantum = 1;      // noise comes in steps of it
    double every = 0;        // seconds between two writes of the source; 0 = each scrape reads anew
    bool unix_time = false;  // seconds since 1970 on a real machine; since the run's start in a unit test
    bool clock = false;      // the value is the present time
    double clock_every = 0;  // the value is the last multiple of it
    bool floor = false;      // a counter that is shown in whole numbers
    bool per_rank = false;   // the level is the number of ranks

    Labels labels;
    std::vector<Variant> variants;
};

struct MetricCatalog {
    std::vector<Metric> metrics;

    const Metric* find(std::string_view name) const;  // by its name or by its 1.x name
    std::vector<std::string> names() const;
};

// All *.toml below `directory`, and `up`.
scenarios::Result<MetricCatalog> load_metrics(const std::filesystem::path& directory);


}  // namespace deadrank::results::exporters
