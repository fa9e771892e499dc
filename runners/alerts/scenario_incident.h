// runners/alerts/scenario_incident.h — A scenario of the catalogue as the incident that exporters would
// show: its faults by kind and parameters, and the job's outcome in the simulator.
#pragma once

#include "results/exporters/incident.h"
#include "runners/backend/runner.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::alerts {

// What happened to the simulated job after the fault.
struct JobOutcome {
    bool hung = false;       // ranks were stuck, and nothing ended them
    double hangs_for = -1;   // seconds stuck before the first rank ended; -1 = it did not hang first
    double ends_after = -1;  // seconds after the fault; -1 = the job did not end early
    int restarts = 0;
    bool nan = false, spike = false;
};
JobOutcome outcome_of(const Record& record);

// Takes the most specific signature whose `kinds` fit each fault of the plan, then those of the outcome. The
// world's targets take the plan's ranks and nodes, folded into the judged cluster. An incident without
// effects shows nothing.
results::exporters::Incident incident_of(const scenarios::Plan& plan, const Record& record,
                                         const results::exporters::SignatureCatalog& signatures,
                                         const results::exporters::Cluster& cluster,
                                         const results::exporters::Window& window);

// How many words of a text like "device_fault xid=79" or "limit_host host_memory" fit this fault; 0 = not all
// do.
int fit(const std::string& kind, const scenarios::FaultSpec& spec);

}  // namespace deadrank::runners::alerts
