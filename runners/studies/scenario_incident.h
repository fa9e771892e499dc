// runners/studies/scenario_incident.h — A scenario of the catalogue as the incident that exporters would
// show: its faults by kind and parameters, and what became of the job in the simulator.
#pragma once

#include "results/exporters/incident.h"
#include "runners/runner/runner.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::alerts {

// What the simulated job came to after the fault.
struct JobOutcome {
    bool hung = false;       // ranks stuck, and nobody ended them
    double hangs_for = -1;   // seconds stuck before the first rank ended; -1 = it did not hang first
    double ends_after = -1;  // seconds after the fault; -1 = the job did not end early
    int restarts = 0;
    bool nan = false, spike = false;
};
JobOutcome outcome_of(const Record& record);

// Signatures whose `kinds` fit one of the plan's faults, the most specific for each, then those of the
// outcome. The world's targets take the plan's ranks and nodes, folded into the judged cluster. An incident
// without effects shows nothing.
results::exporters::Incident incident_of(const scenarios::Plan& plan, const Record& record,
                                         const results::exporters::SignatureCatalog& signatures,
                                         const results::exporters::Cluster& cluster,
                                         const results::exporters::Window& window);

// Does "device_fault xid=79" or "limit_host host_memory" fit this fault? The number of words that do; 0 = it
// does not.
int fit(const std::string& kind, const scenarios::FaultSpec& spec);

}  // namespace deadrank::runners::alerts
