// inject/faults/limit_host.h — A node grants less than the job needs: a container's shared memory, a memory
// limit, open files.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind limit_host() {
    return {{.name = "limit_host",
             .what = "Memory, shared memory or open files of a node are limited.",
             .parameters = {node_parameter(),
                            {"host_memory", ValueType::bytes, "", "bytes of memory", {}, true, 0},
                            {"shared_memory", ValueType::bytes, "", "bytes of /dev/shm", {}, true, 0},
                            {"open_files", ValueType::integer, "", "open files of a process", {}, true, 0}},
             .levers = {ChangeHost::limits}},
            [](const FaultSpec& spec) {
                const auto given = [&](const std::string& name) {
                    return spec.parameters.count(name) > 0 ? std::optional(spec.number(name)) : std::nullopt;
                };
                return make_host_fault(
                    spec,
                    {.host_memory_limit = given("host_memory"),
                     .shared_memory_limit = given("shared_memory"),
                     .open_files_limit = given("open_files")},
                    {.host_memory_limit = -1, .shared_memory_limit = -1, .open_files_limit = -1});
            }};
}

}  // namespace deadrank::inject
