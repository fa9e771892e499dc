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

// Calls `use(metric, series, level, active)` for each series of the metrics that the profile emits and `keep`
// wants; `level` is its variant of the metric, `active` what the incident does to it.
template <typename Keep, typename Use>
void each_series(const World& world, const Incident& incident, Keep&& keep, Use&& use) {
    for (const Metric& metric : world.catalog->metrics) {
        if (!world.profile.emits(metric) || !keep(metric)) continue;
        std::size_t number = 0;
        for (Series& series : instances(world, metric)) {
            Variant level{.value = metric.value, .rate = metric.rate};
            if (!metric.variants.empty()) level = metric.variants[number++ % metric.variants.size()];
            drop_later_labels(world, metric, series);
            use(metric, series, level, active_on(world, incident, series));
        }
    }
}

}  // namespace deadrank::results::exporters
