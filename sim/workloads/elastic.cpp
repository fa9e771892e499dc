// sim/workloads/elastic.cpp — Training that survives its members: a quorum before each step, a vote after it,
// state healed from a peer or reloaded from parts that lie on several nodes. As torchft and NVRx do it.
#include "sim/workloads/elastic.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "sim/workloads/model.h"
#include "sim/workloads/sampler.h"
#include "sim/workloads/settings.h"
#include "sim/workloads/step_share.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

enum class Commit { vote, alone };
enum class HealFrom { newest, first };
enum class HealState { all, parameters };
enum class Counting { reports, launcher };
enum class Recovery { peer, checkpoint };

struct ElasticSettings : Settings {
    using Settings::Settings;

    std::int64_t steps = integer("steps", "8", "training steps", 1);
    Time step_time =
        duration("step_time", "100ms", "nominal compute time of a replica's samples of a step on one device");
    std::int64_t layers = integer("layers", "4", "layers of the model", 1);
    std::int64_t width = integer("width", "8", "parameters of a layer", 1);
    std::int64_t batch =
        integer("batch", "2", "samples of a step for each replica; those left share all of them", 1);
    std::int64_t samples = integer("samples", "4096", "samples of the data set", 1);
    std::int64_t seed = integer("seed", "1234", "seed of parameters and sampler");
    std::int64_t learning_rate = ratio("learning_rate", "1/100", "step size of the optimizer");
    std::int64_t buckets = integer("buckets", "2", "gradient buckets, each reduced by a call of its own", 1);
    std::int64_t spares =
        integer("spares", "0", "ranks that wait until a member of the quorum does not come");
    std::int64_t least = integer("least", "1", "replicas that a quorum needs at least", 1);
    Time patience = duration(
        "patience", "10s",
        "how long a replica that does not come, or does not vote, is waited for; if step_patience is "
        "longer, those that still wait in a failed step are left out");
    Time step_patience =
        duration("step_patience", "5s", "how long a reduction or a transfer may take before it has failed");
    std::int64_t tries = integer("tries", "20", "tries at one step, after which a replica gives up", 1);
    Recovery recovery =
        choice<Recovery>("recovery", "peer",
                         "after a loss: whoever is behind gets the state of a peer; all go back to the last "
                         "checkpoint, of which each keeps a part (in-job restart)",
                         {"peer", "checkpoint"});
    std::int64_t checkpoint_every =
        integer("checkpoint_every", "2", "steps between checkpoints; 0 = none", 0, "recovery");
    bool copies = flag("copies", "true", "a member of the next node keeps a copy of each part", "recovery");
    Commit commit = choice<Commit>(
        "commit", "vote",
        "when a step counts: once all members have said that their reductions came back; each bucket as "
        "soon as its own reduction is back",
        {"vote", "alone"});
    Counting quorum = choice<Counting>(
        "quorum", "reports", "who is a member: those that came; all that the launcher started, dead or alive",
        {"reports", "launcher"});
    HealFrom heal_from =
        choice<HealFrom>("heal_from", "newest",
                         "whose state is handed on: that of a member with the newest; the first member's",
                         {"newest", "first"});
    HealState heal_state = choice<HealState>(
        "heal_state", "all", "what is handed on: parameters and the optimizer's state; parameters alone",
        {"all", "parameters"});
    bool reference =
        flag("reference", "false", "compare parameters and loss with a one-rank run of the same training");
};

scenarios::Kind elastic_words() {
    scenarios::Kind kind{"elastic",
                         "replicas that agree before and after each step, heal and go on without the lost"};
    kind.launcher = "replicas";
    kind.phases = {{"setup"},
                   {"data"},
                   {"forward"},
                   {"backward"},
                   {"reduce"},
                   {"optimizer"},
                   {"checkpoint", "recovery"}};
    kind.seams = {"quorum.step", "gradient.local", "optimizer.learning_rate"};
    kind.blocks = {"commit.vote", "heal.parameters", "heal.optimizer", "local.copy"};
    return kind;
}

constexpr Time store_patience{60'000'000'000};

std::string variable(World& world, std::string_view name) {
    if (auto value = world.env().get(name)) return *value;
    throw RankFailure(fmt::format("KeyError: '{}'", name));
}

// All that a replica must not lose.
struct ReplicaState {
    std::int64_t step = 0;     // that it is ready to make
    std::int64_t updates = 0;  // that its optimizer has made
    std::vector<Number> parameters;

    std::vector<Number> numbers() const {
        std::vector<Number> all{step, updates};
        all.insert(all.end(), parameters.begin(), parameters.end());
        return all;
    }
};

class Replica {
public:
    Replica(World& world, const ElasticSettings& settings, Store& store)
        : world_(world),
          settings_(settings),
          replicas_(static_cast<Rank>(std::max<std::int64_t>(1, world.processes() - settings.spares))),
          shape_{.layers = static_cast<int>(settings.layers), .width = static_cast<int>(settings.width)},
          sampling_{settings.samples, settings.batch, replicas_, settings.seed, true},
          rounds_(store, world.process(), world.attempt(), rules()),
          copies_(world, settings.step_patience, settings.copies ? ranks_of_a_node() : 0) {
        state_.parameters = initial_parameters(shape_, settings.seed);
    }

    void train() {
        for (;;) {
            said_ = world_.seam("quorum.step", state_.step);
            const auto quorum = rounds_.join(said_, made_in_);
            if (!quorum) break;
            if (round(*quorum)) return;
        }
        world_.log("training is over, and went on without this replica");
    }

private:
    // One round; true: training is over.
    bool round(const Quorum& quorum) {
        const bool peer = settings_.recovery == Recovery::peer;
        bool well = includes_this_replica(quorum) && connect(quorum);
        if (well && peer && quorum.step < settings_.steps) world_.step(quorum.step);
        well = well && recover(quorum);
        const bool leaves = state_.step >= settings_.steps;
        if (well && !peer && !leaves) world_.step(state_.step);
        if (well && !leaves) well = compute(quorum);
        if (!counts(quorum, well, leaves)) {
            disconnect();
            world_.phase(results::Phase::none);
            if (++failed_ >= settings_.tries)
                throw RankFailure(fmt::format("RuntimeError: step {} failed {} times", state_.step, failed_));
            return false;
        }
        if (leaves) return true;
        failed_ = 0;
        commit();
        return false;
    }

    RoundRules rules() const {
        return {.replicas = replicas_,
                .processes = world_.processes(),
                .least = static_cast<Rank>(settings_.least),
                .end = settings_.steps,
                .patience = settings_.patience,
                .counts_everybody = settings_.quorum == Counting::launcher,
                .heals_from_first = settings_.heal_from == HealFrom::first};
    }

    Rank ranks_of_a_node() const { return std::stoi(variable(world_, "LOCAL_WORLD_SIZE")); }

    // A replica that came, died and came back finds a quorum that was agreed upon its first word.
    bool includes_this_replica(const Quorum& quorum) const {
        if (quorum.communicator != quorum.round) return quorum.communicator == made_in_;
        const bool behind = std::binary_search(quorum.behind.begin(), quorum.behind.end(), world_.process());
        return settings_.recovery == Recovery::checkpoint || behind || said_ == quorum.step;
    }

    bool connect(const Quorum& quorum) {
        if (comm_ && quorum.communicator == made_in_) return true;
        disconnect();
        world_.log(fmt::format(
            "quorum {}: {}, step {}{}", quorum.round, rank_list(quorum.members), quorum.step,
            quorum.behind.empty()
                ? std::string()
                : fmt::format("; {} behind, heals from {}", rank_list(quorum.behind), quorum.source)));
        try {
            comm_ = world_.communicator({fmt::format("quorum{}", quorum.round), quorum.members,
                                         world_.process(), settings_.step_patience});
        } catch (const LibraryError& error) {
            world_.log(error.what(), 1);
            return false;
        }
        made_in_ = quorum.round;
        return true;
    }

    // Whoever still waits for this replica over it learns that it is gone.
    void disconnect() {
        if (comm_) comm_->abort();
        comm_.reset();
        made_in_ = -1;
    }

    bool recover(const Quorum& quorum) {
        world_.phase(results::Phase::setup);
        if (settings_.recovery == Recovery::peer) return heal(quorum);
        if (quorum.round == 0 || quorum.communicator != quorum.round) return true;
        std::vector<Number> state = state_.numbers();
        const auto found = copies_.restore(*comm_, state);
        if (!found) return false;
        state_ = {.step = 0, .updates = 0, .parameters = initial_parameters(shape_, settings_.seed)};
        if (*found >= 0) adopt(state);
        reference_.reset();
        return true;
    }

    // The newest state goes to each member that is behind; the others begin their step meanwhile.
    bool heal(const Quorum& quorum) {
        const auto place = [&](Rank replica) {
            return static_cast<Rank>(std::lower_bound(quorum.members.begin(), quorum.members.end(), replica) -
                                     quorum.members.begin());
        };
        const std::string path = fmt::format("peer{}/step{}", quorum.source, quorum.step);
        std::vector<Number> numbers = state_.numbers();
        const auto bytes = static_cast<std::int64_t>(numbers.size() * sizeof(Number));
        if (quorum.source == world_.process() && !quorum.behind.empty()) {
            world_.record(results::CheckpointSave{state_.step, bytes, digest_of(numbers), 0, 1,
                                                  world_.text(path), Code::ok});
            for (const Rank peer : quorum.behind) {
                if (peer == world_.process()) continue;
                const auto sent = comm_->send_async(numbers, place(peer));
                if (!completed_in_time(world_, *comm_, *sent, settings_.step_patience)) return false;
            }
            return true;
        }
        if (!std::binary_search(quorum.behind.begin(), quorum.behind.end(), world_.process())) return true;
        const auto received = comm_->recv_async(numbers, place(quorum.source));
        if (!completed_in_time(world_, *comm_, *received, settings_.step_patience)) return false;
        world_.record(results::CheckpointLoad{numbers.front(), bytes, digest_of(numbers), 0, 1,
                                              world_.text(path), Code::ok});
        adopt(numbers);
        return true;
    }

    void adopt(const std::vector<Number>& numbers) {
        state_.step = numbers[0];
        if (settings_.heal_state == HealState::all && world_.block("heal.optimizer"))
            state_.updates = numbers[1];
        if (world_.block("heal.parameters"))
            std::copy(numbers.begin() + 2, numbers.end(), state_.parameters.begin());
        if (state_.step > 0) show_parameters(state_.step - 1);
    }

    void show_parameters(std::int64_t step) {
        world_.record(results::ParametersDigest{step, digest_of(state_.parameters), world_.text("replica"),
                                                world_.text("parameters")});
    }

    // This replica's shares of the step, and their sum over all members. What was lost with a replica is
    // shared by those that are left, so a step has the same samples whoever makes it.
    bool compute(const Quorum& quorum) {
        const auto members = static_cast<Rank>(quorum.members.size());
        world_.phase(results::Phase::data);
        taken_.clear();
        Rank shares = 0;
        const Sampler sampler(sampling_);
        for (Rank share = comm_->rank(); share < replicas_; share += members, ++shares) {
            const auto ids = sampler.batch(state_.step, share);
            taken_.insert(taken_.end(), ids.begin(), ids.end());
        }
        world_.phase(results::Phase::forward);
        world_.device().compute(settings_.step_time * shares / 3);
        sums_.assign(state_.parameters.size() + 1, 0);
        for (const std::int64_t id : taken_) {
            const Number loss =
                train_sample(shape_, state_.parameters, id, std::span(sums_).first(state_.parameters.size()));
            sums_.back() = plus(sums_.back(), loss);
        }
        sums_.front() = world_.seam("gradient.local", sums_.front());
        world_.phase(results::Phase::backward);
        world_.device().compute(settings_.step_time * shares - settings_.step_time * shares / 3);
        return reduce();
    }

    bool reduce() {
        rate_ =
            corrected_rate(world_.seam("optimizer.learning_rate", settings_.learning_rate), state_.updates);
        const auto count = static_cast<std::size_t>(settings_.buckets);
        const std::size_t size = (sums_.size() + count - 1) / count;
        for (std::size_t at = 0; at < sums_.size(); at += size) {
            world_.phase(results::Phase::reduce);
            const auto bucket = std::span(sums_).subspan(at, std::min(size, sums_.size() - at));
            const auto sum = comm_->all_reduce_async(bucket);
            if (!completed_in_time(world_, *comm_, *sum, settings_.step_patience)) return false;
            if (settings_.commit == Commit::vote) continue;
            world_.phase(results::Phase::optimizer);
            update(at, bucket.size());
        }
        return true;
    }

    void update(std::size_t at, std::size_t count) {
        count = std::min(count, state_.parameters.size() - std::min(at, state_.parameters.size()));
        descend(std::span(state_.parameters).subspan(at, count), std::span(sums_).subspan(at, count),
                everything(), rate_);
    }

    std::int64_t everything() const { return settings_.batch * replicas_; }

    bool counts(const Quorum& quorum, bool well, bool leaves) {
        if (!leaves) world_.phase(results::Phase::optimizer);
        if (!world_.block("commit.vote") || (settings_.commit == Commit::alone && !leaves)) return well;
        return rounds_.agree_on_success(quorum, well);
    }

    // What a step leaves behind is shown when it counts: a step that is made again has not been made before.
    void commit() {
        const std::int64_t step = state_.step;
        if (settings_.commit == Commit::vote) update(0, state_.parameters.size());
        ++state_.step;
        ++state_.updates;
        if (!taken_.empty()) {
            world_.record(results::DataBatch{step, Sampler(sampling_).epoch_of(step), taken_.front(),
                                             static_cast<std::int32_t>(taken_.size()), 1,
                                             world_.text(listed(taken_))});
        }
        show_parameters(step);
        value(step, "optimizer.step", state_.updates * one, state_.step * one);
        const Number loss = scaled(sums_.back(), 1, everything());
        compare(step, loss);
        world_.phase(results::Phase::none);
        const auto gradient = std::span(sums_).first(state_.parameters.size());
        world_.record(results::StepEnd{step, shown(loss), shown(scaled(norm(gradient), 1, everything()))});
        const std::int64_t every = settings_.checkpoint_every;
        if (settings_.recovery != Recovery::checkpoint || every <= 0 || state_.step % every != 0) return;
        world_.phase(results::Phase::checkpoint);
        if (!copies_.save(*comm_, step, state_.numbers())) disconnect();
        world_.phase(results::Phase::none);
    }

    void compare(std::int64_t step, Number loss) {
        if (!settings_.reference) return;
        if (!reference_) {
            reference_ = std::make_unique<Reference>(shape_, sampling_,
                                                     Reference::Recipe{.seed = settings_.seed,
                                                                       .rate_ppb = settings_.learning_rate,
                                                                       .corrects = true,
                                                                       .first_seed = settings_.seed});
        }
        reference_->advance_to(step);
        value(step, "reference.parameters", checksum(state_.parameters), checksum(reference_->parameters()));
        value(step, "reference.loss", loss, reference_->loss());
    }

    void value(std::int64_t step, std::string_view name, Number value, Number expected) {
        world_.record(results::ValueSample{step, world_.text(name), shown(value), shown(expected)});
    }

    World& world_;
    const ElasticSettings& settings_;
    Rank replicas_;
    ModelShape shape_;
    SamplerSettings sampling_;
    Rounds rounds_;
    LocalCopies copies_;
    ReplicaState state_;
    std::int64_t failed_ = 0;          // tries at the step under way
    std::int64_t said_ = 0;            // the step that it last said it could make
    std::vector<std::int64_t> taken_;  // samples of the step under way
    std::vector<Number> sums_;         // its gradient and loss
    std::int64_t rate_ = 0;
    std::unique_ptr<Comm> comm_;
    std::int64_t made_in_ = -1;  // the round in which it was made
    std::unique_ptr<Reference> reference_;
};

void elastic_rank(World& world, const ElasticSettings& settings) {
    const auto show = [&](std::string_view name, std::int64_t number) {
        world.record(results::RankConfig{world.text(name), world.text(std::to_string(number))});
    };
    show("rank", world.process());
    show("world_size", world.processes());
    show("steps", settings.steps);
    show("batch", settings.batch);
    show("seed", settings.seed);
    const std::string lighthouse = variable(world, "MASTER_ADDR") + ":" + variable(world, "MASTER_PORT");
    Store& store = world.rendezvous(lighthouse, false, store_patience);
    Replica(world, settings, store).train();
}

}  // namespace

extern const WorkloadRow elastic_row{[] { return workload(elastic_words(), elastic_rank); }};

}  // namespace deadrank::sim
