// sim/workloads/job.h — What every training job does around its own step: start-up, groups, samples, logs,
// checkpoints. A workload is this and a step function; seams and blocks below are where a fault from outside
// may bend it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/vocabulary.h"
#include "sim/workloads/footprint.h"
#include "sim/workloads/model.h"
#include "sim/workloads/sampler.h"
#include "sim/workloads/settings.h"
#include "sim/workloads/step_share.h"
#include "sim/world/world.h"

namespace deadrank::sim {

// What one step gives back for the log.
struct StepResult {
    Number loss = 0;
    Number gradient_norm = 0;
};

class Job {
public:
    Job(World& world, const JobSettings& settings);
    ~Job();

    // Reads the environment, meets the peers at the store, makes the world communicator, restores a
    // checkpoint.
    void start();

    World& world() { return world_; }
    const JobSettings& settings() const { return settings_; }
    Rank rank() const { return rank_; }  // as RANK says
    Rank size() const { return size_; }
    Comm& comm();  // throws what torch does when no process group was made
    Footprint& memory() { return memory_; }
    ModelShape shape(std::int64_t experts = 0) const;  // experts of a last layer; 0 = none

    // A communicator among `members` (of RANK space); nullptr for ranks outside it.
    std::unique_ptr<Comm> group(std::string_view name, const std::vector<Rank>& members);

    void begin_at(std::int64_t step) { first_step_ = step; }  // for one that restores its state itself
    // Training goes on with this step, before which so many samples were read, by whatever number of ranks.
    void go_on_at(std::int64_t step, std::int64_t samples);

    // The ranks base, base + stride, … of a dimension of `count`: how parallel groups are cut out of the
    // world.
    std::unique_ptr<Comm> strided_group(std::string_view name, Rank base, Rank stride, Rank count);

    // Runs all steps; calls `step` in the right phase order and writes step.end. Stops early when the sampler
    // ran out.
    void train(const std::function<StepResult(std::int64_t step)>& step, std::int64_t until = -1);

    // `position` counts batches of this many replicas from the epoch's start; -1 = the step itself.
    std::vector<std::int64_t> batch(std::int64_t step, Rank replica, Rank replicas,
                                    std::int64_t position = -1);
    void digest(std::int64_t step, std::string_view group, std::string_view name,
                std::span<const Number> numbers);
    void value(std::int64_t step, std::string_view name, Number value, std::optional<Number> expected = {});
    void config(std::string_view name, std::int64_t number);  // shows a setting as this rank read it
    void layout(std::string_view tensor, std::int64_t offset, std::int64_t length, std::int64_t total);
    // With setting `reference`: shows own parameters (`where` in the flat model) and loss beside what one
    // rank alone would have.
    void compare(std::int64_t step, const ModelShape& shape, std::span<const Number> own,
                 std::span<const std::int64_t> where, Number loss, Rank replicas);
    void compare(std::int64_t step, std::span<const Number> own, std::span<const std::int64_t> where,
                 Number loss, Rank replicas) {
        compare(step, shape(), own, where, loss, replicas);
    }
    void compare(std::int64_t step, std::span<const Number> own, std::int64_t offset, Number loss,
                 Rank replicas);
    void compare_norm(std::int64_t step, Number norm);  // after compare(): the gradient's, over all shards

    // With setting `audit`: what the reduction gave beside the sum of what the ranks put in.
    // False where they differ. An average counts `times`, and within the rounding of its numbers.
    bool audit_reduction(std::int64_t step, std::span<const Number> reduced, Number expected, Rank times = 1);
    // With setting `validate_access`: each of so many shards has one writer. `shard` is what this rank
    // writes, `held` what it should write; -1 = none.
    void check_writers(std::int64_t shard, std::int64_t held, std::int64_t shards);
    bool audits() const { return settings_.audit; }

    // With setting `evaluate_every`: every rank takes its batches of the evaluation set; samples and mean
    // loss are shown beside what the whole set gives.
    void evaluate(std::int64_t step, std::span<const Number> parameters);

    // With setting `saved_ranks`: puts what an earlier job left behind into `parameters`, the flat model.
    // `degree`: what a refusal calls the number of ranks that wrote it.
    // `replicas`: how many read other samples than each other in that job; 0 = all of its ranks.
    void load_saved(std::vector<Number>& parameters, std::string_view degree = {}, Rank replicas = 0);

    // Parts per billion, scaled as the settings ask, passed through seam optimizer.learning_rate.
    std::int64_t learning_rate(std::int64_t step);

    // For the first of a replica's samples in a step; each later one counts one more.
    Dropout dropout(std::int64_t step, Rank replica, std::size_t samples);

    // Whose state is saved and restored. `shard` of `shards`; every rank that passes a state writes one file.
    struct State {
        std::vector<Number>* numbers = nullptr;
        int shard = 0;
        int shards = 1;
        bool writer = true;           // replicas that hold the same shard only read
        const bool* ready = nullptr;  // false: there is nothing to save yet
    };
    void set_state(State state) { state_ = state; }

private:
    void read_environment();
    void show_recipe();
    std::int64_t configured_rate() const;
    [[noreturn]] void fail_test(std::int64_t step, Number mine, Number right);
    void meet();
    void connect(const CommRequest& request);
    void exchange_id();
    std::int64_t position_of(std::int64_t step, Rank replicas) const;
    std::int64_t samples_by(std::int64_t step) const;
    void collect(std::int64_t step);
    void reduce_conditionally();
    void show_pace(std::int64_t step, results::Time took);
    void gather_metrics(std::int64_t step);
    void wait_for_loader();
    void prepare_on_host();
    void try_links();
    void wait_for_lost_helper(std::int64_t lost, std::string_view error);
    void validate();
    bool save_is_due(std::int64_t step);
    void save(std::int64_t step);
    void write_own(std::int64_t step, std::span<const Number> numbers);
    void write_shard(std::int64_t step, int shard, std::span<const Number> numbers);
    std::vector<Number> with_keys(std::span<const Number> numbers);
    void take_keys(std::span<const Number> content);
    Code read_state(std::int64_t step, int shard, std::vector<Number>& content);
    void publish(std::int64_t step);
    void finish_saves(std::int64_t step);
    std::unique_ptr<Comm> numbered_group(std::string_view name, Rank base, Rank stride, Rank count);
    std::unique_ptr<Comm> created_group(std::string_view name, const std::vector<Rank>& wanted, bool mine);
    std::unique_ptr<Comm> make_group(CommRequest request);
    CommRequest with_store_meeting(CommRequest request) const;
    void restore();
    std::int64_t checkpoint_to_load();
    std::string shard_path(std::int64_t step, int shard) const;
    void leave();

    World& world_;
    const JobSettings& settings_;
    Rank rank_ = 0;
    Rank size_ = 1;
    Store* store_ = nullptr;
    std::unique_ptr<Comm> world_comm_;
    State state_;
    Footprint memory_;
    std::unique_ptr<Reference> reference_;
    std::int64_t first_step_ = 0;
    std::int64_t counted_from_ = 0, counted_ = 0;  // samples that were read before that step
    bool resizes_ = false;                         // its launcher may start it with another number of ranks
    std::int64_t groups_made_ = 0;
    std::int64_t samples_together_ = 0;  // of all ranks in a step
    std::int64_t optimizer_steps_ = 0;   // that were taken, with setting `optimizer_steps`
    std::int64_t data_end_ = 0;          // steps for which there are data
    struct OpenSave {
        std::int64_t step = 0;
        std::vector<Number> captured;
    };
    std::optional<OpenSave> open_save_;
    std::optional<results::Time> loading_since_;  // when the workers began with the next batch
    results::Time saved_{0};  // by the rank's own clock, as is whether the next one is due
};

// Parameters, seams and blocks that every job has; a workload's Kind adds its own to these.
scenarios::Kind job_words(std::string name, std::string what);

// For those whose backward pass is a phase of its own.
void add_backward_phase(scenarios::Kind& kind);

// Takes away the seams and blocks with such beginnings, which this workload never comes to.
void leave_out(scenarios::Kind& kind, std::initializer_list<std::string_view> beginnings,
               std::initializer_list<std::string_view> but = {});

// Seams and blocks of what whole-model workloads do: evaluate, clip, weigh by tokens, load what was saved.
void add_whole_model_words(scenarios::Kind& kind);
void add_loading_words(scenarios::Kind& kind);  // the last of these alone
void add_clip_words(scenarios::Kind& kind);     // of a gradient of which each rank has a part

}  // namespace deadrank::sim
