// sim/workloads/settings.h — A workload's settings: a struct of which each member declares its own row, with
// name, default and meaning.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record/time.h"
#include "scenarios/model/error.h"
#include "scenarios/model/value.h"
#include "scenarios/model/vocabulary.h"
#include "sim/world/world.h"

namespace deadrank::sim {

// A workload's settings: a struct of which each member declares its own row, with name, default and meaning.
// Made from a plan it holds what the plan says, once for all ranks; made from a list it adds its rows to it.
// struct RingSettings : Settings { using Settings::Settings; std::int64_t rounds = integer("rounds", "4",
// "rounds of the token", 1); };
class Settings {
public:
    // One of both, while the struct is made.
    struct Source {
        Source(const scenarios::Values& said) : plan(&said) {}            // NOLINT: either will do
        Source(std::vector<scenarios::Parameter>& list) : rows(&list) {}  // NOLINT

        const scenarios::Values* plan = nullptr;
        std::vector<scenarios::Parameter>* rows = nullptr;
    };
    explicit Settings(Source source) : source_(source) {}

protected:
    using ValueType = scenarios::ValueType;
    using Text = std::string_view;

    // An empty default: it may be absent, and is 0 then. None is below `least`.
    // `needs`: a setting without which this one does nothing, or several, "a or b".
    std::int64_t integer(Text name, Text usual, Text what, std::int64_t least = 0, Text needs = {}) {
        return number({name, ValueType::integer, usual, what, least, needs});
    }
    // One that must divide another setting without a rest: what it cuts has parts of one size.
    std::int64_t dividing(Text name, Text usual, Text what, Text divides) {
        const Row row{.name = name, .type = ValueType::integer, .usual = usual, .what = what, .least = 1};
        const std::int64_t value = number(row);
        if (source_.rows) source_.rows->back().divides = divides;
        return value;
    }
    // A flag under which the parts of a cut differ in pairs: "batch/micro_batches/rounds".
    bool pairing(Text name, Text usual, Text what, Text cut) {
        const bool value = flag(name, usual, what);
        if (source_.rows) source_.rows->back().divides = cut;
        return value;
    }
    std::int64_t ratio(Text name, Text usual, Text what, Text needs = {}) {  // in parts per billion
        return number({name, ValueType::ratio, usual, what, 0, needs});
    }
    std::int64_t rate(Text name, Text usual, Text what, Text needs = {}) {  // in bits per second
        return number({name, ValueType::rate, usual, what, 0, needs});
    }
    std::int64_t bytes(Text name, Text usual, Text what, Text needs = {}) {
        return number({name, ValueType::bytes, usual, what, 0, needs});
    }
    Time duration(Text name, Text usual, Text what, Text needs = {}) {
        return Time(number({name, ValueType::duration, usual, what, 0, needs}));
    }
    bool flag(Text name, Text usual, Text what, Text needs = {}) {
        return number({name, ValueType::boolean, usual, what, 0, needs}) != 0;
    }
    // An enum whose values are in the order of the words.
    template <class Choice>
    Choice choice(Text name, Text usual, Text what, std::initializer_list<Text> words, Text needs = {}) {
        return static_cast<Choice>(place({name, ValueType::choice, usual, what, 0, needs}, words));
    }
    // A text that a file beside the scenario may hold, by the ending of its name. It has to be stated.
    std::string text_or_file(Text name, Text what, Text suffix);
    // Another default than the base's row has.
    void usual(Text name, Text value);

private:
    struct Row {
        Text name;
        ValueType type;
        Text usual, what;
        std::int64_t least = 0;
        Text needs = {};
    };
    std::int64_t number(const Row& row);
    int place(const Row& row, std::initializer_list<Text> words);
    void list(const Row& row, std::initializer_list<Text> words = {});
    const scenarios::Value* find_value(const Row& row) const;

    Source source_;
};

using Script = std::function<void(World&)>;  // what each rank runs

// What only jobs that save a state look at, and more.
std::vector<std::string_view> checkpoint_settings_and(std::initializer_list<std::string_view> more);

struct WorkloadKind {
    scenarios::Kind words;  // name, parameters, seams and blocks
    std::function<Script(const scenarios::Values&)> script;
    // Why so many ranks cannot play these settings. Empty: any number can.
    std::function<scenarios::Result<void>(const scenarios::Values&, Rank ranks)> check = {};
};

// A rank that holds a part of the model alone has no use for what whole models do.
bool of_whole_models(std::string_view setting);

// Takes away settings and phases that need one which this workload does not have.
void drop_unmet_parameters(scenarios::Kind& words);

template <class Own>
bool is_ignored_by_part([[maybe_unused]] std::string_view setting) {
    const bool loads = setting.starts_with("saved_"), clips = setting == "clip";
    if constexpr (requires { Own::takes_branches; })
        return setting != "branch_one_in" && !loads && !clips && of_whole_models(setting);
    else if constexpr (requires { Own::loads_saved; })
        return !loads && !clips && of_whole_models(setting);
    else if constexpr (requires { Own::whole_model; })
        return !Own::whole_model && of_whole_models(setting);
    else
        return false;
}

// Settings that are whole numbers, as the checks of a program look at them before all else.
using WholeNumbers = std::vector<std::pair<std::string, std::int64_t>>;
std::shared_ptr<const WholeNumbers> whole_numbers(const scenarios::Values& plan);
void pass_checks(World& world, const WholeNumbers& numbers);

// A workload out of its seams and blocks, its settings and what a rank does with them. Settings that every
// job has and this one never looks at are `ignored`: a scenario that states one is refused.
template <class Own>
WorkloadKind workload(scenarios::Kind words, void (*body)(World&, const Own&),
                      const std::vector<std::string_view>& ignored = {}) {
    Own{Settings::Source(words.parameters)};
    std::erase_if(words.parameters, [&](const scenarios::Parameter& parameter) {
        return std::find(ignored.begin(), ignored.end(), parameter.name) != ignored.end() ||
               is_ignored_by_part<Own>(parameter.name);
    });
    drop_unmet_parameters(words);
    return {std::move(words), [body](const scenarios::Values& plan) -> Script {
                return [body, settings = Own(Settings::Source(plan)),
                        numbers = whole_numbers(plan)](World& world) {
                    pass_checks(world, *numbers);
                    body(world, settings);
                };
            }};
}

// ── The settings that every training job has.

enum class LoadPolicy { alone, announced, agreed, root };
enum class StateKeys { none, strict, lenient };
enum class CommitPolicy { aside, in_place };
enum class StateSharding { reshardable, flattened };
enum class RateScaling { none, sqrt };
enum class Tokens { alike, uneven };
enum class Normaliser { samples, step, rank, micro_batch };
enum class Remainder { pad, drop, uneven };
enum class Condition { none, alone, agreed };
enum class GroupMaking { members, world, store, first_call };
enum class PlaceSource { environment, launcher };
enum class HelperEnds { raise, wait };

struct JobSettings : Settings {
    using Settings::Settings;

    bool trains = true;  // a model, by a recipe that is shown among the settings
    std::int64_t steps = integer("steps", "8", "training steps", 1);
    Time step_time = duration("step_time", "100ms", "nominal compute time of a step on one device");
    std::int64_t layers = integer("layers", "4", "layers of the model", 1);
    std::int64_t width = integer("width", "8", "parameters of a layer", 1);
    std::int64_t batch = integer("batch", "2", "samples of a rank in a step", 1);
    std::int64_t micro_batches = integer("micro_batches", "1", "micro-batches a step is cut into", 1);
    std::int64_t samples = integer("samples", "4096", "samples of the data set", 1);
    bool shuffle = flag("shuffle", "true", "shuffle each epoch");
    bool epoch_in_seed = flag("epoch_in_seed", "", "the sampler's seed grows by one with every epoch");
    std::int64_t seed = integer("seed", "1234", "seed of parameters and sampler");
    std::int64_t learning_rate = ratio("learning_rate", "1/100", "step size of the optimizer");
    std::int64_t checkpoint_every = integer("checkpoint_every", "0", "steps between checkpoints; 0 = none");
    Time checkpoint_interval =
        duration("checkpoint_interval", "",
                 "save as well when a rank's own clock says that so much time has passed since the last one");
    bool checkpoint_agreed =
        flag("checkpoint_agreed", "", "rank 0 decides for all whether that time has passed",
             "checkpoint_interval");
    bool exit_barrier =
        flag("exit_barrier", "",
             "stay at the end until all ranks have come there, as the file that the process group was made "
             "with shows");
    bool own_group_file =
        flag("own_group_file", "", "that file has a name that no other group has", "exit_barrier");
    bool resume = flag("resume", "true", "restore the latest checkpoint after a restart");
    LoadPolicy load = choice<LoadPolicy>(
        "load", "alone",
        "who looks for a checkpoint: each rank; each, then rank 0 announces the step; rank 0 for all; rank 0 "
        "for all, and it alone reads the files and sends them on",
        {"alone", "announced", "agreed", "root"});
    StateKeys checkpoint_keys = choice<StateKeys>(
        "checkpoint_keys", "",
        "a saved state is numbers in their order; a part for each layer under a key of its own, and the "
        "optimizer's state apart, where a load refuses keys that are missing or unknown; the same, where it "
        "passes over them with a warning. Absent = none",
        {"none", "strict", "lenient"}, "checkpoint_every or checkpoint_interval");
    CommitPolicy commit = choice<CommitPolicy>(
        "commit", "aside", "a shard is written aside and renamed, or over the one that is there",
        {"aside", "in_place"});
    StateSharding sharding =
        choice<StateSharding>("sharding", "reshardable", "how optimizer state is cut for a checkpoint",
                              {"reshardable", "flattened"});
    bool validate_access =
        flag("validate_access", "", "before a save: refuse a shard that no rank writes, or more than one");
    bool reference =
        flag("reference", "false",
             "compare parameters and loss with a one-rank run of the same training. A difference is "
             "parallel_result_mismatch");
    bool audit = flag(
        "audit", "false",
        "show gradients beside the sum of what they are made of: micro-batches, and all ranks' before they "
        "are packed or sent. A difference is wrong_intermediate_value");
    std::int64_t dropout = integer("dropout", "0", "one input feature in so many is dropped; 0 = none");
    RateScaling rate_scaling = choice<RateScaling>(
        "rate_scaling", "none", "how the learning rate grows with the number of ranks", {"none", "sqrt"});
    std::int64_t parameter_size =
        bytes("parameter_size", "1MiB", "device memory that one parameter stands for");
    std::int64_t activation_size =
        bytes("activation_size", "1MiB", "device memory that one kept activation stands for");
    std::int64_t context_size = bytes("context_size", "512MiB", "device memory of a process's context");
    std::int64_t loader_workers = integer("loader_workers", "0", "data loader workers of a rank");
    Time loader_time =
        duration("loader_time", "",
                 "how long a worker takes for a sample; a rank's workers share the next batch while it "
                 "trains, and it waits for what is not ready. Absent = no time",
                 "loader_workers");
    Time host_work =
        duration("host_work", "",
                 "what one thread of a rank's process takes to prepare a step; as many share it as "
                 "OMP_NUM_THREADS says, which torchrun sets to 1. Absent = no time");
    Time copy_time =
        duration("copy_time", "",
                 "how long a step's samples take to the device over all lanes of its slot (16), while "
                 "it waits. Absent = no time");
    std::int64_t worker_memory = bytes("worker_memory", "1GiB", "host memory of a data loader worker");
    bool assert_equal =
        flag("assert_equal", "",
             "fail as a test does where a one-rank run of the same training has other parameters or loss");
    Time store_timeout =
        duration("store_timeout", "5m",
                 "how long start-up waits at the store: to be let in, for its peers, and for a "
                 "key, however late the answers are");
    std::int64_t collect_every =
        integer("collect_every", "0", "steps after which a rank's garbage collector has to run; 0 = never");
    Time collect_time = duration("collect_time", "80ms", "how long a collection takes", "collect_every");
    bool validate =
        flag("validate", "false", "check ranks and versions at start-up and refuse a contradiction");
    PlaceSource place_from = choice<PlaceSource>(
        "place_from", "",
        "where a process takes rank, number of ranks and device from: RANK, WORLD_SIZE and LOCAL_RANK; the "
        "place in which the launcher started it. Absent = environment",
        {"environment", "launcher"});
    bool repeat_data =
        flag("repeat_data", "", "data that end before all steps are made begin anew, as the next epoch");
    bool seed_by_replica = flag("seed_by_replica", "",
                                "a replica's number is added to the seed that dropout is given", "dropout");
    bool detach_logged =
        flag("detach_logged", "", "what is kept of a step for a log is a number, without the step's graph");
    bool discover_mpi = flag("discover_mpi", "", "where RANK or WORLD_SIZE is missing, take Open MPI's");
    bool lenient_environment =
        flag("lenient_environment", "false", "unreadable numbers in the environment become 0");
    Condition conditional_reduce = choice<Condition>(
        "conditional_reduce", "",
        "one more reduction in each step, which a rank enters when its own value (seam condition.value) asks "
        "for it: not at all; each decides alone; all ask each other first. Absent = none",
        {"none", "alone", "agreed"});
    Time expected_step_time = duration(
        "expected_step_time", "",
        "how long a step should take by what was measured elsewhere; the log then shows each step's time "
        "beside it");
    std::int64_t expected_throughput = integer("expected_throughput", "",
                                               "samples a second of the whole job that were measured "
                                               "elsewhere or promised; shown among the settings, "
                                               "and rank 0 prints after each step how many there were",
                                               1);
    std::int64_t expected_bandwidth = rate("expected_bandwidth", "",
                                           "bandwidth by data sheet between two nodes, on one node between "
                                           "two devices; every pair is tried before "
                                           "training, and the log shows what it reached beside it");
    std::int64_t checkpoint_finish =
        integer("checkpoint_finish", "",
                "a save runs beside training and is on disk this many steps later; absent = at once", 0,
                "checkpoint_every or checkpoint_interval");
    bool optimizer_steps =
        flag("optimizer_steps", "",
             "the optimizer counts its own steps and takes the first ones shorter; the counter is saved with "
             "the parameters and logged beside the step that training is at");
    std::int64_t compile_workers =
        integer("compile_workers", "", "helper processes that compile for a rank in its first step");
    HelperEnds helper_ends = choice<HelperEnds>(
        "helper_ends", "",
        "what a rank does whose helper process died (fault kill_helper): it notices and raises; it waits for "
        "the answer. Absent = raise",
        {"raise", "wait"}, "loader_workers or compile_workers or checkpoint_finish");
    GroupMaking groups =
        choice<GroupMaking>("groups", "",
                            "who takes part when a parallel group is made: its members; all ranks of the "
                            "world, group after group, "
                            "which a counter of each process names in the store, as torch does; the same, "
                            "with a counter that the store keeps; its members, when they first use it. "
                            "Absent = members",
                            {"members", "world", "store", "first_call"});
    std::int64_t saved_ranks = integer(
        "saved_ranks", "",
        "begin with a checkpoint that a job of so many ranks left behind, more or fewer than this one has; "
        "absent = with a fresh model");
    std::int64_t saved_pad =
        integer("saved_pad", "", "that job padded its parameters to a multiple of so many; absent = 1", 1,
                "saved_ranks");
    bool saved_listed = flag(
        "saved_listed", "",
        "the names of that job's files are read from the directory, and not counted from 0", "saved_ranks");
    std::int64_t saved_steps = integer(
        "saved_steps", "",
        "steps that job had made: training continues after them, up to `steps` in all, and reads on after "
        "the samples that its ranks have read, be they more or fewer than ours; absent = none",
        0, "saved_ranks");

    // Only of workloads in which each rank computes with the whole model.
    static constexpr bool whole_model = false;
    std::int64_t branch_one_in = integer(
        "branch_one_in", "", "one sample in so many takes a branch around the last layer; absent = none");
    Tokens sample_tokens = choice<Tokens>(
        "sample_tokens", "", "tokens of a sample, by which it weighs: alike; one to eight. Absent = alike",
        {"alike", "uneven"});
    Normaliser normalise = choice<Normaliser>(
        "normalise", "",
        "what loss and gradient are divided by: samples; the step's tokens on all ranks; each rank's own "
        "tokens, then the ranks; those of each micro-batch, then micro-batches and ranks. Absent = samples",
        {"samples", "step", "rank", "micro_batch"});
    std::int64_t clip = ratio("clip", "", "norm that gradients are clipped to; absent = none");
    std::int64_t auxiliary = ratio("auxiliary", "",
                                   "weight of a second term of the loss, half the square of the parameters, "
                                   "which each micro-batch adds; "
                                   "absent = none");
    std::int64_t frozen_layer =
        integer("frozen_layer", "", "layer that gets no gradient, counted from 1; absent = none", 1);
    std::int64_t evaluate_every =
        integer("evaluate_every", "", "steps after which the model is evaluated; absent = never");
    std::int64_t evaluation_samples =
        integer("evaluation_samples", "", "samples of the evaluation set; absent = 32", 1, "evaluate_every");
    Remainder evaluation_remainder = choice<Remainder>(
        "evaluation_remainder", "",
        "what becomes of a last evaluation batch that does not divide: filled up with samples from the "
        "beginning; left out; some ranks have one batch more. Absent = filled up",
        {"pad", "drop", "uneven"}, "evaluate_every");
};

}  // namespace deadrank::sim
