// runners/commands/catalog.cpp — The commands, one line each, in the groups and the order of `deadrank
// --help`.
#include "runners/commands/command.h"

namespace deadrank::runners::commands {

extern const CommandRow run_row, watch_row, list_row, explain_row, learn_row, plan_row, replay_row,
    determinism_row, judge_row, diagnose_row, parity_row, resilience_row, campaign_row, sweep_row, storm_row,
    swarm_row, shrink_row, trace_row, probe_row, alerts_row, serve_row, score_row, emit_row, import_row,
    ras_row, conformance_row, doctor_row, undo_row, coverage_row, taxonomy_row, new_row, schema_row,
    manual_row, version_row, completion_row;

const std::vector<CommandGroup>& command_groups() {
    // clang-format off
    static const std::vector<CommandGroup> groups = {
        {"To play", {
            &run_row,
            &watch_row,
            &plan_row,
            &replay_row,
            &judge_row,
            &determinism_row,
            &trace_row,
        }},
        {"To find", {
            &sweep_row,
            &swarm_row,
            &shrink_row,
            &probe_row,
            &campaign_row,
            &storm_row,
        }},
        {"To judge", {
            &alerts_row,
            &serve_row,
            &score_row,
            &conformance_row,
            &emit_row,
            &import_row,
            &ras_row,
            &resilience_row,
            &parity_row,
            &diagnose_row,
            &doctor_row,
            &undo_row,
        }},
        {"To know", {
            &list_row,
            &explain_row,
            &taxonomy_row,
            &coverage_row,
            &learn_row,
            &new_row,
            &schema_row,
            &manual_row,
            &version_row,
            &completion_row,
        }},
    };
    // clang-format on
    return groups;
}

const std::vector<const CommandRow*>& all_commands() {
    static const std::vector<const CommandRow*> rows = [] {
        std::vector<const CommandRow*> all;
        for (const CommandGroup& group : command_groups()) {
            all.insert(all.end(), group.rows.begin(), group.rows.end());
        }
        return all;
    }();
    return rows;
}

}  // namespace deadrank::runners::commands
