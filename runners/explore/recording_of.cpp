// runners/explore/recording_of.cpp — A rank computes up to the beginning of a call and waits up to its end,
// as results/analysis/paces.h has it.
#include "runners/explore/recording_of.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <tuple>

#include "results/analysis/calls.h"
#include "results/analysis/lives.h"
#include "results/record/event_names.h"

namespace deadrank::runners {

using namespace results;
using scenarios::ErrorCode;
using sim::RecordedAction;
using sim::RecordedRank;
using sim::RecordedStretch;

namespace {

// The communicators of a job, as groups of a recording.
class Groups {
public:
    Groups(const analysis::Calls& calls, sim::Recording& recording) : calls_(calls), recording_(recording) {}

    // In the order in which the job made them.
    void made(CommId comm) {
        const analysis::Communicator* const known = calls_.find(0, comm);
        if (!known || places_.contains(comm)) return;
        const bool whole =
            !known->processes.empty() &&
            std::find(known->processes.begin(), known->processes.end(), no_rank) == known->processes.end();
        if (!whole) return;
        places_[comm] = static_cast<std::int32_t>(recording_.groups.size());
        recording_.groups.push_back({std::string(known->name), known->processes});
    }
    std::optional<std::int32_t> place(CommId comm) const {
        const auto found = places_.find(comm);
        return found == places_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    const analysis::Calls& calls_;
    sim::Recording& recording_;
    std::map<CommId, std::int32_t> places_;
};

class RankReader {
public:
    explicit RankReader(const Evidence& evidence) : evidence_(evidence) {}

    void take(const Event& event, const Groups& groups) {
        if (event.as<CommInitEnter>()) {
            if (joined_) computed_ += event.at - last_;
        } else if (event.as<CommInitLeave>()) {
            joined_ = true;
        } else if (const auto* call = event.as<CollectiveEnter>()) {
            enters(event,
                   {.kind = RecordedAction::Kind::call,
                    .op = call->op,
                    .dtype = call->dtype,
                    .reduce = call->reduce,
                    .member = call->root,
                    .count = call->count},
                   groups.place(call->comm), {call->comm, Op::none, call->seq});
            return;
        } else if (const auto* left = event.as<CollectiveLeave>()) {
            leaves({left->comm, Op::none, left->seq});
        } else if (const auto* message = event.as<P2pEnter>()) {
            enters(event,
                   {.kind = RecordedAction::Kind::message,
                    .op = message->op,
                    .dtype = message->dtype,
                    .member = message->peer,
                    .tag = message->tag,
                    .count = message->count},
                   groups.place(message->comm), {message->comm, message->op, message->seq});
            return;
        } else if (const auto* arrived = event.as<P2pLeave>()) {
            leaves({arrived->comm, arrived->op, arrived->seq});
        } else if (const auto* sample = event.as<ValueSample>()) {
            const Time lasted(static_cast<std::int64_t>(sample->value * 1e9));
            if (evidence_.text(sample->name) == SampleName::processor_wait) starved_ += lasted;
            if (evidence_.text(sample->name) != SampleName::message_wait) return;
            const Time began = event.at - lasted;
            if (joined_) computed_ += std::max(began - last_, Time{0});
        } else if (const auto* phase = event.as<PhaseBegin>()) {
            const bool follows = !stretch_.actions.empty() && event.at == last_ &&
                                 stretch_.actions.back().kind == RecordedAction::Kind::phase;
            if (follows) {  // it takes the place of the end of the phase before it
                computed_ += stretch_.actions.back().before;
                stretch_.actions.pop_back();
            }
            act(event.at, {.phase = phase->phase});
        } else if (event.as<PhaseEnd>()) {
            act(event.at, {});
        } else if (event.as<StepBegin>()) {
            step_begins(event.at);
        } else if (const auto* end = event.as<StepEnd>()) {
            step_ends(event.at, *end);
        } else {
            return;
        }
        last_ = event.at;
    }

    RecordedRank finish() {
        rank_.end = std::move(stretch_);
        return std::move(rank_);
    }

private:
    using CallKey = std::tuple<CommId, Op, std::int64_t>;  // a collective has no operation here

    // What the rank has computed since it acted last.
    Time spent(Time now) {
        const Time before = std::exchange(computed_, Time{0}) + (joined_ ? now - last_ : Time{0});
        last_ = now;
        return std::max(before, Time{0});
    }

    void act(Time now, RecordedAction action) {
        action.before = spent(now);
        stretch_.actions.push_back(action);
    }

    void enters(const Event& event, RecordedAction action, std::optional<std::int32_t> group,
                const CallKey& key) {
        if (!group || action.op == Op::none) return;
        action.group = *group;
        act(event.at, action);
        calls_[key] = made_++;
    }

    void leaves(const CallKey& key) {
        const auto found = calls_.find(key);
        if (found == calls_.end()) return;
        stretch_.actions.push_back({.kind = RecordedAction::Kind::wait,
                                    .back = made_ - 1 - found->second,
                                    .before = std::exchange(computed_, Time{0})});
        calls_.erase(found);
    }

    // What the rank does between two steps is played in the second one.
    void step_begins(Time now) {
        inside_ = true;
        if (!begun_) {
            begun_ = true;
            stretch_.after = spent(now);
            rank_.start = std::exchange(stretch_, {});
        } else if (stretch_.actions.empty()) {
            stretch_.before = spent(now);
        }
    }

    void step_ends(Time now, const StepEnd& end) {
        if (!std::exchange(inside_, false)) return;
        stretch_.after = spent(now);
        leave_out_starvation();
        stretch_.loss = end.loss;
        stretch_.gradient_norm = end.gradient_norm;
        rank_.steps.push_back(std::exchange(stretch_, {}));
    }

    // A rank without a processor does not compute. How long it waited for one depends on the recording
    // machine.
    void leave_out_starvation() {
        Time computed = stretch_.before + stretch_.after;
        for (const RecordedAction& action : stretch_.actions) computed += action.before;
        const Time left = std::max(computed - std::exchange(starved_, Time{0}), Time{0});
        if (left == computed) return;
        const double share = static_cast<double>(left.count()) / static_cast<double>(computed.count());
        const auto shorten = [&](Time& time) {
            time = Time(static_cast<std::int64_t>(static_cast<double>(time.count()) * share));
        };
        shorten(stretch_.before);
        shorten(stretch_.after);
        for (RecordedAction& action : stretch_.actions) shorten(action.before);
    }

    const Evidence& evidence_;
    RecordedRank rank_;
    RecordedStretch stretch_;
    std::map<CallKey, std::int64_t> calls_;  // under way: the rank's how many-th
    std::int64_t made_ = 0;
    Time last_{0}, computed_{0}, starved_{0};
    bool joined_ = false, begun_ = false, inside_ = false;
};

tl::unexpected<scenarios::Error> refuse_run(std::string what) {
    return scenarios::refuse(ErrorCode::bad_input, std::move(what),
                             "record a healthy run: `deadrank watch --record DIR -- torchrun train.py`");
}

}  // namespace

scenarios::Result<RecordedJob> recording_of(const Evidence& evidence) {
    const auto& lives = evidence.facts<analysis::Lives>();
    if (lives.attempts() != 1)
        return refuse_run(fmt::format("the job was started {} times", lives.attempts()));
    for (const analysis::Life& life : lives.of(0))
        if (life.failed()) return refuse_run(fmt::format("rank {} failed", life.process));
    RecordedJob job{.nodes = std::max(1, lives.nodes())};
    Groups groups(evidence.facts<analysis::Calls>(), job.recording);
    std::vector<RankReader> readers(static_cast<std::size_t>(evidence.world_size()), RankReader(evidence));
    for (const Event& event : evidence.events()) {
        if (event.rank < 0 || static_cast<std::size_t>(event.rank) >= readers.size()) continue;
        if (const auto* joins = event.as<CommInitEnter>()) groups.made(joins->comm);
        readers[static_cast<std::size_t>(event.rank)].take(event, groups);
    }
    for (RankReader& reader : readers) job.recording.ranks.push_back(reader.finish());
    if (job.recording.steps() == 0) return refuse_run("rank 0 ended no step");
    for (std::size_t rank = 0; rank < job.recording.ranks.size(); ++rank)
        if (const std::size_t steps = job.recording.ranks[rank].steps.size(); steps != job.recording.steps())
            return refuse_run(fmt::format("rank {} ended {} steps, and rank 0 ended {}", rank, steps,
                                          job.recording.steps()));
    return job;
}

}  // namespace deadrank::runners
