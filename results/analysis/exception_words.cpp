// results/analysis/exception_words.cpp — A table of words, the specific before the general: the first row
// with a word of the exception decides.
#include "results/analysis/exception_words.h"

#include <algorithm>
#include <array>

#include "results/analysis/error_quote.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::analysis {

using scenarios::Cause;

namespace {

constexpr std::string_view misused_cause = id_of(Cause::misused_framework_api),
                           derived_cause = id_of(Cause::rank_or_device_derivation_error),
                           settings_cause = id_of(Cause::misconfigured_resource_or_distributed_settings),
                           versions_cause = id_of(Cause::dependency_or_hardware_mismatch),
                           group_cause = id_of(Cause::group_construction_error),
                           model_cause = id_of(Cause::framework_model_incompatibility),
                           race_cause = id_of(Cause::stream_or_buffer_race),
                           numbers_cause = id_of(Cause::numeric_edge_case_error),
                           shards_cause = id_of(Cause::shard_layout_or_offset_error),
                           stale_cause = id_of(Cause::stale_or_missing_state_update),
                           variable_cause = id_of(Cause::misconfigured_environment_variable),
                           divergent_cause = id_of(Cause::rank_divergent_control_flow),
                           misaligned_cause = id_of(Cause::misaligned_parameters_tensors_or_model_structure);

struct Row {
    std::array<std::string_view, 8> words;  // any of them; the rest is empty
    std::array<std::string_view, 3> causes;
};

constexpr Row rows[] = {
    // torch's CUDA Stream Sanitizer
    {{"CUDASanitizerErrors"}, {race_cause}},
    {{"did not receive grad", "finished reduction in the prior iteration", "no gradient", "gradients None",
      "unused parameters"},
     {misused_cause, model_cause, divergent_cause}},
    // a function and its arguments
    {{"unexpected keyword argument", "unrecognized arguments", "required positional argument",
      "positional arguments but", "required keyword-only argument", "got multiple values for argument"},
     {versions_cause, misused_cause}},
    // a number of a rank
    {{"is not part of group", "is out of bounds for mesh", "Global rank", "source rank", "destination rank",
      "invalid rank", "Invalid rank", "local_rank"},
     {derived_cause, group_cause, misused_cause}},
    {{"KeyError: '"}, {variable_cause, misaligned_cause, misused_cause}},
    {{"KeyError: "}, {derived_cause, misaligned_cause, misused_cause}},
    // a device
    {{"No backend type associated with device", "backend does not support"},
     {misused_cause, derived_cause, versions_cause}},
    {{"not on device", "same device", "invalid device", "device ordinal", "invalid resource handle",
      "CUDA_VISIBLE_DEVICES"},
     {derived_cause, misused_cause, versions_cause}},
    // what this release, library or device cannot do
    {{"no support for", "not supported", "not support", "NotImplementedError", "not implemented",
      "is deprecated", "was removed", "to be aligned"},
     {versions_cause, model_cause, misused_cause}},
    // groups, and the order of calls
    {{"device_mesh", "DeviceMesh", "mesh_dim", "process group", "ProcessGroup"},
     {misused_cause, group_cause, settings_cause}},
    {{"twice", "already been", "already initialized", "has not been", "before calling", "must be called",
      "must be specified", "not initialized"},
     {misused_cause, divergent_cause}},
    // sizes that have to agree
    {{"train_batch_size", "world_size", "world size", "cannot reshape array", "should be divisible",
      "must be divisible", "not divisible", "is not divisible"},
     {settings_cause, derived_cause, shards_cause}},
    // numbers at their edges
    {{"ZeroDivisionError", "division by zero", "OverflowError", "FloatingPointError", "overflow", "(nan)",
      "out of range", "numel: 0"},
     {numbers_cause, settings_cause, divergent_cause}},
    // files that several processes make
    {{"FileExistsError", "File exists", "could not acquire", "PermissionError"},
     {misused_cause, divergent_cause}},
    // something is not there, or of another kind
    {{"NoneType"}, {stale_cause, numbers_cause, misused_cause}},
    {{"has no attribute"}, {versions_cause, misused_cause}},
    {{"TypeError"}, {misaligned_cause, versions_cause, misused_cause}},
};

std::vector<std::string> listed(const std::array<std::string_view, 3>& causes) {
    std::vector<std::string> list;
    for (const std::string_view cause : causes)
        if (!cause.empty()) list.emplace_back(cause);
    return list;
}

}  // namespace

std::vector<std::string> list_exception_causes(std::string_view text, bool everybody) {
    std::vector<std::string> causes = find_exception_causes(text, everybody);
    if (!causes.empty()) return causes;
    return {std::string(numbers_cause), std::string(misused_cause), std::string(versions_cause)};
}

std::vector<std::string> find_exception_causes(std::string_view text, bool everybody) {
    const std::string_view said = find_key_line(text);
    std::vector<std::string> causes;
    const auto speaks = [&](std::string_view word) {
        return !word.empty() && said.find(word) != std::string_view::npos;
    };
    for (const Row& row : rows) {
        if (!std::any_of(row.words.begin(), row.words.end(), speaks)) continue;
        causes = listed(row.causes);
        break;
    }
    // What depends on a rank's own data comes first where not all raised it, and last where all did.
    const auto own = std::find(causes.begin(), causes.end(), divergent_cause);
    if (own != causes.end() && !everybody) std::rotate(causes.begin(), own, own + 1);
    return causes;
}

}  // namespace deadrank::results::analysis
