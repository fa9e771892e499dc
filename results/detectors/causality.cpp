// results/detectors/causality.cpp — A row for each symptom of the taxonomy, with an example. The order within
// a layer is that of the weights.
#include "results/detectors/causality.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results {

using scenarios::Symptom;

namespace {

using namespace std::chrono_literals;

constexpr CausalityRule rules[] = {
    // nvcc fails on rank 2 at 0:04, whose import of the extension then fails: one finding, the build.
    {Symptom::build_or_install_failure, Layer::startup, 0, 1s},
    // Rank 5 cannot import flash_attn at 0:06; at 0:09 rank 0 misses a client of its store.
    {Symptom::import_or_symbol_error, Layer::startup, 1, 1s},
    // Ranks 2 and 3 both took local rank 0; NCCL then reports a duplicate GPU.
    {Symptom::wrong_rank_or_group_membership, Layer::startup, 2, 1s},
    // Rank 1 finds no network interface; ranks 0, 2 and 3 never leave the rendezvous.
    {Symptom::communication_setup_failure, Layer::startup, 3, 1s},
    // All 4 ranks use device 0, which is full after the third model: out of memory follows.
    {Symptom::wrong_device_used, Layer::startup, 4, 1s},
    // Rank 3 has no tokenizer at 0:20; its peers wait in their first barrier.
    {Symptom::model_or_data_loading_failure, Layer::startup, 5, 1s},
    // tp = 4 was asked, each rank is alone in its group: the loss differs for that reason.
    {Symptom::unexpected_parallelization, Layer::startup, 6, 1s},
    // Ranks 0 to 6 wait 90 s for rank 7 before the alarm: what rank 7 reported in that time explains it.
    {Symptom::communication_setup_hang, Layer::startup, 7, 90s},

    // XID 79 of rank 4 at 7:00; at 7:00.2 rank 4 fails with a launch error, which says less.
    {Symptom::device_fault_reported, Layer::failure, 0, 1s},
    // Rank 0 is out of memory in step 12; NCCL on ranks 1 to 3 reports a lost peer.
    {Symptom::device_out_of_memory, Layer::failure, 1, 1s},
    // A loader of rank 2 is killed for memory; rank 2 raises "DataLoader worker exited".
    {Symptom::host_resource_exhaustion, Layer::failure, 2, 1s},
    // No space is left for rank 0 in step 100; the exception of its trainer follows at once.
    {Symptom::checkpoint_save_failure, Layer::failure, 3, 1s},
    // Shard 3 is cut; rank 3 raises while it loads, and the restart fails for that.
    {Symptom::checkpoint_unreadable, Layer::failure, 4, 1s},
    // Saved by 8 ranks, loaded by 4: missing keys on each, then an exception on each.
    {Symptom::reshard_restore_failure, Layer::failure, 5, 1s},
    // Rank 1 calls all_gather, ranks 0, 2 and 3 all_reduce; the crash of all is its consequence.
    {Symptom::collective_mismatch_error, Layer::failure, 6, 1s},
    // Rank 2 gets [4, 7] for [4, 8] and raises; the peers time out in the next call.
    {Symptom::tensor_shape_or_dtype_error, Layer::failure, 7, 1s},
    // The test run reports 1 failed: whatever else was found is covered by its report.
    {Symptom::ci_or_test_failure, Layer::failure, 8, 1s},
    // Three restarts fail within 15 min: the failure before the first of them explains this.
    {Symptom::restart_or_recovery_failure, Layer::failure, 9, 15min},
    // Signal 11 on rank 6 says little: an XID of the same second is the cause.
    {Symptom::native_crash_or_illegal_access, Layer::failure, 10, 1s},
    // A ValueError on rank 0 at 3:00.4, behind a refused shape at 3:00.1: the shape stays.
    {Symptom::framework_runtime_exception, Layer::failure, 11, 1s},

    // Ranks 0 to 2 lose rank 3 at 5:00.1, which was out of memory at 5:00.0.
    {Symptom::remote_peer_connection_error, Layer::consequence, 0, 1s},
    // The watchdog of rank 0 fires at 40:00 after 30 min: the crash of rank 3 at 9:58 explains it.
    {Symptom::collective_timeout_abort, Layer::consequence, 1, 31min},
    // Ranks 0 and 1 have waited 90 s for rank 2 at the alarm: its exception 80 s before explains it.
    {Symptom::collective_deadlock_hang, Layer::consequence, 2, 90s},

    // Parameters of rank 1 differ in step 5; the loss differs in step 6 for that.
    {Symptom::replica_state_divergence, Layer::value, 0, 1s},
    // The gradient norm of rank 0 is half in step 5; the replicas differ in the same step: those decide.
    {Symptom::wrong_intermediate_value, Layer::value, 1, 1s},
    // The loss is NaN in step 9; the gradient was wrong in step 8, and is the cause.
    {Symptom::loss_nan_or_divergence, Layer::value, 2, 1s},
    // With tp = 2 the loss is off by 3 % from step 1 on; NaN in step 40 follows.
    {Symptom::parallel_result_mismatch, Layer::value, 3, 1s},
    // Rank 1 answers another token than rank 0; in the same step its logits are wrong: those decide.
    {Symptom::inference_output_inconsistency_across_devices, Layer::value, 4, 1s},
    // After the resume in step 50 the learning rate is that of step 0; a jump of the loss follows.
    {Symptom::resume_state_regression, Layer::value, 5, 1s},
    // Samples 0 to 63 are read twice from step 8 on: a loss that differs in step 3 does not follow from it.
    {Symptom::wrong_sample_coverage, Layer::value, 6, 1s},

    // Rank 3 takes 2 s for a step, all others wait for it: that throughput is low follows.
    {Symptom::straggler_step_time_skew, Layer::speed, 0, 1s},
    // All reduces run at 3 GB/s instead of 40 on all ranks: steps are long for that.
    {Symptom::collective_transport_degraded, Layer::speed, 1, 1s},
    // Each step takes 1.8 s instead of 1.0 s on all 8 ranks, and no call is slow.
    {Symptom::low_throughput_uniform, Layer::speed, 2, 1s},
    // Rank 0 holds 60 GB, its peers 30 GB: it explains no other finding of speed.
    {Symptom::unbalanced_rank_memory, Layer::speed, 3, 1s},
};

constexpr CausalityRule unknown = {Symptom::none, Layer::none, 0, 1s};

}  // namespace

const CausalityRule& causality_of(const Finding& finding) {
    const Symptom symptom = scenarios::symptom_of(finding.symptom);
    const auto found = std::find_if(std::begin(rules), std::end(rules),
                                    [&](const CausalityRule& rule) { return rule.symptom == symptom; });
    return found == std::end(rules) ? unknown : *found;
}

}  // namespace deadrank::results
