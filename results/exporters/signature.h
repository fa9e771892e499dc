// results/exporters/signature.h — What one failure does to the metrics, as data:
// results/exporters/signatures/*.toml. A signature describes the world, not the alert: levels, slopes,
// counters that jump, series that vanish.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/exporters/metric.h"
#include "scenarios/model/error.h"

namespace deadrank::results::exporters {

// Which series a change touches, relative to what is struck.
enum class Whom { target, node, peers, job };

struct Change {
    std::vector<std::string> metrics;  // names; a trailing '*' stands for any ending
    std::string except;
    std::string down_target;  // exporter whose scrapes fail ("*" = all of the node's); its series go stale
    Whom on = Whom::target;
    Labels where;  // only series with these labels

    std::optional<double> set, scale, add, rate, rate_scale, ramp, cap, offset;
    bool freeze = false, gone = false, nan = false, reset = false, boot = false;
    bool noise = true;             // the level keeps trembling
    bool cools = false;            // after the repair a ramp runs back as slowly as it came
    Labels labels;                 // the series goes stale and comes back with these
    double every = 0, on_for = 0;  // pulses, in seconds
    double after = 0;              // seconds after the failure
    double lasts = -1;             // seconds; -1 = until the repair
    bool recovers = true;          // false: what was counted or reported stays after the repair

    bool touches(std::string_view metric) const;
    bool touches(const Metric& metric) const;  // itself, or the one that it follows
};

struct Consequence {
    std::string signature;
    double after = 0;
    double lasts = -1;
};

struct Suggestion {
    std::string expr;
    std::string hold;  // the `for` of the alert
    std::string says;
};

struct Signature {
    std::string id, title, source;
    Scope scope = Scope::gpu;        // gpu, port, node or job
    std::vector<std::string> kinds;  // "device_fault xid=79", "outcome hang"
    double within = 900;             // seconds in which an operator wants to know
    double lasts = -1;               // seconds until somebody repairs it; -1 = as long as the run allows
    bool internal = false;           // only a consequence of others
    std::vector<Change> changes;
    std::vector<Consequence> then;
    Suggestion suggest;
};

struct SignatureCatalog {
    std::vector<Signature> signatures;
    const Signature* find(std::string_view id) const;
    std::vector<std::string> ids() const;  // without the internal ones
};

// A table of the operator's own, in the same form; a signature that we have is replaced.
scenarios::Result<void> add_signatures(const std::filesystem::path& file, SignatureCatalog& catalog);

scenarios::Result<SignatureCatalog> load_signatures(const std::filesystem::path& directory);

}  // namespace deadrank::results::exporters
