// results/exporters/render.cpp — Values over time: healthy level and noise, then each change while it is at
// work. Chance is counter-based (series, sample), so taking an incident away leaves every other value alone.
#include "results/exporters/render.h"

#include <algorithm>
#include <cmath>

#include "results/exporters/active.h"
#include "results/exporters/noise.h"

namespace deadrank::results::exporters {

namespace {

// How long the machines have been up when a run begins, in seconds: longer than any past that is simulated.
// node_boot_time_seconds says the same.
constexpr double healthy_uptime = 20 * 86400;

double bounded(double value, double slope, const std::optional<double>& cap) {
    if (!cap) return value;
    return slope > 0 ? std::min(value, *cap) : std::max(value, *cap);
}

class Renderer {
public:
    Renderer(const World& world, const Series& series, const Variant& level, std::vector<Active> active)
        : world_(world),
          metric_(*series.metric),
          level_(level),
          active_(std::move(active)),
          key_(mixed(world.seed) ^ hash_of(series_text(series))) {}

    std::vector<double> values() {
        const int samples = world_.window.samples();
        // Samples are numbered from the start of the run, so that a longer past changes none of them.
        const auto past = static_cast<int>(std::round(world_.window.history / world_.window.scrape));
        std::vector<double> out;
        out.reserve(static_cast<std::size_t>(samples));
        for (int sample = -past; sample < samples - past; ++sample) {
            const double t = sample * world_.window.scrape;
            const double held = out.empty() ? absent_value() : last_seen_;
            double value = metric_.type == MetricType::counter ? counted(t) : gauged(t, sample, held);
            if (gone(t)) {
                value = out.empty() || is_absent(out.back()) || is_stale(out.back()) ? absent_value()
                                                                                     : stale_value();
            } else {
                last_seen_ = value;
            }
            out.push_back(is_stale(value) || is_absent(value) ? value : value * metric_.unit);
        }
        return out;
    }

private:
    bool gone(double t) const {
        const auto sets = [&](const Active& one) { return one.change->set.has_value() && one.on(t); };
        if (level_.absent && std::none_of(active_.begin(), active_.end(), sets)) return true;
        return std::any_of(active_.begin(), active_.end(),
                           [&](const Active& one) { return one.change->gone && one.on(t); });
    }

    // The value of a healthy counter, plus how far this one is off it.
    double counted(double t) {
        const double usual = level_.value + level_.rate * (healthy_uptime + t);
        double rate = level_.rate;
        for (const Active& one : active_) {
            const Change& change = *one.change;
            if (change.add) off_ += *change.add * jumps(one, t);
            if (change.reset && t >= one.end && t - world_.window.scrape < one.end) {
                off_ = level_.rate * world_.window.scrape - usual;
            }
            if (!one.on(t)) continue;
            if (change.rate) rate = *change.rate;
            if (change.rate_scale) rate *= *change.rate_scale;
            if (change.freeze) rate = 0;
        }
        off_ += (rate - level_.rate) * world_.window.scrape;
        const double total = usual + off_;
        if (metric_.floor) return std::floor(total);
        if (std::abs(total) > 1e12) return std::round(total);  // thousandths would be lost anyway
        return std::round(total * 1000) / 1000;
    }

    // How many jumps fall between the previous sample and this one.
    double jumps(const Active& one, double t) const {
        const auto until = [&](double time) -> double {
            if (time < one.begin) return 0;
            if (one.change->every <= 0) return 1;
            return std::floor((std::min(time, one.end) - one.begin) / one.change->every) + 1;
        };
        return until(t) - until(t - world_.window.scrape);
    }

    double gauged(double t, int sample, double held) const {
        // A source that writes less often than it is scraped.
        if (metric_.every > world_.window.scrape && !is_absent(held) &&
            std::floor(t / metric_.every) == std::floor((t - world_.window.scrape) / metric_.every)) {
            return held;
        }
        double value = level(t);
        bool trembles = metric_.noise > 0;
        for (const Active& one : active_) {
            const Change& change = *one.change;
            if (change.ramp) value = ramped(value, one, t);
            if (change.boot && t >= one.begin) value = (metric_.unix_time ? world_.epoch : 0) + one.begin;
            if (!one.on(t)) continue;
            if (change.freeze && !is_absent(held)) return held;
            if (change.nan) return std::numeric_limits<double>::quiet_NaN();
            if (change.set) value = *change.set;
            if (change.scale) value *= *change.scale;
            if (change.add) value += *change.add;
            if (change.offset) value += *change.offset;
            if (!change.noise) trembles = false;
        }
        if (!trembles) return value;
        return rounded(value + metric_.noise * normal_noise(key_, static_cast<std::uint64_t>(
                                                                      static_cast<std::int64_t>(sample))),
                       metric_.quantum);
    }

    double level(double t) const {
        const double epoch = metric_.unix_time ? world_.epoch : 0;
        if (metric_.clock) return epoch + t;
        if (metric_.clock_every > 0) return epoch + std::floor(t / metric_.clock_every) * metric_.clock_every;
        if (metric_.per_rank) return world_.cluster.ranks();
        return epoch + level_.value;
    }

    static double ramped(double value, const Active& one, double t) {
        const double slope = *one.change->ramp;
        if (t < one.begin) return value;
        const double top =
            bounded(value + slope * (std::min(t, one.end) - one.begin), slope, one.change->cap);
        if (t < one.end) return top;
        if (!one.change->cools) return value;
        const double back = top - slope * (t - one.end);
        return slope > 0 ? std::max(value, back) : std::min(value, back);
    }

    const World& world_;
    const Metric& metric_;
    Variant level_;
    std::vector<Active> active_;
    std::uint64_t key_;
    double last_seen_ = 0;
    double off_ = 0;  // of a counter
};

bool relabels(const std::vector<Active>& active) {
    return std::any_of(active.begin(), active.end(),
                       [](const Active& one) { return !one.change->labels.empty(); });
}

// A label that changes with the value ends one series and begins another, until the repair if it recovers.
void add_relabelled(const World& world, Series& series, const Variant& level,
                    const std::vector<Active>& active, std::vector<Series>& out) {
    for (const Active& one : active) {
        if (one.change->labels.empty() || world.profile.old_names) continue;
        Series after = series;
        for (const auto& [name, value] : one.change->labels) after.labels[name] = value;
        after.values = Renderer(world, after, level, active).values();
        const double scrape = world.window.scrape;
        for (std::size_t i = 0; i < series.values.size(); ++i) {
            const double t = static_cast<double>(i) * scrape - world.window.history;
            const auto ended = [&](double time) {
                return t - scrape < time ? stale_value() : absent_value();
            };
            if (t < one.begin)
                after.values[i] = absent_value();
            else if (t < one.end)
                series.values[i] = ended(one.begin);
            else
                after.values[i] = ended(one.end);
        }
        out.push_back(std::move(after));
        return;
    }
}

}  // namespace

std::vector<Series> render(const World& world, const Incident& incident,
                           const std::function<bool(const std::string&)>& wanted,
                           const std::function<bool(const Series&)>& needed) {
    std::vector<Series> out;
    const auto keep = [&](const Metric& metric) {
        return !wanted || wanted(world.profile.shown_name(metric));
    };
    each_series(world, incident, keep,
                [&](const Metric&, Series& series, const Variant& level, const std::vector<Active>& active) {
                    if (needed && !relabels(active) && !needed(series)) return;
                    series.values = Renderer(world, series, level, active).values();
                    std::vector<Series> further;
                    add_relabelled(world, series, level, active, further);
                    further.insert(further.begin(), std::move(series));
                    for (Series& one : further) {
                        if (!needed || needed(one)) out.push_back(std::move(one));
                    }
                });
    return out;
}

}  // namespace deadrank::results::exporters
