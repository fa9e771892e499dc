// results/alerts/verdict.cpp — What became of each rule under each failure.
#include "results/alerts/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <regex>

#include "results/alerts/emitted.h"
#include "results/exporters/toml_file.h"
#include "results/record/words.h"

namespace deadrank::results::alerts {

// ── Judges a cell from intervals alone. Sample and evaluation coincide in a unit test, so the latency is a
// range: a real system adds up to one scrape and one evaluation interval.

namespace {

using exporters::duration_text;

const Instance* same_labels(const std::vector<Instance>& instances, const Instance& wanted) {
    const auto at = std::find_if(instances.begin(), instances.end(),
                                 [&](const Instance& one) { return one.labels == wanted.labels; });
    return at == instances.end() ? nullptr : &*at;
}

bool overlaps(const std::vector<Interval>& intervals, double time) {
    return std::any_of(intervals.begin(), intervals.end(), [&](const Interval& one) {
        return one.begin <= time && (one.open() || time < one.end);
    });
}

struct Seen {
    std::vector<const Instance*> fired;
    double first = -1;
    bool still = false;  // firing when the run ended
    double waited = 0;   // longest time pending without firing while the failure lasted
    bool waiting_at_end = false;
    double after_repair = -1;  // the first firing that began only after the failure
};

// When the condition of this firing became true: its `for` began then.
double condition_began(const Instance& instance, const Interval& firing, double hold) {
    for (const Interval& one : instance.pending) {
        if (!one.open() && one.end == firing.begin) return one.begin;
    }
    return firing.begin - hold;
}

// What the failure did to one instance. Only a condition that became true between the failure and its repair
// can come from it; one that was true before is treated as if its `for` had begun at the failure.
class InstanceReading {
public:
    InstanceReading(const Judged& what, const exporters::Incident& incident, const exporters::World& world)
        : what_(what),
          incident_(incident),
          duration_(world.window.duration),
          over_(std::max(incident.until, incident.at + world.window.scrape + what.eval)) {}

    Seen all() {
        for (const Instance& instance : *what_.failing) look(instance);
        return std::move(seen_);
    }

private:
    void look(const Instance& instance) {
        const Instance* usual = same_labels(*what_.healthy, instance);
        bool counted = false;
        for (const Interval& one : instance.firing) {
            if (usual != nullptr && overlaps(usual->firing, one.begin)) continue;
            const double began = condition_began(instance, one, what_.rule->hold);
            double rang = one.begin;
            if (began < incident_.at) rang = std::max(rang, incident_.at + what_.rule->hold);
            const bool went_on = one.open() || one.end > rang;
            if (one.end >= 0 && one.end <= incident_.at) continue;
            if (began < incident_.at && (one.begin < incident_.at || !went_on)) continue;
            if (rang >= over_) {
                if (began >= over_ && (seen_.after_repair < 0 || rang < seen_.after_repair))
                    seen_.after_repair = rang;
                continue;
            }
            if (seen_.first < 0 || rang < seen_.first) seen_.first = rang;
            seen_.still = seen_.still || one.open();
            if (!std::exchange(counted, true)) seen_.fired.push_back(&instance);
        }
        for (const Interval& one : instance.pending) {
            if (one.begin < incident_.at || one.begin >= over_) continue;
            if (usual != nullptr && overlaps(usual->pending, one.begin)) continue;
            const double end = std::min(one.open() ? duration_ : one.end, over_);
            seen_.waited = std::max(seen_.waited, end - one.begin);
            seen_.waiting_at_end = seen_.waiting_at_end || one.open();
        }
    }

    const Judged& what_;
    const exporters::Incident& incident_;
    double duration_;
    double over_;  // later firings are not about the failure: its repair, or its first evaluation
    Seen seen_;
};

bool is_struck(const exporters::Incident& incident, const exporters::Target& place) {
    return std::any_of(
        incident.targets.begin(), incident.targets.end(), [&](const exporters::Target& target) {
            return target.node == place.node && (target.gpu < 0 || place.gpu < 0 || target.gpu == place.gpu);
        });
}

// exact: only what was struck, as precisely as it was struck. node: the right node, the GPU left open.
std::pair<Locality, bool> locate(const Seen& seen, const exporters::Incident& incident,
                                 const exporters::World& world) {
    std::vector<exporters::Target> places;
    for (const Instance* instance : seen.fired) {
        for (const exporters::Target& place : places_of(instance->labels, world)) places.push_back(place);
    }
    if (places.empty()) return {Locality::nowhere, false};
    const auto right = std::count_if(places.begin(), places.end(),
                                     [&](const auto& place) { return is_struck(incident, place); });
    if (incident.scope == exporters::Scope::job) return {Locality::spread, false};
    if (right == 0) {
        // When half the cluster alerts, it is the job that suffers; that accuses no node.
        std::set<int> nodes;
        for (const exporters::Target& place : places) nodes.insert(place.node);
        return {Locality::spread, 2 * nodes.size() < static_cast<std::size_t>(world.cluster.nodes)};
    }
    if (static_cast<std::size_t>(right) < places.size()) return {Locality::spread, false};
    const bool device = incident.scope == exporters::Scope::gpu || incident.scope == exporters::Scope::port;
    const bool named =
        std::all_of(places.begin(), places.end(), [](const auto& place) { return place.gpu >= 0; });
    return {device && !named ? Locality::node : Locality::exact, false};
}

std::string where_words(Locality place, const exporters::Incident& incident) {
    switch (place) {
        case Locality::exact:
            return "names the place";
        case Locality::node:
            return "names the node but not which GPU or port";
        case Locality::spread:
            return incident.scope == exporters::Scope::job ? "names ranks or nodes of the job"
                                                           : "names healthy places beside the right one";
        case Locality::nowhere:
            return "names no place";
    }
    return {};
}

Cell fired_cell(const Judged& what, const Seen& seen, const exporters::Incident& incident,
                const exporters::World& world) {
    Cell cell;
    cell.latency_low = seen.first - incident.at;
    cell.latency_high = cell.latency_low + world.window.scrape + what.eval;
    for (const Instance* instance : seen.fired) cell.fired.push_back(instance->labels);
    std::sort(cell.fired.begin(), cell.fired.end());  // judges tell instances in orders of their own
    cell.fired.resize(std::min<std::size_t>(cell.fired.size(), 64));
    const auto [place, wrong] = locate(seen, incident, world);
    cell.place = place;
    const std::string range = duration_text(cell.latency_low) + " to " + duration_text(cell.latency_high);
    // An alert may keep firing until its windows run out; only then does it count as not clearing.
    const double patience = 300 + what.rule->keep_firing + what.reads->look_back;
    if (wrong) {
        cell.verdict = AlertVerdict::wrong_place;
        cell.says = fmt::format("fired {} after the failure, but names only healthy places", range);
    } else if (cell.latency_low > incident.within) {
        cell.verdict = AlertVerdict::late;
        cell.says = fmt::format("fired {} after the failure, the objective is {}; it {}", range,
                                duration_text(incident.within), where_words(place, incident));
    } else if (seen.still && incident.until + patience < world.window.duration) {
        cell.verdict = AlertVerdict::sticky;
        cell.says =
            fmt::format("fired {} after the failure and still fires {} after the repair; it {}", range,
                        duration_text(world.window.duration - incident.until), where_words(place, incident));
    } else {
        cell.verdict = AlertVerdict::caught;
        cell.says = fmt::format("fired {} after the failure; it {}", range, where_words(place, incident));
        if (cell.latency_high > incident.within) {
            cell.says += fmt::format("; in the worst phase that is past the objective of {}",
                                     duration_text(incident.within));
        }
    }
    return cell;
}

// ── A silent alert: how near it came to its thresholds, as Prometheus recorded it.

// The largest value between two times, or the least; NaN where there is none.
double extreme(const Curve& points, bool largest, double begin, double end) {
    double best = std::numeric_limits<double>::quiet_NaN();
    for (const auto& [time, value] : points) {
        if (time < begin || time >= end || std::isnan(value)) continue;
        if (std::isnan(best) || (largest ? value > best : value < best)) best = value;
    }
    return best;
}

struct Approach {
    std::vector<Nearness> near;
    bool measured = false;  // all of its thresholds
    bool nearer = false;    // the failure brought a value nearer to one than it is on the healthy run
    bool away = false;      // and a value farther from one than it ever is there
    bool changed = false;   // its values differ from those of the healthy run
};

bool differs(const Curve& a, const Curve& b, double begin, double end) {
    const auto within = [&](const Curve& points) {
        Curve some;
        for (const auto& point : points)
            if (point.first >= begin && point.first < end) some.push_back(point);
        return some;
    };
    return within(a) != within(b);
}

// The signal leaves its healthy range on the side away from the threshold, by more than that range is wide:
// temperatures of 49 to 54 °C that fall to 36 move away from `> 85`. Utilisation of 94 to 101 % that stays at
// 100 moves neither towards `< 10` nor away from it.
bool moves_away(const Curve& usual_near, const Curve& usual_far, const Curve& far, bool up, double begin,
                double end) {
    const double every = std::numeric_limits<double>::infinity();
    const double nearest = extreme(usual_near, up, -every, every);
    const double farthest = extreme(usual_far, !up, -every, every), now = extreme(far, !up, begin, end);
    const double least = 1e-9 * std::max(1.0, std::abs(farthest));
    const double left = up ? farthest - now : now - farthest;
    return left > std::abs(nearest - farthest) + least;
}

Approach approach_of(const Judged& what, const exporters::Incident& incident, double over) {
    Approach found{.measured = !what.reads->thresholds.empty()};
    for (std::size_t k = 0; k < what.reads->thresholds.size(); ++k) {
        const Threshold& threshold = what.reads->thresholds[k];
        static const Curve none;
        const auto curve_in = [&](const Curves* all) -> const Curve& {
            if (all == nullptr) return none;
            const auto at = all->find({what.index, k});
            return at == all->end() ? none : at->second;
        };
        const Curve &now = curve_in(what.curves), &usual = curve_in(what.usual_curves);
        const bool up = is_upward(threshold.op) || threshold.op == Comparison::unequal;
        const double before = extreme(usual, up, incident.at, over);
        const double value = extreme(now, up, incident.at, over);
        const double least = 1e-9 * std::max(1.0, std::abs(before));
        found.nearer =
            found.nearer ||
            (!std::isnan(value) && (std::isnan(before) || (up ? value - before : before - value) > least));
        found.changed = found.changed || differs(now, usual, incident.at, over) ||
                        differs(curve_in(what.far), curve_in(what.usual_far), incident.at, over);
        found.away = found.away ||
                     moves_away(usual, curve_in(what.usual_far), curve_in(what.far), up, incident.at, over);
        if (std::isnan(value))
            found.measured = false;
        else
            found.near.push_back(
                {threshold.left, threshold.op, threshold.limit, value, k, !threshold.is_bound()});
    }
    return found;
}

// May the selector read this series? Only its matchers are asked.
bool selects(const Selector& selector, const exporters::Labels& labels) {
    return std::all_of(selector.matchers.begin(), selector.matchers.end(), [&](const Matcher& matcher) {
        if (matcher.label == "__name__") return true;
        const auto at = labels.find(matcher.label);
        return fits(matcher, at == labels.end() ? "" : at->second);
    });
}

bool reads_one_of(const std::map<std::string, std::vector<exporters::Labels>>& changed,
                  const RuleReads& reads) {
    return std::any_of(reads.metrics.begin(), reads.metrics.end(),
                       [&](const std::string& metric) { return changed.contains(metric); });
}

// Of the metrics that a rule reads, those of which the failure changes a series that one of its selectors
// matches; what it reads through recording rules goes by the name alone.
std::vector<std::string> read_among(const std::map<std::string, std::vector<exporters::Labels>>& changed,
                                    const RuleReads& reads) {
    std::vector<std::string> found;
    for (const auto& [metric, series] : changed) {
        if (!reads.metrics.contains(metric)) continue;
        bool direct = false, matches = false;
        for (const Selector& one : reads.reads.selectors) {
            if (one.metric != metric) continue;
            direct = true;
            matches = matches || one.matchers.empty() || series.empty() ||
                      std::any_of(series.begin(), series.end(),
                                  [&](const exporters::Labels& labels) { return selects(one, labels); });
        }
        if (matches || !direct) found.push_back(metric);
    }
    return found;
}

bool passes(const Nearness& one) {
    char* end = nullptr;
    const double limit = one.distance ? 0 : std::strtod(one.limit.c_str(), &end);
    if (!one.distance && *end != '\0') return false;
    switch (one.op) {
        case Comparison::equal:
            return one.value == 0;
        case Comparison::unequal:
            return one.value != 0;
        case Comparison::above:
            return one.value > limit;
        case Comparison::at_least:
            return one.value >= limit;
        case Comparison::below:
            return one.value < limit;
        default:
            return one.value <= limit;
    }
}

// "came no nearer than 3 to 7", "peaked at 2 below its limit, a + b"
std::string distance_text(const Nearness& one) {
    if (one.op == Comparison::unequal) return fmt::format("never differed from {}", one.limit);
    if (one.op == Comparison::equal)
        return fmt::format("came no nearer than {:.4g} to {}", one.value, one.limit);
    return fmt::format("came no nearer than {:.4g} to its limit, {}", std::abs(one.value), one.limit);
}

// "peaked at 0.4, the rule asks for > 1"
std::string nearness_text(const std::vector<Nearness>& near) {
    std::vector<std::string> parts;
    for (const Nearness& one : near) {
        if (passes(one)) continue;
        if (one.distance) {
            parts.push_back(distance_text(one));
            continue;
        }
        parts.push_back(fmt::format("{} {:.4g}, and the rule asks for {} {}",
                                    is_upward(one.op) ? "peaked at" : "fell no lower than", one.value,
                                    scenarios::enum_name(one.op), one.limit));
    }
    if (parts.empty() && !near.empty()) return "passed each of its thresholds, but never for the same labels";
    return fmt::format("{}", fmt::join(parts, "; "));
}

AlertVerdict verdict_of(Silence silence) {
    switch (silence) {
        case Silence::never:
            return AlertVerdict::dead;
        case Silence::your_names:
            return AlertVerdict::your_names;
        default:
            return AlertVerdict::not_simulated;
    }
}

// Why a failure does not concern a rule: it leaves all alone that the rule reads, or only ends it.
std::string unconcerned_text(const exporters::Touched& touched, const RuleReads& reads, bool ended) {
    if (ended) return "asks for no absence, and all that the failure does to what it reads is to end it";
    const bool by_name = reads_one_of(touched.moved, reads) || reads_one_of(touched.vanished, reads);
    return by_name ? "its matchers read none of the series that this failure itself moves"
                   : "reads no metric that this failure itself moves";
}

Cell pending_cell(const Judged& what, const Seen& seen, double duration) {
    Cell cell{.verdict = AlertVerdict::pending_only, .needed = std::max(0.0, what.rule->hold - seen.waited)};
    cell.says = fmt::format("was pending for {} of the {} that `for` needs", duration_text(seen.waited),
                            duration_text(what.rule->hold));
    if (seen.waiting_at_end) cell.says += fmt::format(" when the run ended at {}", duration_text(duration));
    return cell;
}

Cell silent_cell(const Judged& what, const Seen& seen, const exporters::Incident& incident,
                 const exporters::World& world, const exporters::Touched& touched) {
    Cell cell;
    if (seen.waited > 0 || seen.waiting_at_end) return pending_cell(what, seen, world.window.duration);
    if (seen.after_repair >= 0) {
        cell.verdict = AlertVerdict::after_repair;
        cell.says = fmt::format("first rang {} after the repair: it is about the job that comes back",
                                duration_text(seen.after_repair - incident.until));
        return cell;
    }
    if (what.reads->dead()) {
        cell.verdict = verdict_of(silence_of(what.reads->dead_kind));
        cell.says = what.reads->why_dead;
        return cell;
    }
    const auto& selectors = what.reads->reads.selectors;
    const bool asks_presence = std::any_of(selectors.begin(), selectors.end(),
                                           [](const Selector& one) { return one.absent || one.counted; });
    const std::vector<std::string> moved = read_among(touched.moved, *what.reads),
                                   ended = read_among(touched.vanished, *what.reads);
    const Approach approach =
        approach_of(what, incident, std::max(incident.until, incident.at + world.window.scrape + what.eval));
    cell.near = approach.near;
    const bool by_count = moved.empty() && !ended.empty() && (asks_presence || approach.nearer);
    // What comes nearer moves, whichever of its series do.
    const bool comes_nearer = approach.nearer && reads_one_of(touched.moved, *what.reads);
    if (moved.empty() && !by_count && !comes_nearer && !what.reads->everything) {
        cell.says = unconcerned_text(touched, *what.reads, !ended.empty());
        return cell;
    }
    const bool tests_absence =
        std::any_of(selectors.begin(), selectors.end(), [](const Selector& one) { return one.absent; });
    // A lost target is still there, with `up` at 0.
    const bool lost = has(moved, "up");
    if (asks_presence && ended.empty() && !lost &&
        (tests_absence || (approach.measured && !approach.changed))) {
        cell.says = "asks whether its series are there, and the failure ends none of them";
        return cell;
    }
    if (approach.measured && !approach.nearer && approach.away && !asks_presence) {
        cell.says = fmt::format("the failure moves {} away from its threshold", fmt::join(moved, ", "));
        return cell;
    }
    cell.verdict = AlertVerdict::missed;
    const std::string near = nearness_text(approach.near);
    cell.says = !near.empty() && !(by_count && !approach.nearer) ? near
                : by_count ? fmt::format("{} ends for what is struck, and that does not make it true",
                                         fmt::join(ended, ", "))
                : lost && tests_absence
                    ? "up of what is struck is 0 and still there, so that nothing is absent"
                : moved.empty() ? "stayed silent"
                                : fmt::format("stayed silent although it reads {}, which the failure moves",
                                              fmt::join(moved, ", "));
    return cell;
}

}  // namespace

std::string_view name_of(AlertVerdict verdict) {
    constexpr std::array<std::string_view, 15> names = {
        "caught",        "late",        "sticky",      "wrong place", "pending only", "after repair",
        "missed",        "unconcerned", "false alarm", "background",  "dead",         "depends on your names",
        "not simulated", "invalid",     "unjudged"};
    return names[static_cast<std::size_t>(verdict)];
}

std::string_view name_of(Locality place) {
    constexpr std::array<std::string_view, 4> names = {"exact", "node", "spread", "nowhere"};
    return names[static_cast<std::size_t>(place)];
}

std::string without_examples(std::string words) {
    const std::size_t open = words.find(": ["), close = words.rfind(']');
    if (open != std::string::npos && close != std::string::npos && open < close)
        words.erase(open, close + 1 - open);
    static const std::regex quoted(R"("[^"]*")");
    return std::regex_replace(words, quoted, "…");
}

namespace {

HealthyRow rung_row(const Rule& rule, const std::vector<Instance>& healthy, const exporters::Window& window) {
    std::size_t fired = 0;
    bool always = true;
    double first = window.duration;
    for (const Instance& instance : healthy) {
        for (const Interval& one : instance.firing) {
            ++fired;
            first = std::min(first, one.begin);
            // From as soon as its `for` allows until the end.
            always = always && one.open() && one.begin <= rule.hold + 2 * window.eval + 2 * window.scrape;
        }
    }
    if (fired == 0) return {};
    if (always) {
        return {AlertVerdict::background, "fires on a healthy cluster from beginning to end"};
    }
    return {AlertVerdict::false_alarm,
            fmt::format("fires on a healthy cluster, {} times within {}, first after {}", fired,
                        duration_text(window.duration), duration_text(first)),
            fired};
}

}  // namespace

// An alert that reads nothing of this run, and rings because it misses that, says nothing about the cluster.
HealthyRow judge_healthy(const Rule& rule, const RuleReads& reads, const std::vector<Instance>& healthy,
                         const exporters::Window& window) {
    HealthyRow row = rung_row(rule, healthy, window);
    if (row.verdict == AlertVerdict::unconcerned || reads.unseen.kind == DeadKind::none) return row;
    if (reads.unseen.all)
        return {verdict_of(silence_of(reads.unseen.kind)), "rings because " + reads.unseen.says};
    row.says += "; " + reads.unseen.says;
    return row;
}

namespace {

// The probability that an alert which fires so often on a healthy cluster fires within `seconds` anyway.
double by_chance(const HealthyRow& row, double seconds, double watched) {
    if (row.verdict != AlertVerdict::false_alarm) return 0;
    return 1 - std::exp(-static_cast<double>(row.rings) * seconds / watched);
}

}  // namespace

Cell judge_cell(const Judged& what, const HealthyRow& row, const exporters::Incident& incident,
                const exporters::World& world, const exporters::Touched& touched) {
    if (what.reads->dead_kind == DeadKind::range_too_short)
        return {.verdict = AlertVerdict::dead, .says = what.reads->why_dead};
    const Seen seen = InstanceReading(what, incident, world).all();
    if (!seen.fired.empty()) {
        const double after = seen.first - incident.at;
        if (by_chance(row, after + what.eval, world.window.duration) > 0.05) {
            return {.verdict = AlertVerdict::false_alarm,
                    .says = fmt::format("{}; a ring {} after the failure tells nothing of it", row.says,
                                        duration_text(after))};
        }
        return fired_cell(what, seen, incident, world);
    }
    if (row.verdict == AlertVerdict::not_simulated || row.verdict == AlertVerdict::your_names)
        return {.verdict = row.verdict, .says = row.says};
    if (row.verdict != AlertVerdict::unconcerned) {
        return {.verdict = row.verdict, .says = row.says + "; the failure adds nothing to it"};
    }
    return silent_cell(what, seen, incident, world, touched);
}

// ── Where an alert's labels point. Exporters name places differently: instance, Hostname, node, gpu="3",
// gpu="GPU3", device="mlx5_3", rank="35".

namespace {

int number_at_end(const std::string& text) {
    std::size_t begin = text.size();
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
    return begin == text.size() || text.size() - begin > 6 ? -1 : std::atoi(text.c_str() + begin);
}

std::string shown_label(const exporters::World& world, const std::string& label) {
    const auto at = world.profile.map.labels.find(label);
    return at == world.profile.map.labels.end() ? label : at->second;
}

}  // namespace

std::vector<exporters::Target> places_of(const std::map<std::string, std::string>& labels,
                                         const exporters::World& world) {
    exporters::Target place{.node = -1};
    const int gpus = world.cluster.gpus_per_node;
    for (const auto& [name, value] : labels) {
        if (name == shown_label(world, "rank") && number_at_end(value) >= 0) {
            return {{number_at_end(value) / gpus, number_at_end(value) % gpus}};
        }
        if (name == shown_label(world, "gpu") ||
            (name == shown_label(world, "device") && value.starts_with("mlx5_")) ||
            (name == shown_label(world, "device") && value.starts_with("nvidia"))) {
            place.gpu = number_at_end(value);
        }
        for (int node = 0; node < world.cluster.nodes && place.node < 0; ++node) {
            const std::string host = exporters::host_name(world.profile, node);
            if (value == host || value.starts_with(host + ":")) place.node = node;
        }
    }
    if (place.node < 0) return {};
    return {place};
}

}  // namespace deadrank::results::alerts
