// results/alerts/verdict.h — What became of each rule under each failure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "results/alerts/activity.h"
#include "results/alerts/static_check.h"
#include "results/exporters/render.h"

namespace deadrank::results::alerts {

enum class AlertVerdict {
    caught,         // fired after the failure, soon enough
    late,           // fired, but after the objective
    sticky,         // fired, and did not clear after the repair
    wrong_place,    // fired, and names only healthy nodes or GPUs
    pending_only,   // saw it, but for less time than its `for`
    after_repair,   // first fired after the repair, as the job came back
    missed,         // reads a metric that the failure moves, and stayed silent
    unconcerned,    // reads nothing that the failure moves
    false_alarm,    // fires on the healthy run, now and then
    background,     // fires on the healthy run from beginning to end
    dead,           // can never fire, by a fault of its own
    your_names,     // waits for a name of the site's own, which a name map can say
    not_simulated,  // reads what no exporter of this run emits
    invalid,        // Prometheus refuses its rule file
    unjudged,       // Prometheus refuses to evaluate it
};
std::string_view name_of(AlertVerdict verdict);

// How precisely its labels point at the failure.
enum class Locality { exact, node, spread, nowhere };
std::string_view name_of(Locality place);

// How near a silent alert came to one threshold while the failure lasted.
struct Nearness {
    std::string left;  // as it is written, and the limit
    Comparison op = Comparison::above;
    std::string limit;
    double value = 0;  // the largest, or the least
    std::size_t threshold = 0;
    bool distance = false;  // the value is the distance to the limit, which is `==`, `!=` or no number
};

struct Cell {
    AlertVerdict verdict = AlertVerdict::unconcerned;
    double latency_low = -1, latency_high = -1;  // seconds after the failure
    Locality place = Locality::nowhere;
    double needed = 0;  // pending only: how much longer the condition had to hold
    std::string says;   // one sentence
    std::vector<Nearness> near;
    std::vector<std::map<std::string, std::string>>
        fired;                               // label sets of the new firings, sorted, the first 64
    std::vector<std::string> paged;          // receivers, where Alertmanager was asked
    std::vector<std::string> suppressed_by;  // alerts that inhibit it there

    bool noticed() const {
        return verdict == AlertVerdict::caught || verdict == AlertVerdict::late ||
               verdict == AlertVerdict::sticky;
    }
    bool in_time(double within) const { return noticed() && latency_low <= within; }
};

// What one rule does while all is well.
struct HealthyRow {
    // false_alarm, background, or what it waits for that this run lacks; else neither
    AlertVerdict verdict = AlertVerdict::unconcerned;
    std::string says;
    std::size_t rings = 0;  // how often it began to fire
};

struct Judged {
    const Rule* rule = nullptr;
    const RuleReads* reads = nullptr;
    const std::vector<Instance>* healthy = nullptr;
    const std::vector<Instance>* failing = nullptr;
    const Curves* usual_curves = nullptr;  // of all rules
    const Curves* curves = nullptr;
    const Curves* usual_far = nullptr;
    const Curves* far = nullptr;
    std::size_t index = 0;  // of the rule
    double eval = 15;       // seconds between two evaluations
};

HealthyRow judge_healthy(const Rule& rule, const RuleReads& reads, const std::vector<Instance>& healthy,
                         const exporters::Window& window);

Cell judge_cell(const Judged& what, const HealthyRow& row, const exporters::Incident& incident,
                const exporters::World& world, const exporters::Touched& touched);

// Prometheus' words about a rule that it cannot evaluate, without the series that it quotes: which of them it
// meets first is chance.
std::string without_examples(std::string words);

// Which nodes and GPUs a label set names: (node, -1) where it names no GPU.
std::vector<exporters::Target> places_of(const std::map<std::string, std::string>& labels,
                                         const exporters::World& world);

}  // namespace deadrank::results::alerts
