// runners/find/detector_probe.h — Shots at a detector: a scenario under many seeds, one number of it turned.
#pragma once

#include "results/detectors/detect.h"
#include "runners/find/curve.h"
#include "runners/find/knob.h"
#include "runners/line/parallel.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners::find {

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

}  // namespace deadrank::runners::find
