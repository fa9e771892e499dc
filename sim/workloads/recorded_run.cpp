// sim/workloads/recorded_run.cpp — Plays a recording: the ranks make the calls of a real program, with their
// sizes, in their groups, after the times that it computed. No value is moved, so that nothing can be wrong
// with one.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/recording.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

using Kind = RecordedAction::Kind;

using SharedRecording = std::shared_ptr<const scenarios::Result<Recording>>;

// The runs of a scenario, and the check before each, share what is read of its text.
SharedRecording read_once(const std::string& text) {
    static std::mutex mutex;
    static std::string last;
    static SharedRecording recording;
    const std::lock_guard lock(mutex);
    if (!recording || text != last) {
        recording = std::make_shared<const scenarios::Result<Recording>>(read_recording(text));
        last = text;
    }
    return recording;
}

struct RecordedRunSettings : JobSettings {
    explicit RecordedRunSettings(Source source) : JobSettings(source) {
        trains = false;
        const std::string text = text_or_file("recording",
                                              "what `deadrank new stage/name --recording seen` made of a "
                                              "recorded run: a file beside the scenario, or its "
                                              "text",
                                              ".json");
        repeat = integer("repeat", "1", "times that the recorded steps are played, one after the other", 1);
        if (!text.empty()) recording = read_once(text);
        if (recording && recording->has_value())
            steps = repeat * static_cast<std::int64_t>(recording->value().steps());
    }

    std::int64_t repeat = 1;
    SharedRecording recording;
    // The same for all ranks of a run, which share a thread.
    std::shared_ptr<std::optional<Lift>> lift = std::make_shared<std::optional<Lift>>();
};

scenarios::Kind recorded_run_words() {
    return {
        .name = "recording",
        .what = "the calls, sizes, groups and times of a recorded run of a real program, without its values",
        .own_words = true,
        .resizes = true};
}

// One rank's communicators and the calls that it has not waited for.
class Player {
public:
    Player(Job& job, const Recording& recording, const Lift& lift)
        : job_(job), lift_(lift), rank_(job.rank()) {
        for (std::size_t group = 0; group < recording.groups.size(); ++group) {
            const std::vector<Rank> members = lift.members(group, rank_);
            const bool first_of_all = static_cast<Rank>(members.size()) == lift.ranks() && !of_all_ &&
                                      std::is_sorted(members.begin(), members.end());
            if (first_of_all) of_all_ = group;
            own_.push_back(
                members.empty() || first_of_all ? nullptr : job.group(recording.groups[group].name, members));
        }
    }

    void play(const RecordedStretch& stretch) {
        for (const RecordedAction& action : stretch.actions) {
            compute(action.before);
            play(action);
        }
        compute(stretch.after);
    }

    void compute(Time time) {
        if (time > Time{0}) job_.world().device().compute(time);
    }

private:
    void play(const RecordedAction& action) {
        const auto group = static_cast<std::size_t>(action.group);
        switch (action.kind) {
            case Kind::phase:
                return job_.world().phase(action.phase);
            case Kind::wait:
                return wait(calls_ - 1 - action.back);
            case Kind::message: {
                const Rank peer = lift_.place(group, action.member, true, rank_);
                Comm& comm = comm_of(group);
                keep(action.op == results::Op::send
                         ? comm.send_size(action.count, peer, action.tag, action.dtype)
                         : comm.recv_size(action.count, peer, action.tag, action.dtype));
                return;
            }
            case Kind::call:
                keep(comm_of(group).collective({.op = action.op,
                                                .dtype = action.dtype,
                                                .reduce = action.reduce,
                                                .root = lift_.place(group, action.member, false, rank_),
                                                .count = lift_.count(action)}));
        }
    }

    void keep(std::unique_ptr<Work> work) { under_way_.emplace(calls_++, std::move(work)); }

    void wait(std::int64_t call) {
        const auto found = under_way_.find(call);
        if (found == under_way_.end()) return;
        if (found->second) found->second->wait();
        under_way_.erase(found);
    }

    Comm& comm_of(std::size_t group) { return group == of_all_ ? job_.comm() : *own_[group]; }

    Job& job_;
    const Lift& lift_;
    Rank rank_;
    std::vector<std::unique_ptr<Comm>>
        own_;                            // by group; nullptr where the rank is no member, or the job has it
    std::optional<std::size_t> of_all_;  // the group for which the job's own communicator is taken
    std::int64_t calls_ = 0;
    std::map<std::int64_t, std::unique_ptr<Work>> under_way_;  // by number of the call
};

void play_recorded_rank(World& world, const RecordedRunSettings& settings) {
    const Recording& recording = settings.recording->value();
    std::optional<Lift>& lift = *settings.lift;
    if (!lift)
        lift = Lift::make(recording, world.processes()).value();  // the workload's check has refused others
    Job job(world, settings);
    job.start();
    if (job.size() != lift->ranks() || job.rank() < 0 || job.rank() >= lift->ranks())
        throw RankFailure(
            fmt::format("ValueError: this recording is of {} ranks, and the environment names rank {} of {}",
                        lift->ranks(), job.rank(), job.size()));
    const RecordedRank& recorded = recording.ranks[static_cast<std::size_t>(lift->source(job.rank()))];
    Player player(job, recording, *lift);
    player.play(recorded.start);
    std::int64_t number = 0;
    for (std::int64_t round = 0; round < settings.repeat; ++round) {
        for (const RecordedStretch& step : recorded.steps) {
            player.compute(step.before);
            world.step(number);
            player.play(step);
            world.phase(results::Phase::none);
            world.record(results::StepEnd{number++, step.loss, step.gradient_norm});
        }
    }
    player.compute(recorded.end.before);
    player.play(recorded.end);
}

scenarios::Result<void> check_recording(const scenarios::Values& plan, Rank ranks) {
    const RecordedRunSettings settings{Settings::Source(plan)};
    if (!settings.recording->has_value()) return tl::unexpected(settings.recording->error());
    if (const auto lift = Lift::make(settings.recording->value(), ranks); !lift)
        return tl::unexpected(lift.error());
    return {};
}

// Of the settings that every job has it looks at those of its start-up alone.
WorkloadKind recorded_run() {
    WorkloadKind kind = workload(recorded_run_words(), play_recorded_rank);
    std::erase_if(kind.words.parameters, [](const scenarios::Parameter& parameter) {
        return parameter.name != "recording" && parameter.name != "repeat" &&
               parameter.name != "store_timeout";
    });
    kind.check = check_recording;
    return kind;
}

}  // namespace

const WorkloadKind& recorded_workload() {
    static const WorkloadKind kind = recorded_run();
    return kind;
}

}  // namespace deadrank::sim
