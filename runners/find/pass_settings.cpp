// runners/find/pass_settings.cpp — Passes over everything in a plan but its faults: settings back to their
// defaults, a smaller and plainer cluster.

#include <algorithm>
#include <numeric>
#include <set>

#include "runners/find/knob.h"
#include "runners/find/passes.h"

namespace deadrank::runners::find {

// ── Sizes, times and switches move to their defaults, or as near as the failure allows; ranks move to low
// numbers.

using scenarios::Parameter;
using scenarios::Plan;
using scenarios::Value;
using scenarios::Values;
using scenarios::ValueType;
using Place = std::function<Values&(Plan&)>;

namespace {

// Shape and length have their own passes.
bool has_its_pass(const std::string& name) {
    return name == "nodes" || name == "gpus_per_node" || name == "ranks" || name == "steps";
}

bool drop(Reduction& reduction, const Place& place, const std::string& name) {
    Plan candidate = reduction.plan();
    place(candidate).erase(name);
    return reduction.take(std::move(candidate));
}

bool fewer_entries(Reduction& reduction, const Place& place, const std::string& name, const Value& value) {
    bool any = false;
    for (const auto& [key, text] : value.table) {
        Plan candidate = reduction.plan();
        place(candidate).at(name).table.erase(key);
        any = reduction.take(std::move(candidate)) || any;
    }
    return any;
}

bool usual(Reduction& reduction, const Place& place, const Parameter& parameter, const Value& value) {
    const auto goal = default_of(parameter);
    if (!goal) {
        if (parameter.optional && drop(reduction, place, parameter.name)) return true;
        if (value.type == ValueType::table) return fewer_entries(reduction, place, parameter.name, value);
        return false;
    }
    if (*goal == value) return false;
    if (is_number(value.type)) {
        return reduction.approach(value.number, goal->number, [&](Plan& plan, std::int64_t number) {
            place(plan).at(parameter.name).number = number;
        });
    }
    Plan candidate = reduction.plan();
    place(candidate).at(parameter.name) = *goal;
    return reduction.take(std::move(candidate));
}

bool usual_values(Reduction& reduction, const Place& place, const std::vector<Parameter>& parameters) {
    bool any = false;
    Plan now = reduction.plan();
    const Values values = place(now);
    for (const auto& [name, value] : values) {
        const Parameter* parameter = parameter_named(parameters, name);
        if (!parameter || has_its_pass(name)) continue;
        any = usual(reduction, place, *parameter, value) || any;
    }
    return any;
}

// Moves each rank or node in turn to the lowest number that still fails.
bool lower_places(Reduction& reduction, std::size_t fault) {
    bool any = false;
    const Values values = reduction.plan().faults[fault].parameters;
    for (const auto& [name, value] : values) {
        if (value.type != ValueType::ranks && value.type != ValueType::nodes) continue;
        const auto count = static_cast<std::int64_t>(value.list.size());
        for (std::int64_t first = 0; !value.list.empty() && first < value.list.front() && first < 4;
             ++first) {
            Plan candidate = reduction.plan();
            auto& list = candidate.faults[fault].parameters.at(name).list;
            for (std::int64_t i = 0; i < count; ++i) list[static_cast<std::size_t>(i)] = first + i;
            if (candidate.expect.ranks == value.list) candidate.expect.ranks = list;
            if (!reduction.take(std::move(candidate))) continue;
            any = true;
            break;
        }
    }
    return any;
}

}  // namespace

bool usual_settings(Reduction& reduction) {
    const scenarios::Vocabulary& words = reduction.words();
    bool any = usual_values(
        reduction, [](Plan& plan) -> Values& { return plan.cluster; }, scenarios::cluster_parameters());
    if (const auto* kind = words.workload(reduction.plan().workload_kind)) {
        any = usual_values(
                  reduction, [](Plan& plan) -> Values& { return plan.workload; }, kind->parameters) ||
              any;
    }
    for (std::size_t fault = 0; fault < reduction.plan().faults.size(); ++fault) {
        const auto* kind = words.fault(reduction.plan().faults[fault].kind);
        if (!kind) continue;
        const Place place = [fault](Plan& plan) -> Values& { return plan.faults[fault].parameters; };
        any = usual_values(reduction, place, kind->parameters) || any;
        any = lower_places(reduction, fault) || any;
    }
    return any;
}

bool usual_seed(Reduction& reduction) {
    Plan candidate = reduction.plan();
    candidate.seed.number = 1;
    return reduction.take(std::move(candidate));
}

// ── Fewer machines and devices. Ranks named by faults and the expectation move along; degrees of
// parallelism become ones that still divide the ranks.

using scenarios::Plan;
using scenarios::ValueType;
using List = std::vector<std::int64_t>;

namespace {

struct Shape {
    std::int64_t nodes = 1, gpus = 1;
    std::int64_t ranks() const { return nodes * gpus; }
};

List sizes_up_to(std::int64_t most) {
    List sizes;
    for (std::int64_t size = 1; size < most; size += size < 4 ? 1 : size / 2) sizes.push_back(size);
    sizes.push_back(most);
    return sizes;
}

// From the smallest up to the current one.
std::vector<Shape> shapes_below(const Shape& now, std::int64_t ranks_now) {
    std::vector<Shape> shapes;
    for (const std::int64_t nodes : sizes_up_to(now.nodes)) {
        for (const std::int64_t gpus : sizes_up_to(now.gpus)) {
            if (nodes * gpus < ranks_now) shapes.push_back({nodes, gpus});
        }
    }
    std::stable_sort(shapes.begin(), shapes.end(),
                     [](const Shape& a, const Shape& b) { return a.ranks() < b.ranks(); });
    return shapes;
}

// Maps old coordinates to new ones: unchanged, or packed to their index among the used ones; at most the last
// one.
class Moves {
public:
    Moves(std::set<std::int64_t> used, bool packed) : used_(std::move(used)), packed_(packed) {}
    std::int64_t operator()(std::int64_t old, std::int64_t end) const {
        const auto place = packed_ ? std::distance(used_.begin(), used_.find(old)) : old;
        return std::min<std::int64_t>(place, end - 1);
    }

private:
    std::set<std::int64_t> used_;
    bool packed_;
};

struct Used {
    std::set<std::int64_t> nodes, locals;
};

template <class P, class OnRanks, class OnNodes>
void each_target(P& plan, const OnRanks& on_ranks, const OnNodes& on_nodes) {
    for (auto& fault : plan.faults) {
        for (auto& [name, value] : fault.parameters) {
            if (value.type == ValueType::ranks) on_ranks(value.list);
            if (value.type == ValueType::nodes) on_nodes(value.list);
        }
    }
    on_ranks(plan.expect.ranks);
}

Used used_by(const Plan& plan, std::int64_t gpus) {
    Used used;
    const auto see_ranks = [&](const List& ranks) {
        for (const std::int64_t rank : ranks) {
            used.nodes.insert(rank / gpus);
            used.locals.insert(rank % gpus);
        }
    };
    each_target(plan, see_ranks, [&](const List& nodes) { used.nodes.insert(nodes.begin(), nodes.end()); });
    return used;
}

void sort_out(List& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
}

Plan reshaped(Plan plan, const Shape& from, const Shape& to, bool packed) {
    const Used used = used_by(plan, from.gpus);
    const Moves node_moves(used.nodes, packed), local_moves(used.locals, packed);
    const auto move_ranks = [&](List& ranks) {
        for (std::int64_t& rank : ranks) {
            rank = node_moves(rank / from.gpus, to.nodes) * to.gpus + local_moves(rank % from.gpus, to.gpus);
        }
        sort_out(ranks);
    };
    const auto move_nodes = [&](List& nodes) {
        for (std::int64_t& node : nodes) node = node_moves(node, to.nodes);
        sort_out(nodes);
    };
    each_target(plan, move_ranks, move_nodes);
    plan.cluster["nodes"].number = to.nodes;
    plan.cluster["gpus_per_node"].number = to.gpus;
    plan.cluster.erase("ranks");
    for (auto& [name, value] : plan.workload) {
        const bool degree = name.size() == 7 && name.ends_with("p_size");
        if (degree && value.type == ValueType::integer) value.number = std::gcd(value.number, to.ranks());
    }
    return plan;
}

}  // namespace

bool smaller_cluster(Reduction& reduction) {
    const Plan whole = reduction.plan();
    const Shape now{whole.number(whole.cluster, "nodes"), whole.number(whole.cluster, "gpus_per_node")};
    for (const Shape& shape : shapes_below(now, whole.world_size())) {
        for (const bool packed : {false, true}) {
            if (reduction.take(reshaped(whole, now, shape, packed))) return true;
        }
    }
    return false;
}

}  // namespace deadrank::runners::find
