// results/analysis/exception_words.cpp — A table of words, the specific before the general: the first row
// with a word of the exception decides. Some words name a cause by themselves; the others are what is left to
// suppose where the run as a whole is known.
#include "results/analysis/exception_words.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "results/analysis/error_quote.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::analysis {

using scenarios::Cause;

namespace {

constexpr Cause misused_cause = Cause::misused_framework_api,
                derived_cause = Cause::rank_or_device_derivation_error,
                settings_cause = Cause::misconfigured_resource_or_distributed_settings,
                versions_cause = Cause::dependency_or_hardware_mismatch,
                group_cause = Cause::group_construction_error,
                model_cause = Cause::framework_model_incompatibility,
                race_cause = Cause::stream_or_buffer_race, numbers_cause = Cause::numeric_edge_case_error,
                shards_cause = Cause::shard_layout_or_offset_error,
                stale_cause = Cause::stale_or_missing_state_update,
                variable_cause = Cause::misconfigured_environment_variable,
                divergent_cause = Cause::rank_divergent_control_flow,
                misaligned_cause = Cause::misaligned_parameters_tensors_or_model_structure;

struct Row {
    std::size_t naming;                     // so many of the words name the first cause by themselves
    std::array<std::string_view, 8> words;  // any of them; the rest is empty
    std::array<Cause, 3> causes;
};

constexpr Row rows[] = {
    // torch's CUDA Stream Sanitizer
    {1, {"CUDASanitizerErrors"}, {race_cause}},
    {3,
     {"did not receive grad", "finished reduction in the prior iteration", "unused parameters", "no gradient",
      "gradients None"},
     {misused_cause, model_cause, divergent_cause}},
    // a function and its arguments
    {6,
     {"unexpected keyword argument", "unrecognized arguments", "required positional argument",
      "positional arguments but", "required keyword-only argument", "got multiple values for argument"},
     {versions_cause, misused_cause}},
    // a number of a rank
    {3,
     {"invalid rank", "Invalid rank", "is out of bounds for mesh", "is not part of group", "Global rank",
      "source rank", "destination rank", "local_rank"},
     {derived_cause, group_cause, misused_cause}},
    {0, {"KeyError: '"}, {variable_cause, misaligned_cause, misused_cause}},
    {0, {"KeyError: "}, {derived_cause, misaligned_cause, misused_cause}},
    // a device
    {1,
     {"No backend type associated with device", "backend does not support"},
     {misused_cause, derived_cause, versions_cause}},
    {2,
     {"invalid device", "device ordinal", "not on device", "same device", "invalid resource handle",
      "CUDA_VISIBLE_DEVICES"},
     {derived_cause, misused_cause, versions_cause}},
    // what this release, library or device cannot do
    {2,
     {"is deprecated", "was removed", "no support for", "not supported", "not support", "NotImplementedError",
      "not implemented", "to be aligned"},
     {versions_cause, model_cause, misused_cause}},
    // groups, and the order of calls
    {0,
     {"device_mesh", "DeviceMesh", "mesh_dim", "process group", "ProcessGroup"},
     {misused_cause, group_cause, settings_cause}},
    {4,
     {"before calling", "must be called", "already initialized", "not initialized", "twice", "already been",
      "has not been", "must be specified"},
     {misused_cause, divergent_cause}},
    // sizes that have to agree
    {5,
     {"train_batch_size", "should be divisible", "must be divisible", "not divisible", "is not divisible",
      "world_size", "world size", "cannot reshape array"},
     {settings_cause, derived_cause, shards_cause}},
    // numbers at their edges
    {7,
     {"ZeroDivisionError", "division by zero", "OverflowError", "FloatingPointError", "overflow", "(nan)",
      "numel: 0", "out of range"},
     {numbers_cause, settings_cause, divergent_cause}},
    // files that several processes make
    {0,
     {"FileExistsError", "File exists", "could not acquire", "PermissionError"},
     {misused_cause, divergent_cause}},
    // something is not there, or of another kind
    {0, {"NoneType"}, {stale_cause, numbers_cause, misused_cause}},
    {0, {"has no attribute"}, {versions_cause, misused_cause}},
    {0, {"TypeError"}, {misaligned_cause, versions_cause, misused_cause}},
};

std::vector<Cause> listed(const Row& row) {
    std::vector<Cause> list(row.causes.begin(), row.causes.end());
    std::erase(list, Cause::none);
    return list;
}

// "KeyError: 'NODE_LIST'": a key in capitals is the name of a variable. Any other key a dictionary may lack.
bool misses_variable(std::string_view said) {
    constexpr std::string_view before = "KeyError: '";
    const std::size_t at = said.find(before);
    if (at == std::string_view::npos) return false;
    std::string_view key = said.substr(at + before.size());
    key = key.substr(0, key.find('\''));
    bool any = false;
    for (const char c : key) {
        any |= c >= 'A' && c <= 'Z';
        if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_') return false;
    }
    return any;
}

// What a library's exception demands of the job's settings.
constexpr std::string_view demands[] = {"lease set ",         "lease specify", "must specify",
                                        "must be specified",  "need to set ",  "in the config",
                                        "only supported with"};

}  // namespace

std::vector<std::string> list_exception_causes(std::string_view text, bool everybody) {
    const std::string_view said = find_key_line(text);
    std::vector<Cause> causes;
    const auto speaks = [&](std::string_view word) {
        return !word.empty() && said.find(word) != std::string_view::npos;
    };
    for (const Row& row : rows) {
        if (!std::any_of(row.words.begin(), row.words.end(), speaks)) continue;
        causes = listed(row);
        break;
    }
    if (causes.empty()) causes = {numbers_cause, misused_cause, versions_cause};
    // What depends on a rank's own data comes first where not all raised it, and last where all did.
    const auto own = std::find(causes.begin(), causes.end(), divergent_cause);
    if (own != causes.end() && !everybody) std::rotate(causes.begin(), own, own + 1);
    std::vector<std::string> ids;
    std::transform(causes.begin(), causes.end(), std::back_inserter(ids),
                   [](Cause cause) { return std::string(id_of(cause)); });
    return ids;
}

Cause find_named_cause(std::string_view text, bool own_program) {
    const std::string_view said = find_key_line(text);
    const auto speaks = [&](std::string_view word) { return said.find(word) != std::string_view::npos; };
    if (misses_variable(said)) return Cause::misconfigured_environment_variable;
    const auto demanded = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
    if (std::any_of(std::begin(demands), std::end(demands), demanded))
        return Cause::misconfigured_resource_or_distributed_settings;
    for (const Row& row : rows) {
        if (!std::any_of(row.words.begin(), row.words.begin() + row.naming, speaks)) continue;
        const bool slip = own_program && row.causes[0] == Cause::dependency_or_hardware_mismatch;
        return slip ? Cause::none : row.causes[0];
    }
    return Cause::none;
}

}  // namespace deadrank::results::analysis
