// inject/faults/machines.cpp — Setting one state on all that a fault aims at.
#include "inject/faults/machines.h"

namespace deadrank::inject {

std::unique_ptr<Fault> make_device_fault(const FaultSpec& spec, const DeviceChange& broken,
                                         const DeviceChange& whole, std::string component) {
    return make_deed(
        spec, {.apply = [broken](Levers& levers, Rank rank) { return levers.change_device(rank, broken); },
               .revert = [whole](Levers& levers, Rank rank) { (void)levers.change_device(rank, whole); },
               .blame = aimed(spec, {.component = std::move(component)})});
}

std::unique_ptr<Fault> make_host_fault(const FaultSpec& spec, const HostChange& broken,
                                       const HostChange& whole, std::string component) {
    const auto set = [nodes = nodes_of(spec)](Levers& levers, Rank rank, const HostChange& change) {
        if (rank >= 0) return levers.change_host(levers.node_of(rank), change);
        return for_each(nodes, [&](int node) { return levers.change_host(node, change); });
    };
    return make_deed(spec,
                     {.apply = [set, broken](Levers& levers, Rank rank) { return set(levers, rank, broken); },
                      .revert = [set, whole](Levers& levers, Rank rank) { (void)set(levers, rank, whole); },
                      .blame = aimed(spec, {.component = std::move(component)})});
}

std::unique_ptr<Fault> make_storage_fault(const FaultSpec& spec, std::string what, std::int64_t amount,
                                          StorageFault how) {
    StorageChange change{.path = spec.text("path"), .what = std::move(what), .amount = amount};
    Deed deed{.apply = [change](Levers& levers, Rank) { return levers.change_storage(change); },
              .blame = {.component = "storage", .shard = change.path}};
    if (how == StorageFault::lasts) {
        change.end = true;
        deed.revert = [change](Levers& levers, Rank) { (void)levers.change_storage(change); };
    }
    return make_deed(spec, std::move(deed));
}

}  // namespace deadrank::inject
