// results/analysis/exception_words.cpp — A table of words, the specific before the general: the first row
// with a word of the exception decides.
#include "results/analysis/exception_words.h"

#include <algorithm>
#include <array>

#include "results/analysis/error_quote.h"

namespace deadrank::results::analysis {

namespace {

constexpr std::string_view misused = "misused_framework_api", derived = "rank_or_device_derivation_error",
                           settings = "misconfigured_resource_or_distributed_settings",
                           versions = "dependency_or_hardware_mismatch", group = "group_construction_error",
                           model = "framework_model_incompatibility", numbers = "numeric_edge_case_error",
                           shards = "shard_layout_or_offset_error", stale = "stale_or_missing_state_update",
                           variable = "misconfigured_environment_variable",
                           divergent = "rank_divergent_control_flow",
                           misaligned = "misaligned_parameters_tensors_or_model_structure";

struct Row {
    std::array<std::string_view, 8> words;  // any of them; the rest is empty
    std::array<std::string_view, 3> causes;
};

constexpr Row rows[] = {
    {{"did not receive grad", "finished reduction in the prior iteration", "no gradient", "gradients None",
      "unused parameters"},
     {misused, model, divergent}},
    // a function and its arguments
    {{"unexpected keyword argument", "unrecognized arguments", "required positional argument",
      "positional arguments but", "required keyword-only argument", "got multiple values for argument"},
     {versions, misused}},
    // a number of a rank
    {{"is not part of group", "is out of bounds for mesh", "Global rank", "source rank", "destination rank",
      "invalid rank", "Invalid rank", "local_rank"},
     {derived, group, misused}},
    {{"KeyError: '"}, {variable, misaligned, misused}},
    {{"KeyError: "}, {derived, misaligned, misused}},
    // a device
    {{"No backend type associated with device", "backend does not support"}, {misused, derived, versions}},
    {{"not on device", "same device", "invalid device", "device ordinal", "invalid resource handle",
      "CUDA_VISIBLE_DEVICES"},
     {derived, misused, versions}},
    // what this release, library or device cannot do
    {{"no support for", "not supported", "not support", "NotImplementedError", "not implemented",
      "is deprecated", "was removed", "to be aligned"},
     {versions, model, misused}},
    // groups, and the order of calls
    {{"device_mesh", "DeviceMesh", "mesh_dim", "process group", "ProcessGroup"}, {misused, group, settings}},
    {{"twice", "already been", "already initialized", "has not been", "before calling", "must be called",
      "must be specified", "not initialized"},
     {misused, divergent}},
    // sizes that have to agree
    {{"train_batch_size", "world_size", "world size", "cannot reshape array", "should be divisible",
      "must be divisible", "not divisible", "is not divisible"},
     {settings, derived, shards}},
    // numbers at their edges
    {{"ZeroDivisionError", "division by zero", "OverflowError", "FloatingPointError", "overflow", "(nan)",
      "out of range", "numel: 0"},
     {numbers, settings, divergent}},
    // files that several processes make
    {{"FileExistsError", "File exists", "could not acquire", "PermissionError"}, {misused, divergent}},
    // something is not there, or of another kind
    {{"NoneType"}, {stale, numbers, misused}},
    {{"has no attribute"}, {versions, misused}},
    {{"TypeError"}, {misaligned, versions, misused}},
};

std::vector<std::string> listed(const std::array<std::string_view, 3>& causes) {
    std::vector<std::string> list;
    for (const std::string_view cause : causes)
        if (!cause.empty()) list.emplace_back(cause);
    return list;
}

}  // namespace

std::vector<std::string> list_exception_causes(std::string_view text, bool everybody) {
    const std::string_view said = find_key_line(text);
    std::vector<std::string> causes = {std::string(numbers), std::string(misused), std::string(versions)};
    const auto speaks = [&](std::string_view word) {
        return !word.empty() && said.find(word) != std::string_view::npos;
    };
    for (const Row& row : rows) {
        if (!std::any_of(row.words.begin(), row.words.end(), speaks)) continue;
        causes = listed(row.causes);
        break;
    }
    // What depends on a rank's own data comes first where not all raised it, and last where all did.
    const auto own = std::find(causes.begin(), causes.end(), divergent);
    if (own != causes.end() && !everybody) std::rotate(causes.begin(), own, own + 1);
    return causes;
}

}  // namespace deadrank::results::analysis
