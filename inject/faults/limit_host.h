// inject/faults/limit_host.h — A node grants less than the job needs: a container's shared memory, a memory
// limit, open files.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind limit_host() {
    return {{.name = "limit_host",
             .what = "Memory, shared memory or open files of a node are limited.",
             .parameters = {node_parameter(),
                            {"host_memory", ValueType::bytes, "", "bytes of memory", {}, true},
                            {"shared_memory", ValueType::bytes, "", "bytes of /dev/shm", {}, true},
                            {"open_files", ValueType::integer, "", "open files of a process", {}, true}},
             .levers = {"change_host.limits"}},
            [](const FaultSpec& spec) {
                const auto given = [spec](std::string_view name) -> std::optional<std::int64_t> {
                    if (spec.parameters.count(std::string(name)) == 0) return {};
                    return spec.number(name);
                };
                const auto set = [nodes = nodes_of(spec)](Levers& levers, const HostChange& change) {
                    return for_each(nodes, [&](int node) { return levers.change_host(node, change); });
                };
                return make_deed(spec, {.apply =
                                            [set, given](Levers& levers, Rank) {
                                                return set(levers,
                                                           {given("host_memory"), given("shared_memory"),
                                                            given("open_files")});
                                            },
                                        .revert =
                                            [set](Levers& levers, Rank) {
                                                (void)set(levers, {-1, -1, -1});
                                            },
                                        .blame = aimed(spec, {.component = "host"})});
            }};
}

}  // namespace deadrank::inject
