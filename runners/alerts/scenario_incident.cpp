// runners/alerts/scenario_incident.cpp — Turns plan, truth and evidence into signatures. Truth may shape the
// simulated world, since a broken port is broken whether or not anyone looks; the judge of alerts never sees
// it.
#include "runners/alerts/scenario_incident.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <sstream>

#include "results/record/payloads_job.h"
#include "results/record/payloads_training.h"

namespace deadrank::runners::alerts {

namespace {

using results::exporters::Cluster;
using results::exporters::Consequence;
using results::exporters::Incident;
using results::exporters::Scope;
using results::exporters::Signature;
using results::exporters::SignatureCatalog;
using results::exporters::Target;
using results::exporters::Window;

double seconds(results::Time time) { return static_cast<double>(time.count()) / 1e9; }

const Signature* signature_of(const SignatureCatalog& signatures, const scenarios::FaultSpec& spec) {
    const Signature* best = nullptr;
    int most = 0;
    for (const Signature& one : signatures.signatures) {
        for (const std::string& kind : one.kinds) {
            const int words = fit(kind, spec);
            if (words > most) most = words, best = &one;
        }
    }
    return best;
}

// The plan's ranks and nodes, as places of the judged cluster.
std::vector<Target> targets_of(const scenarios::FaultSpec& spec, Scope scope, std::int64_t gpus_per_node,
                               const Cluster& cluster) {
    std::vector<Target> targets;
    const auto fold = [&](std::int64_t node, std::int64_t gpu) {
        Target target{static_cast<int>(node % cluster.nodes), -1};
        if (scope == Scope::gpu || scope == Scope::port)
            target.gpu = static_cast<int>(gpu % cluster.gpus_per_node);
        if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
    };
    for (const std::int64_t rank : spec.ranks()) fold(rank / gpus_per_node, rank % gpus_per_node);
    if (const auto node = spec.parameters.find("node"); node != spec.parameters.end() && targets.empty()) {
        for (const std::int64_t number : node->second.list) fold(number, 0);
    }
    if (targets.empty()) targets.push_back(usual_target(cluster, scope));
    return targets;
}

// The simulator decides whether the job hangs or ends; other consequences come from the signature.
void strike(Incident& incident, const Signature& signature, const SignatureCatalog& signatures,
            Target target) {
    incident.effects.push_back({&signature, target, incident.at, incident.until});
    for (const Consequence& consequence : signature.then) {
        if (consequence.signature == "job_down" || consequence.signature == "nccl_hang") continue;
        const Signature* follows = signatures.find(consequence.signature);
        add_effect(incident, *follows, signatures, target, incident.at + consequence.after, incident.until);
    }
}

void add_outcome(Incident& incident, const JobOutcome& outcome, const SignatureCatalog& signatures,
                 Target target) {
    const auto add = [&](const char* id, double after, double until) {
        const Signature* signature = signatures.find(id);
        if (signature == nullptr || incident.at + after >= until) return;
        add_effect(incident, *signature, signatures, target, incident.at + after, until);
        if (incident.signature == nullptr) {
            incident.signature = signature;
            incident.within = signature->within;
            incident.scope = signature->scope;
        }
    };
    const double freed = outcome.ends_after >= 0 ? incident.at + outcome.ends_after : incident.until;
    if (outcome.hung || outcome.hangs_for >= 0) {
        add("nccl_hang", 0, std::min(freed, incident.until));
        incident.notes.push_back(outcome.hung
                                     ? "the simulated job hung until the end"
                                     : fmt::format("the simulated job hung for {:.0f} s", outcome.hangs_for));
    }
    if (outcome.restarts > 0) {
        add("restart_storm", 0, incident.until);
        incident.notes.push_back(fmt::format("the launcher restarted the job {} times", outcome.restarts));
    } else if (outcome.ends_after >= 0) {
        add("process_crash", outcome.ends_after, incident.until);
        incident.notes.push_back(
            fmt::format("the simulated job ended {:.0f} s after the fault", outcome.ends_after));
    }
    if (outcome.nan) add("loss_nan", 0, incident.until);
    if (outcome.spike && !outcome.nan) add("loss_spike", 0, incident.until);
}

}  // namespace

int fit(const std::string& kind, const scenarios::FaultSpec& spec) {
    std::istringstream words(kind);
    std::string word;
    words >> word;
    if (word != spec.kind) return 0;
    int count = 1;
    while (words >> word) {
        const std::size_t equals = word.find('=');
        const auto at = spec.parameters.find(word.substr(0, equals));
        if (at == spec.parameters.end()) return 0;
        if (equals != std::string::npos && scenarios::value_text(at->second) != word.substr(equals + 1))
            return 0;
        ++count;
    }
    return count;
}

JobOutcome outcome_of(const Record& record) {
    JobOutcome outcome;
    const results::Time fault = record.truth.first_fault();
    const double at = fault == results::never ? 0 : seconds(fault);
    double last_step = at, worst_before = 0;
    bool failed = false;
    for (const results::Event& event : record.evidence.events()) {
        const double time = seconds(event.at);
        if (const auto* exit = event.as<results::RankExit>()) {
            if ((exit->code == 0 && exit->signal == 0) || failed) continue;
            failed = true;
            outcome.ends_after = std::max(0.0, time - at);
        } else if (event.as<results::Restart>() != nullptr) {
            ++outcome.restarts;
        } else if (const auto* step = event.as<results::StepEnd>()) {
            last_step = std::max(last_step, time);
            if (std::isnan(step->loss) || std::isinf(step->loss))
                outcome.nan = true;
            else if (time > at && worst_before > 0 && step->loss > 3 * worst_before)
                outcome.spike = true;
            else
                worst_before = std::max(worst_before, std::abs(step->loss));
        }
    }
    const auto& ends = record.truth.ends;
    const bool stuck = std::find(ends.begin(), ends.end(), results::RankEnd::stuck) != ends.end();
    outcome.hung = stuck && !failed;
    if (failed && outcome.ends_after > 30) outcome.hangs_for = outcome.ends_after;
    return outcome;
}

Incident incident_of(const scenarios::Plan& plan, const Record& record, const SignatureCatalog& signatures,
                     const Cluster& cluster, const Window& window) {
    Incident incident{.id = plan.scenario, .title = plan.bug.symptom, .at = window.fault_at};
    incident.until = window.repaired(-1);
    const auto gpus = plan.cluster.find("gpus_per_node");
    const std::int64_t gpus_per_node =
        gpus == plan.cluster.end() ? 4 : std::max<std::int64_t>(1, gpus->second.number);
    for (const scenarios::FaultSpec& spec : plan.faults) {
        const Signature* signature = signature_of(signatures, spec);
        const Scope scope = signature != nullptr ? signature->scope : Scope::gpu;
        const auto targets = targets_of(spec, scope, gpus_per_node, cluster);
        incident.targets.insert(incident.targets.end(), targets.begin(), targets.end());
        // Such a fault shows in the job's outcome, not under its own name.
        const bool by_outcome =
            signature != nullptr &&
            std::any_of(signature->kinds.begin(), signature->kinds.end(),
                        [](const std::string& kind) { return kind.starts_with("outcome "); });
        if (signature == nullptr || by_outcome) continue;
        if (incident.signature == nullptr) {
            incident.signature = signature;
            incident.scope = signature->scope;
            incident.within = signature->within;
            incident.until = window.repaired(signature->lasts);
        }
        for (const Target& target : targets) strike(incident, *signature, signatures, target);
    }
    if (incident.targets.empty()) incident.targets.push_back(usual_target(cluster, Scope::gpu));
    add_outcome(incident, outcome_of(record), signatures, incident.targets[0]);
    return incident;
}

}  // namespace deadrank::runners::alerts
