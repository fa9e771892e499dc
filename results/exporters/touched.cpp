// results/exporters/touched.cpp — Which series an incident changes, without rendering them.
#include <algorithm>

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
    if (exporter == ExporterId::inspector) exporter = scenarios::enum_name(ExporterId::node);
    if (exporter != ExporterId::prometheus) return exporter == change.down_target;
    const std::string name = profile.job_of(change.down_target, change.down_target == ExporterId::training
                                                                    ? "training"
                                                                    : change.down_target + "-exporter");
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

namespace {

constexpr std::size_t series_most = 2000;  // of one metric, whose labels are kept

// Asked before a metric's series are made, since an incident leaves most metrics alone.
bool may_touch(const Incident& incident, const Metric& metric) {
    const auto reaches = [&](const Change& change) {
        return !change.down_target.empty() || change.touches(metric);
    };
    return std::any_of(incident.effects.begin(), incident.effects.end(), [&](const Effect& effect) {
        return std::any_of(effect.signature->changes.begin(), effect.signature->changes.end(), reaches);
    });
}

}  // namespace

bool Touched::any_of(const std::set<std::string>& names) const {
    const auto named = [&](const auto& metric) { return names.contains(metric.first); };
    return std::any_of(moved.begin(), moved.end(), named) ||
           std::any_of(vanished.begin(), vanished.end(), named);
}

Touched touched(const World& world, const Incident& incident) {
    Touched found;
    each_series(
        world, incident, [&](const Metric& metric) { return may_touch(incident, metric); },
        [&](const Metric& metric, Series& series, const Variant&, const std::vector<Active>& active) {
            if (active.empty()) return;
            const std::string name = world.profile.shown_name(metric);
            const auto gone = [](const Active& one) { return one.change->gone; };
            if (std::any_of(active.begin(), active.end(), gone))
                found.vanished[name].push_back(series.labels);
            if (std::all_of(active.begin(), active.end(), gone)) return;
            auto& all = found.moved[name];
            for (const Active& one : active) {
                if (one.change->labels.empty()) continue;
                all.push_back(series.labels);
                for (const auto& [label, value] : one.change->labels) all.back()[label] = value;
            }
            all.push_back(std::move(series.labels));
        });
    for (auto* side : {&found.moved, &found.vanished}) {
        for (auto& [name, all] : *side)
            if (all.size() > series_most) all = {};
    }
    return found;
}

}  // namespace deadrank::results::exporters
