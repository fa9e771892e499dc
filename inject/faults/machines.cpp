// inject/faults/machines.cpp — Setting one state on all that a fault aims at.
#include "inject/faults/machines.h"

namespace deadrank::inject {

std::unique_ptr<Fault> make_device_fault(const FaultSpec& spec, const DeviceChange& broken,
                                         const DeviceChange& whole, std::string component) {
    return make_deed(spec, {.apply =
                                [broken](Levers& levers, Rank rank) {
                                    return levers.pull(ChangeDevice{rank, broken});
                                },
                            .revert =
                                [whole](Levers& levers, Rank rank) {
                                    (void)levers.pull(ChangeDevice{rank, whole});
                                },
                            .blame = aimed(spec, {.component = std::move(component)})});
}

std::unique_ptr<Fault> make_host_fault(const FaultSpec& spec, const HostChange& broken,
                                       const HostChange& whole, std::string component) {
    const auto set = [nodes = nodes_of(spec)](Levers& levers, Rank rank, const HostChange& change) {
        if (rank >= 0) return levers.pull(ChangeHost{levers.node_of(rank), change});
        return for_each(nodes, [&](int node) { return levers.pull(ChangeHost{node, change}); });
    };
    return make_deed(spec,
                     {.apply = [set, broken](Levers& levers, Rank rank) { return set(levers, rank, broken); },
                      .revert = [set, whole](Levers& levers, Rank rank) { (void)set(levers, rank, whole); },
                      .blame = aimed(spec, {.component = std::move(component)})});
}

std::unique_ptr<Fault> make_storage_fault(const FaultSpec& spec, StorageTrouble what, std::int64_t amount,
                                          StorageFault how) {
    StorageChange change{.path = spec.text("path"), .what = what, .amount = amount};
    Deed deed{.apply = [change](Levers& levers, Rank) { return levers.pull(ChangeStorage{change}); },
              .blame = {.component = "storage", .shard = change.path}};
    if (how == StorageFault::lasts) {
        change.end = true;
        deed.revert = [change](Levers& levers, Rank) { (void)levers.pull(ChangeStorage{change}); };
    }
    return make_deed(spec, std::move(deed));
}

}  // namespace deadrank::inject
