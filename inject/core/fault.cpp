// inject/core/fault.cpp — A fault does one thing to one target, and reverts it. It sees levers, never
// results. Target, moment and probability are in its FaultSpec and handled by the Injector, so no fault deals
// with them.
#include "inject/core/fault.h"

#include <algorithm>
#include <fmt/format.h>

#include "inject/core/trigger.h"

namespace deadrank::inject {

using scenarios::BlameField;

// ── A fault made of a few functions, and how it aims.

namespace {

class SimpleFault final : public Fault {
public:
    SimpleFault(std::string kind, FaultFunctions functions)
        : kind_(std::move(kind)), functions_(std::move(functions)) {}

    std::string_view kind() const override { return kind_; }
    Result<Done> apply(Levers& levers, Rank rank) override { return functions_.apply(levers, rank); }
    results::Blame blame(const Levers& levers) const override;
    const results::Blame& aim() const override { return functions_.blame; }
    Rhythm rhythm() const override { return functions_.rhythm; }

    void revert(Levers& levers, Rank rank) noexcept override {
        try {
            if (functions_.revert) functions_.revert(levers, rank);
        } catch (...) {  // the backend is being torn down; nothing is left to undo there
        }
    }

private:
    std::string kind_;
    FaultFunctions functions_;
};

bool of_a_link(const results::Blame& blame) { return blame.component.find("link") != std::string::npos; }

// A fault of a node blames the node's ranks too; a fault of a link blames neither end.
results::Blame SimpleFault::blame(const Levers& levers) const {
    results::Blame blame = functions_.blame;
    if (!blame.ranks.empty() || of_a_link(blame)) return blame;
    for (const std::int32_t node : blame.nodes) {
        const std::vector<Rank> ranks = levers.ranks_of(node);
        blame.ranks.insert(blame.ranks.end(), ranks.begin(), ranks.end());
    }
    return blame;
}

}  // namespace

std::unique_ptr<Fault> make_simple_fault(const FaultSpec& spec, FaultFunctions functions) {
    return std::make_unique<SimpleFault>(spec.kind, std::move(functions));
}

std::unique_ptr<Fault> make_alteration(const FaultSpec& spec, const Alteration& alteration) {
    return make_simple_fault(spec, {.apply =
                                        [alteration](Levers& levers, Rank rank) {
                                            return levers.pull(AlterCall{rank, alteration});
                                        },
                                    .blame = aimed(spec)});
}

results::Blame aimed(const FaultSpec& spec, results::Blame blame) {
    for (const std::int64_t rank : spec.ranks()) blame.ranks.push_back(static_cast<Rank>(rank));
    for (const int node : nodes_of(spec)) blame.nodes.push_back(node);
    return blame;
}

std::vector<int> nodes_of(const FaultSpec& spec) {
    const auto found = spec.parameters.find("node");
    if (found == spec.parameters.end()) return {};
    std::vector<int> nodes;
    for (const std::int64_t node : found->second.list) nodes.push_back(static_cast<int>(node));
    return nodes;
}

int node_count(const Levers& levers) {
    int nodes = 0;
    for (Rank rank = 0; rank < levers.ranks(); ++rank) nodes = std::max(nodes, levers.node_of(rank) + 1);
    return nodes;
}

Time duration(const FaultSpec& spec, std::string_view name) { return Time(spec.number(name)); }

// ── Looks the kind up, fills in defaults, and lists the ranks that have an occasion of their own.

namespace {

std::vector<std::string> known_kinds(const FaultCatalog& catalog) {
    std::vector<std::string> names;
    for (const FaultRow& kind : catalog) names.push_back(kind.words.name);
    return names;
}

tl::unexpected<scenarios::Error> refuse_kind(const FaultCatalog& catalog, const std::string& kind) {
    const std::string near = scenarios::nearest(kind, known_kinds(catalog));
    return scenarios::refuse(
        scenarios::ErrorCode::bad_input, fmt::format("there is no fault '{}'", kind),
        near.empty() ? "`deadrank list --faults` names them all" : fmt::format("did you mean '{}'?", near));
}

scenarios::Result<void> write_defaults(scenarios::FaultSpec& spec, const scenarios::Kind& words) {
    for (const scenarios::Parameter& parameter : words.parameters) {
        if (spec.parameters.count(parameter.name) > 0 || parameter.optional) continue;
        if (parameter.fallback.empty()) {
            return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                     fmt::format("fault '{}' lacks '{}'", words.name, parameter.name),
                                     parameter.what);
        }
        const auto value = scenarios::parse_value(parameter.type, parameter.fallback);
        if (!value) return tl::unexpected(value.error());
        spec.parameters.emplace(parameter.name, *value);
    }
    return {};
}

// A fault that alters calls needs one to be under way, and one that kills needs a process: they wait for it
// even where `when` names none. A step is implied already where a place is named.
void aim(scenarios::Trigger& when, const FaultRow& kind) {
    const bool anywhere = from_start(when) && !when.at_start;
    const bool call = !kind.awaits.empty() && kind.awaits != "step";
    if (call) when.at_start = false;
    if (when.before.empty() && (call || (anywhere && !kind.awaits.empty()))) when.before = kind.awaits;
}

}  // namespace

const FaultRow* find_fault(const FaultCatalog& catalog, std::string_view name) {
    for (const FaultRow& kind : catalog) {
        if (kind.words.name == name) return &kind;
    }
    return nullptr;
}

scenarios::Result<PlannedFault> make_fault(const FaultCatalog& catalog, const scenarios::FaultSpec& spec) {
    const FaultRow* kind = find_fault(catalog, spec.kind);
    if (!kind) return refuse_kind(catalog, spec.kind);
    PlannedFault planned{.spec = spec};
    if (const auto written = write_defaults(planned.spec, kind->words); !written)
        return tl::unexpected(written.error());
    aim(planned.spec.when, *kind);
    planned.fault = kind->make(planned.spec);
    planned.rhythm = planned.fault->rhythm();
    if (planned.spec.parameters.count("rank") == 0) planned.ranks = {results::no_rank};
    for (const std::int64_t rank : planned.spec.ranks()) planned.ranks.push_back(static_cast<Rank>(rank));
    return planned;
}

namespace {

// Whether the moment at which the fault acts can be a collective call or a message.
bool acts_at_a_call(const scenarios::Trigger& when) {
    const std::string_view call = implied_call(when);
    const bool family = call == "collective" || call == "message" || call == "communication";
    return by_clock(when) || family || results::op_named(call) != results::Op::none;
}

}  // namespace

scenarios::BlameFields nameable_fields(const FaultCatalog& catalog, const scenarios::FaultSpec& spec) {
    if (spec.provokes) return {};
    const auto planned = make_fault(catalog, spec);
    if (!planned) return {};
    const results::Blame& aim = planned->fault->aim();
    scenarios::BlameFields fields;
    const auto add = [&](bool known, BlameField field) {
        if (known) fields.push_back(field);
    };
    add(!aim.ranks.empty() || (!aim.nodes.empty() && !of_a_link(aim)), BlameField::rank);
    add(!aim.ranks.empty() || !aim.nodes.empty(), BlameField::node);
    add(true, BlameField::step);
    add(!aim.variable.empty(), BlameField::variable);
    add(!aim.component.empty(), BlameField::component);
    add(!aim.collective.empty() || acts_at_a_call(planned->spec.when), BlameField::collective);
    add(!aim.shard.empty(), BlameField::shard);
    return fields;
}

}  // namespace deadrank::inject
