// inject/faults/links.cpp — Aiming at links.
#include "inject/faults/links.h"

#include <fmt/format.h>
#include <tuple>

namespace deadrank::inject {

namespace {

std::vector<std::pair<int, int>> ends_of(const FaultSpec& spec) {
    const std::vector<int> nodes = nodes_of(spec);
    const bool inside = spec.number("inside") != 0;
    if (nodes.size() == 2 && !inside) return {{nodes.front(), nodes.back()}};
    std::vector<std::pair<int, int>> ends;
    for (const int node : nodes) ends.emplace_back(node, inside ? node : -1);
    return ends;
}

std::string component_of(const std::vector<std::pair<int, int>>& ends) {
    if (ends.empty()) return "link";
    const auto [from, to] = ends.front();
    if (ends.size() > 1) return from == to ? "nvlink" : "link";
    return to < 0       ? fmt::format("link {}", from)
           : from == to ? fmt::format("nvlink {}", from)
                        : fmt::format("link {}-{}", from, to);
}

}  // namespace

std::vector<scenarios::Parameter> link_parameters(std::vector<scenarios::Parameter> further) {
    std::vector<scenarios::Parameter> parameters = {
        {"node", ValueType::nodes, "", "one node: its links to all others; two: the links between them"},
        {"inside", ValueType::boolean, "false",
         "means the links between the devices within each node instead"},
        {"one_way", ValueType::boolean, "false", "only what the first node sends is concerned"}};
    parameters.insert(parameters.end(), further.begin(), further.end());
    return parameters;
}

std::unique_ptr<Fault> make_link_fault(const FaultSpec& spec, const LinkChange& broken,
                                       const LinkChange& whole, Rhythm rhythm) {
    const auto ends = ends_of(spec);
    const bool one_way = spec.number("one_way") != 0;
    const auto set = [ends, one_way](Levers& levers, LinkChange change) {
        change.one_way = one_way;
        return for_each(ends, [&](const std::pair<int, int>& link) {
            std::tie(change.from, change.to) = link;
            return levers.pull(ChangeLink{change});
        });
    };
    return make_deed(spec, {.apply = [set, broken](Levers& levers, Rank) { return set(levers, broken); },
                            .revert = [set, whole](Levers& levers, Rank) { (void)set(levers, whole); },
                            .blame = aimed(spec, {.component = component_of(ends)}),
                            .rhythm = rhythm});
}

}  // namespace deadrank::inject
