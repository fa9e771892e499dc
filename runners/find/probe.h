// runners/find/probe.h — The magnitude from which a detector or an alert rule notices a fault.
#pragma once

#include <map>
#include <memory>

#include "results/alerts/study.h"
#include "results/detectors/detector.h"
#include "runners/find/curve.h"
#include "runners/find/knob.h"
#include "runners/pipeline/workers.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners::find {

// Probes a detector: a scenario under many seeds, with one number varied.

class DetectorProbe {
public:
    // All outlive the probe. If `symptom` is not empty, only its findings count.
    DetectorProbe(const std::vector<scenarios::Plan>& plans, const Knob& knob,
                  const results::Detectors& detectors, std::string symptom, const Workers& workers)
        : plans_(plans),
          knob_(knob),
          detectors_(detectors),
          symptom_(std::move(symptom)),
          workers_(workers) {}

    // One shot per plan; a volley's seeds are indices into the plans.
    std::vector<Shot> fire(std::int64_t magnitude) const;
    std::vector<Shot> fire_healthy() const;

private:
    std::vector<Shot> all(const std::function<scenarios::Plan(const scenarios::Plan&)>& change,
                          bool healthy) const;

    const std::vector<scenarios::Plan>& plans_;
    const Knob& knob_;
    const results::Detectors& detectors_;
    std::string symptom_;
    const Workers& workers_;
};

// Probes an alert rule: one failure on the judged cluster, longer or shorter, stronger or weaker, in more
// places or fewer; Prometheus itself decides whether the rule fires.

// What can be varied of a failure.
enum class AlertKnob { lasts, strength, targets };

// `lasts` in nanoseconds, `strength` in thousandths of the signature's own, `targets` as a number.
struct AlertProbeOptions {
    AlertKnob knob = AlertKnob::lasts;
    std::string alert;  // its name
    const results::exporters::Signature* failure = nullptr;
    const results::exporters::SignatureCatalog* signatures = nullptr;
    results::alerts::StudyOptions study;
};

// Whether any number of the failure scales with strength; levels that are `set` outright do not.
bool has_strength(const results::exporters::Signature& failure);

class AlertProbe {
public:
    // `study` has files, rules, analysis and world; `player` judges. Both outlive the probe.
    AlertProbe(const AlertProbeOptions& options, results::alerts::Study& study,
               results::alerts::Player& player)
        : options_(options), study_(study), player_(player) {}

    // Each seed starts the failure at another moment between two evaluations of the rule.
    std::vector<Shot> fire(std::int64_t magnitude, const std::vector<std::uint64_t>& seeds);
    std::vector<Shot> fire_healthy();

private:
    results::exporters::Incident incident(std::int64_t magnitude, std::uint64_t seed);
    Shot shot_of(const results::alerts::Row& row) const;

    const AlertProbeOptions options_;
    results::alerts::Study& study_;
    results::alerts::Player& player_;
    std::map<std::int64_t, std::unique_ptr<results::exporters::Signature>> scaled_;
};

}  // namespace deadrank::runners::find
