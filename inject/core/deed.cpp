// inject/core/deed.cpp — The fault behind a deed, and how it aims.
#include "inject/core/deed.h"

#include <algorithm>

namespace deadrank::inject {

namespace {

class DeedFault final : public Fault {
public:
    DeedFault(std::string kind, Deed deed) : kind_(std::move(kind)), deed_(std::move(deed)) {}

    std::string_view kind() const override { return kind_; }
    Result<Done> apply(Levers& levers, Rank rank) override { return deed_.apply(levers, rank); }
    results::Blame blame(const Levers& levers) const override;
    Rhythm rhythm() const override { return deed_.rhythm; }

    void revert(Levers& levers, Rank rank) noexcept override {
        try {
            if (deed_.revert) deed_.revert(levers, rank);
        } catch (...) {  // the backend is being torn down; nothing is left to undo there
        }
    }

private:
    std::string kind_;
    Deed deed_;
};

// Whoever breaks a node breaks its ranks; a link breaks neither end.
results::Blame DeedFault::blame(const Levers& levers) const {
    results::Blame blame = deed_.blame;
    if (!blame.ranks.empty() || blame.component.find("link") != std::string::npos) return blame;
    for (const std::int32_t node : blame.nodes) {
        const std::vector<Rank> ranks = levers.ranks_of(node);
        blame.ranks.insert(blame.ranks.end(), ranks.begin(), ranks.end());
    }
    return blame;
}

}  // namespace

std::unique_ptr<Fault> make_deed(const FaultSpec& spec, Deed deed) {
    return std::make_unique<DeedFault>(spec.kind, std::move(deed));
}

std::unique_ptr<Fault> make_alteration(const FaultSpec& spec, const Alteration& alteration) {
    return make_deed(spec, {.apply =
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

}  // namespace deadrank::inject
