// results/diagnosis/clue.cpp — The table of clues by file; all of them are asked about every finding.
#include "results/diagnosis/clue.h"

#include <algorithm>

namespace deadrank::results::diagnosis {

std::vector<Clue> clues_in(const Evidence& evidence, const Finding& finding) {
    Clues clues;
    environment_clues(evidence, finding, clues);
    machine_clues(evidence, finding, clues);
    communication_clues(evidence, finding, clues);
    value_clues(evidence, finding, clues);
    state_clues(evidence, finding, clues);
    return clues;
}

std::vector<std::string_view> all_clues() {
    // clang-format off
    return {
        // environment_clues
        "version_differs", "version_changed_at_restart", "variable_blamed", "variable_differs",
        "variable_absent", "setting_differs", "seeds_differ", "package_failed", "package_failed_on_some",
        "endpoint_refused", "endpoint_blamed", "device_refused", "interface_unroutable",
        // machine_clues
        "device_error_logged", "device_throttled", "every_device_capped", "link_troubled", "node_vanished",
        "memory_ran_out", "memory_grew", "memory_never_fitted", "killed", "exited_in_error", "nobody_ended",
        "finished_early", "finished_all_steps",
        // communication_clues
        "circle", "call_left_out", "call_differs", "call_nobody_else_makes", "served_apart",
        "went_another_way", "silent_between_calls", "culprit_waits_too", "everybody_came",
        "everybody_came_to_set_up", "members_disagree", "members_outside", "point_to_point", "subgroup",
        "ranks_never_started", "claimed_twice", "ranks_permuted", "serving",
        // value_clues
        "off_by_a_factor", "off_by_one_bit", "not_finite", "wrong_at_the_first_step", "wrong_later",
        "wrong_everywhere", "wrong_on_one_rank", "shards_overlap", "calls_fewer", "calls_equal",
        "constant_quantity_wrong", "random_numbers_drawn", "answers_differ", "right_in_the_first_step_only",
        // state_clues
        "batches_differ", "samples_repeat", "after_restart", "layout_changed", "storage_refused",
        "bytes_never_written", "asked_beyond_a_whole_save", "newer_save_passed_over", "nothing_in_it",
        "last_stage_slow",
    };
    // clang-format on
}

bool blamed(const Finding& finding, Rank rank) {
    const auto& ranks = finding.blame.ranks;
    return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace deadrank::results::diagnosis
