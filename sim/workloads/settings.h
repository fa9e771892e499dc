// sim/workloads/settings.h — A workload's settings: a struct of which each member declares its own row, with
// name, default and meaning.
#pragma once

#include <functional>
#include <initializer_list>
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
    std::int64_t integer(Text name, Text usual, Text what, std::int64_t least = 0) {
        return number({name, ValueType::integer, usual, what, least});
    }
    std::int64_t ratio(Text name, Text usual, Text what) {  // in parts per billion
        return number({name, ValueType::ratio, usual, what});
    }
    std::int64_t bytes(Text name, Text usual, Text what) {
        return number({name, ValueType::bytes, usual, what});
    }
    Time duration(Text name, Text usual, Text what) {
        return Time(number({name, ValueType::duration, usual, what}));
    }
    bool flag(Text name, Text usual, Text what) {
        return number({name, ValueType::boolean, usual, what}) != 0;
    }
    // An enum whose values are in the order of the words.
    template <class Choice>
    Choice choice(Text name, Text usual, Text what, std::initializer_list<Text> words) {
        return static_cast<Choice>(place({name, ValueType::choice, usual, what}, words));
    }
    // Another default than the base's row has.
    void usual(Text name, Text value);

private:
    struct Row {
        Text name;
        ValueType type;
        Text usual, what;
        std::int64_t least = 0;
    };
    std::int64_t number(const Row& row);
    int place(const Row& row, std::initializer_list<Text> words);
    void list(const Row& row, std::initializer_list<Text> words = {});
    const scenarios::Value* said(const Row& row) const;

    Source source_;
};

using Script = std::function<void(World&)>;  // what each rank runs

struct WorkloadKind {
    scenarios::Kind words;  // name, parameters, seams and blocks
    std::function<Script(const scenarios::Values&)> script;
};

// A workload out of its seams and blocks, its settings and what a rank does with them.
template <class Own>
WorkloadKind workload(scenarios::Kind words, void (*body)(World&, const Own&)) {
    Own{Settings::Source(words.parameters)};
    return {std::move(words), [body](const scenarios::Values& plan) -> Script {
                return
                    [body, settings = Own(Settings::Source(plan))](World& world) { body(world, settings); };
            }};
}

// The settings that every training job has.

enum class LoadPolicy { alone, announced, agreed };
enum class CommitPolicy { aside, in_place };
enum class StateSharding { reshardable, flattened };
enum class RateScaling { none, sqrt };

struct JobSettings : Settings {
    using Settings::Settings;

    std::int64_t steps = integer("steps", "8", "training steps", 1);
    Time step_time = duration("step_time", "100ms", "nominal compute time of a step on one device");
    std::int64_t layers = integer("layers", "4", "layers of the model", 1);
    std::int64_t width = integer("width", "8", "parameters of a layer", 1);
    std::int64_t batch = integer("batch", "2", "samples of a rank in a step", 1);
    std::int64_t micro_batches = integer("micro_batches", "1", "micro-batches a step is cut into", 1);
    std::int64_t samples = integer("samples", "4096", "samples of the data set", 1);
    bool shuffle = flag("shuffle", "true", "shuffle each epoch");
    std::int64_t seed = integer("seed", "1234", "seed of parameters and sampler");
    std::int64_t learning_rate = ratio("learning_rate", "1/100", "step size of the optimizer");
    std::int64_t checkpoint_every = integer("checkpoint_every", "0", "steps between checkpoints; 0 = none");
    Time checkpoint_interval =
        duration("checkpoint_interval", "",
                 "save as well when a rank's own clock says that so much time has passed since the last one");
    bool checkpoint_agreed =
        flag("checkpoint_agreed", "", "rank 0 decides for all whether that time has passed");
    bool exit_barrier =
        flag("exit_barrier", "",
             "meet once more before leaving, in the file that the process group was made with");
    bool resume = flag("resume", "true", "restore the latest checkpoint after a restart");
    LoadPolicy load = choice<LoadPolicy>(
        "load", "alone",
        "who looks for a checkpoint: each rank; each, then rank 0 announces the step; rank 0 for all",
        {"alone", "announced", "agreed"});
    CommitPolicy commit = choice<CommitPolicy>(
        "commit", "aside", "a shard is written aside and renamed, or over the one that is there",
        {"aside", "in_place"});
    StateSharding sharding =
        choice<StateSharding>("sharding", "reshardable", "how optimizer state is cut for a checkpoint",
                              {"reshardable", "flattened"});
    bool reference =
        flag("reference", "false", "compare parameters and loss with a one-rank run of the same training");
    bool audit =
        flag("audit", "false",
             "show gradients beside the sum of what they are made of: micro-batches, and all ranks'");
    std::int64_t dropout = integer("dropout", "0", "one input feature in so many is dropped; 0 = none");
    RateScaling rate_scaling = choice<RateScaling>(
        "rate_scaling", "none", "how the learning rate grows with the number of ranks", {"none", "sqrt"});
    std::int64_t parameter_size =
        bytes("parameter_size", "1MiB", "device memory that one parameter stands for");
    std::int64_t activation_size =
        bytes("activation_size", "1MiB", "device memory that one kept activation stands for");
    std::int64_t context_size = bytes("context_size", "512MiB", "device memory of a process's context");
    std::int64_t loader_workers = integer("loader_workers", "0", "data loader workers of a rank");
    std::int64_t worker_memory = bytes("worker_memory", "1GiB", "host memory of a data loader worker");
    bool assert_equal =
        flag("assert_equal", "",
             "fail as a test does where a one-rank run of the same training has other parameters or loss");
    Time store_timeout = duration("store_timeout", "5m", "how long start-up waits at the store");
    bool validate =
        flag("validate", "false", "check ranks and versions at start-up and refuse a contradiction");
    bool lenient_environment =
        flag("lenient_environment", "false", "unreadable numbers in the environment become 0");
};

}  // namespace deadrank::sim
