// tests/support/beyond_the_start.h — What a preflight cannot tell: the plugins that are there, an option of
// the job that a package no longer takes, which network was meant where all ranks agree on one, that a
// release which all ranks have is slower than the one before, and what of another package a program calls.
#pragma once

#include <set>
#include <string>

#include "scenarios/model/scenario.h"

namespace deadrank::tests {

inline bool needs_more_than_the_start(const scenarios::Scenario& scenario) {
    static const std::set<std::string> ids = {"initialization/net_plugin_of_another_cloud",
                                              "fault_tolerance/writer_uses_a_removed_shard_format",
                                              "communication/sockets_although_ports_stand_idle",
                                              "communication/bandwidth_drops_after_library_upgrade",
                                              "scheduling/slower_since_the_framework_upgrade",
                                              "fault_tolerance/optimizer_files_refused_by_a_new_default",
                                              "initialization/framework_imports_a_module_that_is_gone",
                                              "initialization/trainer_passes_an_argument_that_was_removed"};
    return ids.contains(scenario.id);
}

}  // namespace deadrank::tests
