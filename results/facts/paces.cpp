// results/facts/paces.cpp — How long each rank took for each step, how much of that was its own, and how long
// calls took once all members had come. The end of an asynchronous send says nothing about its sender, and a
// rank that writes a checkpoint for all is not slow.
#include "results/facts/paces.h"

#include <algorithm>
#include <limits>
#include <map>

#include "results/facts/lives.h"

namespace deadrank::results::detectors {

// The end of an asynchronous send says nothing about its sender, and is skipped.

namespace {

struct Watch {
    std::int64_t step = 0;
    Time began{0};
    Time last{0};
    Time own{0}, starved{0}, phase_began{-1};
    int open = 0;              // calls of this step that have not been seen to end
    std::int32_t trained = 0;  // microseconds
    bool inside = false, saving = false;
};

std::int32_t microseconds(Time time) {
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(time.count() / 1000, std::numeric_limits<std::int32_t>::max()));
}

Time lower_median(std::vector<Time> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

}  // namespace

// A step over all ranks: its medians, when it ended, and how long a rank had no processor.
void Paces::close(StepPace&& step) {
    std::vector<Time> own, whole, trained;
    for (const Pace& pace : step.ranks) {
        own.push_back(pace.own);
        whole.push_back(pace.whole);
        trained.push_back(std::chrono::microseconds(pace.trained));
        step.ended = std::max(step.ended, pace.ended);
        step.starved = std::max(step.starved, pace.starved);
    }
    step.own = lower_median(std::move(own));
    step.whole = lower_median(std::move(whole));
    step.trained = lower_median(std::move(trained));
    step.first = steps_.empty() || steps_.back().attempt != step.attempt;
    steps_.push_back(std::move(step));
}

Paces::Paces(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Watch> watches(static_cast<std::size_t>(lives.count()));
    std::map<std::pair<int, std::int64_t>, StepPace> steps;
    StepPace* last = nullptr;
    for (const Event& event : evidence.events()) {
        if (event.rank < 0) continue;
        Watch& watch = watches[static_cast<std::size_t>(event.rank)];
        if (const auto* begin = event.as<StepBegin>()) {
            watch = {.step = begin->step, .began = event.at, .last = event.at, .inside = true};
            continue;
        }
        if (!watch.inside) continue;
        const bool send_ended = event.as<P2pLeave>() && event.as<P2pLeave>()->op == Op::send;
        if (event.as<CollectiveEnter>() || event.as<P2pEnter>()) {
            if (!watch.saving) watch.own += event.at - watch.last;
            watch.last = event.at;
            watch.open += !event.as<P2pEnter>() || event.as<P2pEnter>()->op != Op::send;
            pipelined_ |= event.as<P2pEnter>() != nullptr;
        } else if (const auto* saving = event.as<PhaseBegin>();
                   saving && saving->phase == Phase::checkpoint) {
            if (!watch.saving) watch.own += event.at - watch.last;
            watch.last = event.at;
            watch.saving = true;
        } else if (const auto* saved = event.as<PhaseEnd>(); saved && saved->phase == Phase::checkpoint) {
            watch.last = event.at;
            watch.saving = false;
        } else if (event.as<PhaseBegin>()) {
            watch.phase_began = event.at;
        } else if (event.as<PhaseEnd>()) {
            if (watch.phase_began >= Time{0})
                watch.trained =
                    microseconds(std::chrono::microseconds(watch.trained) + event.at - watch.phase_began);
            watch.phase_began = Time{-1};
        } else if (event.as<CollectiveLeave>() || (event.as<P2pLeave>() && !send_ended)) {
            watch.last = event.at;
            watch.open = std::max(0, watch.open - 1);
        } else if (const auto* sample = event.as<ValueSample>()) {
            const std::string_view name = evidence.text(sample->name);
            // Either its own thread had no processor, or the library's thread that reports the end of calls.
            if (name == "processor_wait" || name == "transfer_wait")
                watch.starved += Time(static_cast<std::int64_t>(sample->value * 1e9));
            starvation_told_ |= name == "processor_wait";
        } else if (const auto* end = event.as<StepEnd>()) {
            watch.inside = false;
            if (end->step != watch.step) continue;
            const int attempt = lives.attempt_at(event.at);
            if (!last || last->attempt != attempt || last->step != end->step) {
                last = &steps[{attempt, end->step}];
                last->attempt = attempt;
                last->step = end->step;
            }
            // A call may be reported to end after the step: then the rank waited, for an unknown time.
            const Time rest = watch.open > 0 ? Time{0} : event.at - watch.last;
            last->ranks.push_back({event.rank, watch.trained, watch.own + rest, event.at - watch.began,
                                   event.at, watch.starved});
        }
    }
    for (auto& [key, step] : steps) close(std::move(step));
}

// A transfer begins when the last member came, or when the transfer before it ended.

std::vector<CommTransfers> transfers_of(const Evidence& evidence) {
    std::vector<CommTransfers> all;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        CommTransfers transfers{.comm = &comm};
        Time before{0};
        for (const auto& [seq, collective] : comm.collectives) {
            Time left{0};
            for (const Call& call : collective.calls) left = std::max(left, call.left);
            const Time complete = collective.complete_at();
            if (complete == never || left == never || collective.calls.size() < 2) continue;
            const CollectiveEnter& what = *collective.calls.front().what;
            const Time began = std::max(complete, before);
            // With asynchronous calls the end of a later one may be seen first, if it is waited for first.
            const Time first_left =
                std::min_element(collective.calls.begin(), collective.calls.end(),
                                 [](const Call& a, const Call& b) { return a.left < b.left; })
                    ->left;
            transfers.kinds[{what.op, what.count * size_of(what.dtype)}].push_back(
                {left, std::max(Time{0}, first_left - began)});
            before = std::max(before, first_left);
        }
        all.push_back(std::move(transfers));
    }
    return all;
}

}  // namespace deadrank::results::detectors
