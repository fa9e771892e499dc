// runners/find/probe.h — From which magnitude on a detector or an alert rule notices a fault.
#pragma once

#include <map>
#include <memory>

#include "results/alerts/study.h"
#include "results/detectors/detector.h"
#include "runners/find/curve.h"
#include "runners/find/knob.h"
#include "runners/line/workers.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners::find {

// Shots at a detector: a scenario under many seeds, one number of it turned.

class DetectorProbe {
public:
    // All outlive the probe. Only findings of `symptom` count where one is named.
    DetectorProbe(const std::vector<scenarios::Plan>& plans, const Knob& knob,
                  const results::Detectors& detectors, std::string symptom, const Workers& workers)
        : plans_(plans),
          knob_(knob),
          detectors_(detectors),
          symptom_(std::move(symptom)),
          workers_(workers) {}

    // One for each plan; the seeds of a volley are indices into them.
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

// Shots at an alert rule: one failure on the judged cluster, longer or shorter, stronger or weaker, on more
// places or fewer; Prometheus itself says whether the rule fires.

// What of a failure can be varied.
enum class AlertKnob { lasts, strength, targets };

// `lasts` in nanoseconds, `strength` in thousandths of the signature's own, `targets` as a number.
struct AlertProbeOptions {
    AlertKnob knob = AlertKnob::lasts;
    std::string alert;  // its name
    const results::exporters::Signature* failure = nullptr;
    const results::exporters::SignatureCatalog* signatures = nullptr;
    results::alerts::StudyOptions study;
};

// Numbers that change: levels that are `set` outright have no strength, and stay. False when none would.
bool has_strength(const results::exporters::Signature& failure);

class AlertProbe {
public:
    // `study` has files, rules, analysis and world; `player` judges. Both outlive the probe.
    AlertProbe(const AlertProbeOptions& options, results::alerts::Study& study,
               results::alerts::Player& player)
        : options_(options), study_(study), player_(player) {}

    // Each seed strikes at another moment between two evaluations of the rule.
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
