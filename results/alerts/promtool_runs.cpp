// results/alerts/promtool_runs.cpp — Which alerts are asked in which run of promtool.
#include "results/alerts/promtool_runs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "results/alerts/emitted.h"
#include "results/exporters/toml_file.h"

namespace deadrank::results::alerts {

namespace {

constexpr double history_most = 14 * 86400.0;
constexpr double sparse_most = 240;  // less than the five minutes after which a sample counts as gone
constexpr double dense_past = 3600;  // before the run, and the run itself

// The healthy time before the run that an alert looks back on, its `for` included.
double history_of(const Rule& rule, double reach, double eval, double hold_most) {
    return std::min(reach + std::min(rule.hold, hold_most) + rule.keep_firing + 2 * eval, history_most);
}

// Minutes, hours, a day, more: one rule over three days would give every series of the others three days.
int reach_class(double history) {
    constexpr double bounds[] = {1200, 7200, 30 * 3600.0};
    return static_cast<int>(std::upper_bound(std::begin(bounds), std::end(bounds), history - 1) -
                            std::begin(bounds));
}

double rounded_up(double seconds, double step) { return std::ceil(seconds / step - 1e-9) * step; }

// promtool holds 10,000 samples in a query. Over days, samples and evaluations are further apart.
void widen_intervals(Part& part, const exporters::Window& window) {
    constexpr double steps = 6000;
    const double wanted = (part.history + window.duration) / steps;
    part.eval = rounded_up(std::max(part.eval, wanted), part.eval);
    part.sparse = std::max(window.scrape, std::floor(sparse_most / window.scrape) * window.scrape);
}

// Reads its value over hours from fewer samples as well? What counts samples, or looks at each, does not, nor
// does a short range with an offset, or in a subquery.
bool bears_thinning(const Selector& selector) {
    return selector.offset == 0 && selector.outer == 0 &&
           one_of(selector.function, {"rate", "increase", "delta", "avg_over_time", "last_over_time"});
}

// promtool evaluates the past as often as the run, and an alert over six hours reads 1,440 samples of each
// series each time. Evaluations are up to a minute apart instead, and samples a 300th of the range, so that a
// value differs by a third of a percent at most.
void spare_hours(Part& part, const exporters::Window& window, const std::vector<Rule>& rules,
                 const StaticAnalysis& analysis) {
    constexpr double samples = 300, evaluations = 600, eval_most = 60;
    double shortest = part.history;
    bool thin = true;
    const std::vector<bool> kept = rules_in(part, rules, analysis);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!kept[i]) continue;
        if (!rules[i].is_alert) return;  // recorded in the past too, from short ranges
        for (const Selector& one : analysis.rules[i].reads.selectors) {
            if (one.range + one.offset + one.outer <= dense_past / 2) continue;
            thin = thin && bears_thinning(one);
            shortest = std::min(shortest, one.range);
        }
    }
    const double apart =
        std::floor(std::min(sparse_most, shortest / samples) / window.scrape) * window.scrape;
    if (thin && apart > window.scrape) part.sparse = apart;
    const double wanted = std::min((part.history + window.duration) / evaluations, eval_most),
                 own = part.eval;
    while ((part.eval < wanted || std::fmod(300, part.eval) != 0) && part.eval + own <= eval_most)
        part.eval += own;
    while (part.eval > own && std::fmod(300, part.eval) != 0) part.eval -= own;
}

}  // namespace

std::vector<bool> reached_by(const exporters::Touched& touched, const std::vector<Rule>& rules,
                             const StaticAnalysis& analysis) {
    std::vector<bool> reached(rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const RuleReads& reads = analysis.rules[i];
        reached[i] = rules[i].is_alert && (reads.everything || reads.states || touched.any_of(reads.names));
    }
    return reached;
}

std::vector<Part> parts_of(const std::vector<bool>& asked, const std::vector<Rule>& rules,
                           const StaticAnalysis& analysis, const exporters::Window& window,
                           double hold_most) {
    std::map<std::tuple<bool, int, double>, Part> parts;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!asked[i] || !rules[i].is_alert) continue;
        const RuleReads& reads = analysis.rules[i];
        const double eval = rules[i].interval > 0 ? rules[i].interval : window.eval;
        double history = history_of(rules[i], reads.look_back, eval, hold_most);
        for (std::size_t other = 0; reads.states && other < rules.size(); ++other) {
            const double theirs =
                history_of(rules[other], analysis.rules[other].look_back, eval, rules[other].hold);
            history = std::max(history, theirs);
        }
        const int reach = reach_class(history);
        Part& part = parts[{reads.states, reach, eval}];
        part.asked.resize(rules.size());
        part.asked[i] = true;
        part.eval = eval;
        part.whole = reads.states;
        part.hold_most = hold_most;
        // Subqueries are evaluated on the clock's own grid.
        const double grid = reads.reads.subquery || std::fmod(300, eval) != 0 ? 3600 : 300;
        part.history = std::max(part.history, rounded_up(history, grid));
    }
    std::vector<Part> all;
    for (auto& [key, part] : parts) {
        const auto& [whole, reach, eval] = key;
        part.history = std::max(part.history, window.history);
        if (reach > 2) widen_intervals(part, window);
        if (reach == 2 && !whole) spare_hours(part, window, rules, analysis);
        part.history = rounded_up(part.history, std::max(part.eval, window.scrape));
        constexpr const char* names[] = {"", ".hours", ".day", ".days"};
        part.name = fmt::format("{}{}{}", whole ? ".states" : "", names[reach],
                                eval == window.eval ? "" : "." + exporters::duration_text(eval));
        all.push_back(std::move(part));
    }
    return all;
}

std::vector<bool> rules_in(const Part& part, const std::vector<Rule>& rules, const StaticAnalysis& analysis) {
    std::vector<bool> kept = part.asked;
    std::set<std::string> read;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (part.asked[i]) read.insert(analysis.rules[i].names.begin(), analysis.rules[i].names.end());
    }
    for (std::size_t i = 0; i < rules.size(); ++i)
        kept[i] = part.whole || kept[i] || (!rules[i].is_alert && read.contains(rules[i].name));
    return kept;
}

namespace {

// How far back each metric is read, in seconds before the run: by metric, in steps of five minutes. What is
// not listed has the whole history.
std::map<std::string, double> pasts_of(const Part& part, const std::vector<Rule>& rules,
                                       const StaticAnalysis& analysis) {
    constexpr double staleness = 300, step = 300;
    std::map<std::string, double> pasts;
    for (std::size_t i = 0; i < rules.size() && !part.whole; ++i) {
        if (!part.asked[i]) continue;
        for (const auto& [metric, reach] : analysis.rules[i].reach) {
            const double past = history_of(rules[i], reach, part.eval, part.hold_most) + staleness;
            double& most = pasts[metric];
            most = std::max(most, std::min(rounded_up(past, step), part.history));
        }
    }
    return pasts;
}

// Samples of a long past at longer intervals, and none before the series is read.
void thin_samples(const Part& part, double scrape, double past, exporters::Series& series) {
    std::vector<double> values(static_cast<std::size_t>(std::round((part.history - past) / scrape)),
                               exporters::absent_value());
    values.insert(values.end(), series.values.begin(), series.values.end());
    series.values = std::move(values);
    if (part.sparse <= scrape) return;
    const auto every = static_cast<std::size_t>(part.sparse / scrape);
    const auto dense = static_cast<std::size_t>(std::max(0.0, part.history - dense_past) / scrape);
    for (std::size_t i = 0; i < std::min(dense, series.values.size()); ++i) {
        if (i % every != 0 && !exporters::is_stale(series.values[i]))
            series.values[i] = exporters::absent_value();
    }
}

// Which series the selectors of some rules may match: of 4,096 series of node_cpu_seconds_total a rule about
// mode="idle" reads 512, and promtool need not hold the others. A value of a label is matched once.
class Needed {
public:
    void add(const RuleReads& reads) {
        for (const Selector& one : reads.reads.selectors) {
            if (!one.metric.empty()) selectors_[one.metric].push_back(one.matchers);
        }
    }

    bool operator()(const exporters::Series& series) {
        const auto at = selectors_.find(series.name);
        if (at == selectors_.end()) return true;  // read by some other form
        return std::any_of(at->second.begin(), at->second.end(), [&](const std::vector<Matcher>& matchers) {
            return std::all_of(matchers.begin(), matchers.end(),
                               [&](const Matcher& one) { return matches(one, series.labels); });
        });
    }

private:
    bool matches(const Matcher& matcher, const exporters::Labels& labels) {
        if (matcher.label == "__name__") return true;
        const auto at = labels.find(matcher.label);
        const std::string value = at == labels.end() ? "" : at->second;
        const auto [known, fresh] = known_.try_emplace({matcher.op, matcher.value, value}, false);
        if (fresh) known->second = fits(matcher, value);
        return known->second;
    }

    std::map<std::string, std::vector<std::vector<Matcher>>> selectors_;
    std::map<std::tuple<MatchOp, std::string, std::string>, bool> known_;
};

}  // namespace

std::vector<exporters::Series> series_of(const Part& part, exporters::World world,
                                         const exporters::Incident& incident, const std::vector<Rule>& rules,
                                         const StaticAnalysis& analysis) {
    world.epoch += part.history;
    std::set<std::string> names;
    bool everything = false;
    Needed needed;
    const std::vector<bool> kept = rules_in(part, rules, analysis);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!kept[i]) continue;
        names.insert(analysis.rules[i].names.begin(), analysis.rules[i].names.end());
        everything = everything || analysis.rules[i].everything;
        needed.add(analysis.rules[i]);
    }
    const auto pasts = pasts_of(part, rules, analysis);
    const auto past_of = [&](const std::string& name) {
        const auto at = pasts.find(name);
        return at == pasts.end() ? part.history : at->second;
    };
    std::set<double> lengths = {part.history};
    for (const auto& [metric, past] : pasts) lengths.insert(past);
    std::vector<exporters::Series> all;
    for (const double past : lengths) {
        world.window.history = past;
        auto some = exporters::render(
            world, incident,
            [&](const std::string& name) {
                return (everything || names.contains(name)) && past_of(name) == past;
            },
            [&](const exporters::Series& one) { return everything || needed(one); });
        for (exporters::Series& one : some) {
            thin_samples(part, world.window.scrape, past, one);
            all.push_back(std::move(one));
        }
    }
    return all;
}

}  // namespace deadrank::results::alerts
