// scenarios/model/taxonomy_ids.h — The ids of scenarios/taxonomy.toml as types, so that a misspelt one does not
// compile. A test compares them with the file. Scenarios and findings keep ids as texts: extensions and other
// people's detectors may name others.
#pragma once

#include <cstdint>
#include <string_view>

namespace deadrank::scenarios {

// clang-format off
#define DEADRANK_SYMPTOMS(X) \
    X(build_or_install_failure) \
    X(import_or_symbol_error) \
    X(communication_setup_failure) \
    X(communication_setup_hang) \
    X(wrong_rank_or_group_membership) \
    X(wrong_device_used) \
    X(model_or_data_loading_failure) \
    X(ci_or_test_failure) \
    X(collective_mismatch_error) \
    X(collective_timeout_abort) \
    X(collective_deadlock_hang) \
    X(remote_peer_connection_error) \
    X(collective_transport_degraded) \
    X(tensor_shape_or_dtype_error) \
    X(native_crash_or_illegal_access) \
    X(framework_runtime_exception) \
    X(loss_nan_or_divergence) \
    X(wrong_intermediate_value) \
    X(parallel_result_mismatch) \
    X(replica_state_divergence) \
    X(inference_output_inconsistency_across_devices) \
    X(device_out_of_memory) \
    X(unbalanced_rank_memory) \
    X(host_resource_exhaustion) \
    X(checkpoint_save_failure) \
    X(checkpoint_unreadable) \
    X(reshard_restore_failure) \
    X(resume_state_regression) \
    X(restart_or_recovery_failure) \
    X(device_fault_reported) \
    X(straggler_step_time_skew) \
    X(low_throughput_uniform) \
    X(unexpected_parallelization) \
    X(wrong_sample_coverage)

#define DEADRANK_CAUSES(X) \
    X(misconfigured_resource_or_distributed_settings) \
    X(faulty_inference_logic) \
    X(dependency_or_hardware_mismatch) \
    X(misused_framework_api) \
    X(framework_model_incompatibility) \
    X(misaligned_parameters_tensors_or_model_structure) \
    X(misconfigured_environment_variable) \
    X(version_skew_across_ranks) \
    X(rendezvous_store_or_endpoint_error) \
    X(network_path_or_topology_misselection) \
    X(rank_or_device_derivation_error) \
    X(group_construction_error) \
    X(rank_divergent_control_flow) \
    X(communication_order_divergence) \
    X(unpropagated_rank_failure) \
    X(hardware_or_link_fault) \
    X(gradient_scaling_or_reduction_error) \
    X(shard_layout_or_offset_error) \
    X(rng_or_seed_coordination_error) \
    X(numeric_edge_case_error) \
    X(stale_or_missing_state_update) \
    X(stream_or_buffer_race) \
    X(memory_placement_or_lifetime_error) \
    X(non_durable_checkpoint_commit) \
    X(incomplete_checkpoint_state) \
    X(layout_dependent_checkpoint_format) \
    X(uneven_work_or_data_partition) \
    X(rank_local_slowdown)
// clang-format on

#define DEADRANK_NAME(id) id,
#define DEADRANK_TEXT(id) #id,

enum class Symptom : std::uint8_t { none, DEADRANK_SYMPTOMS(DEADRANK_NAME) };
enum class Cause : std::uint8_t { none, DEADRANK_CAUSES(DEADRANK_NAME) };

inline constexpr const char* symptom_ids[] = {"", DEADRANK_SYMPTOMS(DEADRANK_TEXT)};
inline constexpr const char* cause_ids[] = {"", DEADRANK_CAUSES(DEADRANK_TEXT)};

#undef DEADRANK_NAME
#undef DEADRANK_TEXT

// The id as the taxonomy writes it; of none an empty text.
constexpr const char* id_of(Symptom symptom) { return symptom_ids[static_cast<std::size_t>(symptom)]; }
constexpr const char* id_of(Cause cause) { return cause_ids[static_cast<std::size_t>(cause)]; }

// Symptom::none if the taxonomy has no such id.
constexpr Symptom symptom_of(std::string_view id) {
    for (std::size_t i = 1; i < std::size(symptom_ids); ++i) {
        if (symptom_ids[i] == id) return static_cast<Symptom>(i);
    }
    return Symptom::none;
}

constexpr bool operator==(std::string_view id, Symptom symptom) { return id == id_of(symptom); }
constexpr bool operator==(std::string_view id, Cause cause) { return id == id_of(cause); }

}  // namespace deadrank::scenarios
