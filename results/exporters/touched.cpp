// results/exporters/touched.cpp — Which series an incident changes, and how, without rendering them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "results/exporters/active.h"

namespace deadrank::results::exporters {

namespace {

bool struck(const Series& series, const Effect& effect) {
    if (series.node >= 0 && series.node != effect.target.node) return false;
    return effect.target.gpu < 0 || series.gpu < 0 || series.gpu == effect.target.gpu;
}

bool concerns(const Series& series, const Effect& effect, const Change& change) {
    for (const auto& [name, value] : change.where) {
        const auto at = series.labels.find(name);
        if (at == series.labels.end() || at->second != value) return false;
    }
    switch (change.on) {
        case Whom::target:
            return struck(series, effect);
        case Whom::node:
            return series.node < 0 || series.node == effect.target.node;
        case Whom::peers:
            return series.gpu >= 0 && !struck(series, effect);
        case Whom::job:
            return true;
    }
    return false;
}

// Does this change make the scrapes of the series' exporter fail?
bool downs(const Series& series, const Change& change, const Profile& profile) {
    if (change.down_target.empty()) return false;
    if (change.down_target == "*") return series.node >= 0 && series.metric->instance.empty();
    std::string exporter = series.metric->exporter;
    if (exporter == "inspector") exporter = "node";
    if (exporter != "prometheus") return exporter == change.down_target;
    const std::string name = profile.job_of(
        change.down_target, change.down_target == "training" ? "training" : change.down_target + "-exporter");
    const auto label = series.labels.find("job");
    return label != series.labels.end() && label->second == name;
}

const Change& scrape_fails(bool is_up) {
    static const Change zero = [] {
        Change change;
        change.set = 0;
        return change;
    }();
    static const Change gone = [] {
        Change change;
        change.gone = true;
        return change;
    }();
    return is_up ? zero : gone;
}

}  // namespace

std::vector<Active> active_on(const World& world, const Incident& incident, const Series& series) {
    std::vector<Active> active;
    for (const Effect& effect : incident.effects) {
        for (const Change& change : effect.signature->changes) {
            if (!concerns(series, effect, change)) continue;
            const double begin = effect.at + change.after;
            double end = change.lasts >= 0 ? begin + change.lasts : effect.until;
            if (downs(series, change, world.profile)) {
                active.push_back({&scrape_fails(series.metric->scope == Scope::target), begin, end});
            }
            if (!change.touches(*series.metric)) continue;
            const bool stays = !change.recovers && change.every <= 0;
            if (stays) end = world.window.duration + 1;
            if (begin < end) active.push_back({&change, begin, end});
        }
    }
    return active;
}

void drop_later_labels(const World& world, const Metric& metric, Series& series) {
    if (!world.profile.old_names || metric.scope != Scope::gpu) return;
    series.labels.erase("err_code");
    series.labels.erase("err_msg");
}

double begins(const Incident& incident) {
    double first = std::numeric_limits<double>::infinity();
    for (const Effect& effect : incident.effects) {
        for (const Change& change : effect.signature->changes)
            first = std::min(first, effect.at + std::min(0.0, change.after));
    }
    return first;
}

namespace {

int sign(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

int direction_of(const Change& change, const Metric& metric, const Variant& level) {
    if (metric.unix_time || change.freeze || change.nan || change.reset || change.boot) return 0;
    const bool counter = metric.type == MetricType::counter;
    // A level within the noise has no direction.
    if (change.set && std::abs(*change.set - level.value) <= 3.5 * metric.noise) return 0;
    if (change.set) return counter ? 0 : sign(*change.set - level.value);
    if (change.scale) return sign((*change.scale - 1) * level.value);
    if (change.ramp) return sign(*change.ramp);
    if (change.rate) return sign(*change.rate - level.rate);
    if (change.rate_scale) return sign(*change.rate_scale - 1);
    if (change.add) return sign(*change.add);
    if (change.offset) return sign(*change.offset);
    return 0;
}

int direction_of(const std::vector<Active>& active, const Metric& metric, const Variant& level) {
    int common = 2;
    for (const Active& one : active) {
        const int way = direction_of(*one.change, metric, level);
        common = common == 2 || common == way ? way : 0;
    }
    return common == 2 ? 0 : common;
}

// Asked before a metric's series are made, since an incident leaves most metrics alone.
bool may_touch(const Incident& incident, const Metric& metric) {
    const auto reaches = [&](const Change& change) {
        return !change.down_target.empty() || change.touches(metric);
    };
    return std::any_of(incident.effects.begin(), incident.effects.end(), [&](const Effect& effect) {
        return std::any_of(effect.signature->changes.begin(), effect.signature->changes.end(), reaches);
    });
}

// The labels that a series has once the incident changes them.
Labels relabelled(const World& world, const Series& series, const std::vector<Active>& active) {
    Labels labels = series.labels;
    if (world.profile.old_names) return labels;
    for (const Active& one : active) {
        if (one.change->labels.empty()) continue;
        for (const auto& [name, value] : one.change->labels) labels[name] = value;
        break;
    }
    return labels;
}

template <typename Use>
void each_changed(const World& world, const Incident& incident, Use&& use) {
    each_series(
        world, incident, [&](const Metric& metric) { return may_touch(incident, metric); },
        [&](const Metric& metric, Series& series, const Variant& level, const std::vector<Active>& active) {
            if (!active.empty()) use(metric, series, level, active);
        });
}

}  // namespace

Touched touched(const World& world, const Incident& incident) {
    Touched found;
    each_changed(world, incident,
                 [&](const Metric& metric, const Series& series, const Variant& level,
                     const std::vector<Active>& active) {
                     const std::string name = world.profile.shown_name(metric);
                     const bool gone = std::all_of(active.begin(), active.end(),
                                                   [](const Active& one) { return one.change->gone; });
                     (gone ? found.vanished : found.moved).insert(name);
                     if (gone) return;
                     Moved moved{series.labels, direction_of(active, metric, level)};
                     // A label that changes with the value: the moved series has the new one.
                     for (const Active& one : active) {
                         for (const auto& [label, value] : one.change->labels) moved.labels[label] = value;
                     }
                     found.series[name].push_back(std::move(moved));
                 });
    for (const std::string& name : found.moved) found.vanished.erase(name);
    return found;
}

std::vector<Changed> changed(const World& world, const Incident& incident) {
    std::vector<Changed> found;
    each_changed(world, incident,
                 [&](const Metric&, Series& series, const Variant&, const std::vector<Active>& active) {
                     Labels after = relabelled(world, series, active);
                     const bool renamed = after != series.labels;
                     const bool gone = std::any_of(active.begin(), active.end(),
                                                   [](const Active& one) { return one.change->gone; });
                     found.push_back({series.name, std::move(series.labels), gone || renamed});
                     if (renamed) found.push_back({series.name, std::move(after), true});
                 });
    return found;
}

}  // namespace deadrank::results::exporters
