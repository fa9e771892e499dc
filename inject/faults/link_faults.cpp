// inject/faults/link_faults.cpp — Faults of the network, and of the way to the rendezvous store. Which links
// the parameter `node` means: one node, its links to all others; two, those between them; more, each one's to
// all others; with `inside`, those within each node.
#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "inject/core/fault.h"

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

// node, inside, one_way.
std::vector<scenarios::Parameter> link_parameters(std::vector<scenarios::Parameter> further = {}) {
    std::vector<scenarios::Parameter> parameters = {
        {"node", ValueType::nodes, "", "one node: its links to all others; two: the links between them"},
        {"inside", ValueType::boolean, "false",
         "means the links between the devices within each node instead"},
        {"one_way", ValueType::boolean, "false", "only what the first node sends is concerned"}};
    parameters.insert(parameters.end(), further.begin(), further.end());
    return parameters;
}

// `broken` and `whole` say what changes; the ends are filled in here.
std::unique_ptr<Fault> make_link_fault(const FaultSpec& spec, const LinkChange& broken,
                                       const LinkChange& whole, Rhythm rhythm = {}) {
    const auto ends = ends_of(spec);
    const bool one_way = spec.number("one_way") != 0;
    const auto set = [ends, one_way](Levers& levers, LinkChange change) {
        change.one_way = one_way;
        return for_each(ends, [&](const std::pair<int, int>& link) {
            std::tie(change.from, change.to) = link;
            return levers.pull(ChangeLink{change});
        });
    };
    return make_simple_fault(spec,
                             {.apply = [set, broken](Levers& levers, Rank) { return set(levers, broken); },
                              .revert = [set, whole](Levers& levers, Rank) { (void)set(levers, whole); },
                              .blame = aimed(spec, {.component = component_of(ends)}),
                              .rhythm = rhythm});
}

}  // namespace

// A link is down: a cable, a port, a card. Cut silently, or with its connections broken so that both ends
// know.
extern const FaultRow drop_link_row{
    {.name = "drop_link",
     .what = "The link carries nothing any more.",
     .parameters = link_parameters({{"how",
                                     ValueType::choice,
                                     "silent",
                                     "nobody is told, or connections break at once",
                                     {"silent", "reset"}}}),
     .levers = {ChangeLink::down}},
    [](const FaultSpec& spec) {
        return make_link_fault(spec, {.down = true, .reset = spec.text("how") == "reset"}, {.down = false});
    }};

// A link is slower than it should be: a bad cable, a lane that failed, congestion by other jobs.
extern const FaultRow slow_link_row{
    {.name = "slow_link",
     .what = "The link has less bandwidth, or more latency.",
     .parameters =
         link_parameters({{"factor", ValueType::factor, "10x", "how many times less bandwidth", {}, false, 1},
                          {"latency", ValueType::duration, "0s", "added to every message", {}, false, 0}}),
     .levers = {ChangeLink::slow}},
    [](const FaultSpec& spec) {
        const std::int64_t permille = 1'000'000 / std::max<std::int64_t>(1, spec.number("factor"));
        return make_link_fault(spec,
                               {.bandwidth_permille = std::max<std::int64_t>(1, permille),
                                .extra_latency = duration(spec, "latency")},
                               {.bandwidth_permille = 1000, .extra_latency = Time(0)});
    }};

// A link loses a share of its messages and sends them again: dirty optics, a full switch buffer.
extern const FaultRow lose_packets_row{
    {.name = "lose_packets",
     .what = "The link loses a share of its messages.",
     .parameters = link_parameters({{"share", ValueType::ratio, "1%", "how many of them", {}, false, 0}}),
     .levers = {ChangeLink::loss}},
    [](const FaultSpec& spec) {
        return make_link_fault(spec, {.loss_ppb = spec.number("share")}, {.loss_ppb = 0});
    }};

// A link goes down and comes back, a few times in a row: a loose plug, a port that keeps retraining.
extern const FaultRow flap_link_row{
    {.name = "flap_link",
     .what = "The link is down for a while, several times.",
     .parameters =
         link_parameters({{"down", ValueType::duration, "3s", "how long it is down", {}, false, 1},
                          {"up", ValueType::duration, "30s", "how long it is up in between", {}, false, 0},
                          {"times", ValueType::integer, "2", "how often it goes down", {}, false, 1}}),
     .levers = {ChangeLink::down}},
    [](const FaultSpec& spec) {
        return make_link_fault(
            spec, {.down = true}, {.down = false},
            {.on = duration(spec, "down"), .off = duration(spec, "up"), .times = spec.number("times")});
    }};

// The network splits into two halves that cannot reach each other: a spine switch, a wrong route.
extern const FaultRow partition_row{
    {.name = "partition",
     .what = "These nodes and all others cannot reach each other.",
     .parameters = {node_parameter()},
     .levers = {ChangeLink::down}},
    [](const FaultSpec& spec) {
        const auto cut = [side = nodes_of(spec)](Levers& levers, bool down) -> Result<Done> {
            for (int other = 0; other < node_count(levers); ++other) {
                if (std::count(side.begin(), side.end(), other) > 0) continue;
                auto done = for_each(side, [&](int node) {
                    return levers.pull(ChangeLink{{.from = node, .to = other, .down = down}});
                });
                if (!done) return done;
            }
            return Done{};
        };
        return make_simple_fault(spec, {.apply = [cut](Levers& levers, Rank) { return cut(levers, true); },
                                        .revert = [cut](Levers& levers, Rank) { (void)cut(levers, false); },
                                        .blame = aimed(spec, {.component = "link"})});
    }};

// The connection between some ranks and the rendezvous store is impaired: a firewall that drops idle
// connections, a sidecar that resets them, a queue of the store that overflowed.
extern const FaultRow break_store_row{
    {.name = "break_store",
     .what = "What these ranks and the rendezvous store say to each other is disturbed on its way.",
     .parameters = {rank_parameter(),
                    {"how",
                     ValueType::choice,
                     "mute",
                     "nothing passes and nobody is told; new connections are refused; connections break; all "
                     "comes later; little passes a second; one bit of an answer turns",
                     {"mute", "refuse", "cut", "late", "narrow", "flip"}},
                    {"latency", ValueType::duration, "1s", "late: how much later", {}, false, 0},
                    {"amount",
                     ValueType::integer,
                     "0",
                     "cut: bytes that still pass; narrow: bytes a second; flip: which bit of the answers",
                     {},
                     false,
                     0}},
     .levers = {ChangeStore::lever}},
    [](const FaultSpec& spec) {
        const StoreChange change{.how = results::store_trouble_named(spec.text("how")),
                                 .late = duration(spec, "latency"),
                                 .amount = spec.number("amount")};
        return make_simple_fault(spec, {.apply =
                                            [change](Levers& levers, Rank rank) {
                                                return levers.pull(ChangeStore{rank, change});
                                            },
                                        .revert =
                                            [](Levers& levers, Rank rank) {
                                                (void)levers.pull(ChangeStore{rank, {}});
                                            },
                                        .blame = aimed(spec, {.component = "store"})});
    }};

}  // namespace deadrank::inject
