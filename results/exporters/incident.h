// results/exporters/incident.h — One failure at one place and time with its consequences, as effects on the
// metrics. Made from a signature, or from a scenario's faults and what became of the job.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "results/exporters/signature.h"

namespace deadrank::results::exporters {

// What is watched of a run, in seconds since its start.
struct Window {
    double duration = 2700;
    double scrape = 15;
    double eval = 15;
    double fault_at = 900;
    double history = 0;  // healthy time before the start, for rules that look back further

    int samples() const { return static_cast<int>((history + duration) / scrape) + 1; }
    double start() const {
        return history;
    }  // the run's start on promtool's clock, where 0 is the start of history

    // When a failure is repaired that lasts so long; -1 = half of the time that is left when it strikes. At
    // least 8 % of the run come after the repair, to see whether alerts clear.
    double repaired(double lasts) const {
        return std::min(fault_at + (lasts >= 0 ? lasts : (duration - fault_at) / 2), duration * 0.92);
    }
};

struct Cluster {
    int nodes = 8;
    int gpus_per_node = 8;

    int ranks() const { return nodes * gpus_per_node; }
};

struct Target {
    int node = 0;
    int gpu = -1;  // local index; -1 = the whole node

    bool operator==(const Target&) const = default;
};

// One signature, applied to a target.
struct Effect {
    const Signature* signature = nullptr;
    Target target;
    double at = 0;
    double until = 0;  // repaired
};

struct Incident {
    std::string id;  // signature or scenario
    std::string title;
    const Signature* signature = nullptr;  // the first cause; nullptr in a healthy run
    Scope scope = Scope::job;              // how precisely one could point at it
    std::vector<Target> targets;
    double at = 0;
    double until = 0;
    double within = 900;
    std::vector<Effect> effects;
    std::vector<std::string> notes;  // what the simulator said about this run

    bool healthy() const { return effects.empty(); }
};

Incident healthy_run();

// The signature strikes `targets`; its consequences follow.
Incident incident_of(const Signature& signature, const SignatureCatalog& catalog, std::vector<Target> targets,
                     const Window& window);

// Adds a signature and its consequences at `at` to an existing incident.
void add_effect(Incident& incident, const Signature& signature, const SignatureCatalog& catalog,
                Target target, double at, double until);

// The default place: neither the first nor the last of anything, so that "always node 0" is never right.
Target usual_target(const Cluster& cluster, Scope scope);

}  // namespace deadrank::results::exporters
