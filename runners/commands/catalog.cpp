// runners/commands/catalog.cpp — The commands, one line each, in the order of `deadrank --help`.
#include "runners/commands/command.h"

namespace deadrank::runners::commands {

extern const CommandRow run_row, list_row, explain_row, learn_row, plan_row, replay_row, determinism_row,
    judge_row, diagnose_row, parity_row, resilience_row, campaign_row, sweep_row, storm_row, swarm_row,
    shrink_row, trace_row, probe_row, alerts_row, serve_row, score_row, emit_row, import_row, ras_row,
    conformance_row, doctor_row, undo_row, coverage_row, taxonomy_row, new_row, schema_row, manual_row,
    version_row, completion_row;

const std::vector<const CommandRow*>& all_commands() {
    // clang-format off
    static const std::vector<const CommandRow*> rows = {
        &run_row,
        &list_row,
        &explain_row,
        &learn_row,
        &plan_row,
        &replay_row,
        &determinism_row,
        &judge_row,
        &diagnose_row,
        &parity_row,
        &resilience_row,
        &campaign_row,
        &sweep_row,
        &storm_row,
        &swarm_row,
        &shrink_row,
        &trace_row,
        &probe_row,
        &alerts_row,
        &serve_row,
        &score_row,
        &emit_row,
        &import_row,
        &ras_row,
        &conformance_row,
        &doctor_row,
        &undo_row,
        &coverage_row,
        &taxonomy_row,
        &new_row,
        &schema_row,
        &manual_row,
        &version_row,
        &completion_row,
    };
    // clang-format on
    return rows;
}

}  // namespace deadrank::runners::commands
