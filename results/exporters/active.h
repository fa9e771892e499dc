// results/exporters/active.h — The changes of an incident that are at work on one series, each with its time.
#pragma once

#include <cmath>
#include <vector>

#include "results/exporters/render.h"

namespace deadrank::results::exporters {

// A change with its time on the clock of the rendered samples.
struct Active {
    const Change* change;
    double begin, end;
    bool at(double t) const { return t >= begin && t < end; }
    bool on(double t) const {  // within its pulses too
        if (!at(t)) return false;
        return change->every <= 0 || change->on_for <= 0 ||
               std::fmod(t - begin, change->every) < change->on_for;
    }
};

std::vector<Active> active_on(const World& world, const Incident& incident, const Series& series);

// Takes away the labels that dcgm-exporter 1.x did not have, under a profile of its names.
void drop_later_labels(const World& world, const Metric& metric, Series& series);

}  // namespace deadrank::results::exporters
