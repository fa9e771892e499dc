// results/analysis/paces.cpp — How long each rank took for each step, and how much of that was its own. A
// rank that writes a checkpoint for all is not slow.
#include "results/analysis/paces.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "results/analysis/chores.h"
#include "results/analysis/lives.h"
#include "results/analysis/messages.h"
#include "results/record/event_names.h"

namespace deadrank::results::analysis {

namespace {

// Between two steps: the rank's own time of the second one.
constexpr Time stands_still = std::chrono::seconds(10);
constexpr std::int64_t idle_share = 10;  // less than that part of a rank's work for all is nothing

struct Watch {
    std::int64_t step = 0;
    Time began{0};
    Time last{0};
    Time own{0};
    Time turned{-1};                                    // when a phase of this step began or ended last
    std::int32_t open = 0;                              // calls of this step that have not been seen to end
    std::int32_t trained = 0, starved = 0, unattributed = 0;  // microseconds
    std::int32_t read = 0;                              // samples of this step
    std::int32_t usual = 0;                             // of the first step that read any
    std::int32_t epoch = -1;                            // of the samples read last
    std::uint32_t others = 0;                           // events that were no message
    bool inside = false, saving = false, epoch_begins = false, in_phase = false;
    bool called = false;  // in this step: then `last` is the end of a call or of a save
    bool idle = false;    // it has done nothing since its step ended, at `last`
};

// A broadcast, scatter or barrier that ranks have entered, and whose root or last member has not come.
struct Awaited {
    std::int64_t seq = -1;
    std::size_t came = 0;
    Time longest{0};  // the own time with which one of them came
};

// Who works for all, by communicator: see the header.
class Errands {
public:
    explicit Errands(const Evidence& evidence)
        : lives_(evidence.facts<Lives>()), calls_(evidence.facts<Calls>()) {}

    void begins_step(Rank rank) {
        open_.erase(rank);
        chores_.erase(rank);
    }
    // How much of the rank's time until now was work for all.
    Time enters(const Event& event, const Watch& watch) {
        const auto* enter = event.as<CollectiveEnter>();
        if (enter && enter->op == Op::barrier) return meets(event, *enter, watch);
        if (!enter || enter->root < 0 || (enter->op != Op::broadcast && enter->op != Op::scatter))
            return Time{0};
        const Communicator* comm = calls_.find(lives_.attempt_at(event.at), enter->comm);
        const auto root = static_cast<std::size_t>(enter->root);
        if (!comm || root >= comm->processes.size() || watch.saving) return Time{0};
        Awaited& awaited = awaited_[enter->comm];
        if (awaited.seq != enter->seq) awaited = {.seq = enter->seq};
        if (comm->processes[root] != event.rank) {
            ++awaited.came;
            awaited.longest = std::max(awaited.longest, event.at - watch.last);
            return Time{0};
        }
        const Time since = idle_since(watch);
        const Time work = event.at - since;
        const bool all_wait = awaited.came > 0 && awaited.came + 1 == comm->processes.size();
        if (since < Time{0} || !all_wait || awaited.longest * idle_share >= work) return Time{0};
        Errand& errand = open_[event.rank];
        errand.comm = enter->comm;
        errand.members = comm->processes.size();
        errand.lasted += work;
        return work;
    }
    std::optional<Errand> of(Rank rank) const {
        const auto found = open_.find(rank);
        return found == open_.end() ? std::nullopt : std::optional(found->second);
    }
    // What the rank did in this step before barriers, while all others waited in them.
    Time chore_of(Rank rank) const {
        const auto found = chores_.find(rank);
        return found == chores_.end() ? Time{0} : found->second;
    }

private:
    static Time idle_since(const Watch& watch) {
        return std::max(watch.called ? watch.last : Time{-1}, watch.turned);
    }

    Time meets(const Event& event, const CollectiveEnter& enter, const Watch& watch) {
        const Communicator* comm = calls_.find(lives_.attempt_at(event.at), enter.comm);
        if (!comm || comm->processes.size() < 2 || watch.saving) return Time{0};
        Awaited& awaited = awaited_[enter.comm];
        if (awaited.seq != enter.seq) awaited = {.seq = enter.seq};
        const Time since = idle_since(watch);
        const Time work = event.at - (since < Time{0} ? watch.last : since);
        if (++awaited.came == comm->processes.size() && since >= Time{0} &&
            is_negligible(awaited.longest, work))
            chores_[event.rank] += work;
        awaited.longest = std::max(awaited.longest, work);
        return Time{0};  // the end of the step decides whether this was a chore
    }

    const Lives& lives_;
    const Calls& calls_;
    std::map<CommId, Awaited> awaited_;
    std::map<Rank, Errand> open_;
    std::map<Rank, Time> chores_;
};

std::int32_t microseconds(Time time) {
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(time.count() / 1000, std::numeric_limits<std::int32_t>::max()));
}

Time seconds(double count) { return Time(static_cast<std::int64_t>(count * 1e9)); }

}  // namespace

Time lower_median(std::vector<Time> times) {
    if (times.empty()) return Time{0};
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

namespace {

// Splits the time of a rank's steps into its own and others' at the beginning of a step, at calls and at
// phases.
class Timing {
public:
    explicit Timing(const Evidence& evidence) : errands_(evidence), messages_(evidence) {}

    std::optional<Errand> errand_of(Rank rank) const { return errands_.of(rank); }
    Time chore_of(Rank rank) const { return errands_.chore_of(rank); }

    // False for all other events.
    bool takes(const Event& event, Watch& watch) {
        if (const auto* begin = event.as<StepBegin>()) {
            const Time stood = watch.idle ? event.at - watch.last : Time{0};
            watch = {.step = begin->step,
                     .began = event.at,
                     .last = event.at,
                     .own = stood >= stands_still ? stood : Time{0},
                     .usual = watch.usual,
                     .epoch = watch.epoch,
                     .others = watch.others + 1,
                     .inside = true};
            errands_.begins_step(event.rank);
            return true;
        }
        if (acts(event)) watch.idle = false;
        if (event.as<P2pEnter>()) {
            messages_.enters(event, watch.others);
            if (watch.inside) call_begins(event, watch);
        } else if (event.as<P2pLeave>()) {
            const UnderWay message = messages_.leaves(event, watch.others);
            if (watch.inside) message_ends(event, message, watch);
        } else {
            ++watch.others;
            return watch.inside && takes_no_message(event, watch);
        }
        return true;
    }

    // The rank said so: nothing about this stretch has to be guessed from the ends of its messages.
    static void message_wait_ends(Time now, Time lasted, Watch& watch) {
        if (!watch.saving) watch.own += std::max(now - lasted - watch.last, Time{0});
        watch.last = now;
    }

private:
    static bool acts(const Event& event) {
        return event.as<P2pEnter>() || event.as<CollectiveEnter>() || event.as<PhaseBegin>() ||
               event.as<results::CheckpointSave>() || event.as<results::RankStart>();
    }

    void call_begins(const Event& event, Watch& watch) {
        const Time for_all = errands_.enters(event, watch);
        if (!watch.saving) watch.own += event.at - watch.last - for_all;
        watch.last = event.at;
        watch.open += !event.as<P2pEnter>() || event.as<P2pEnter>()->op != Op::send;
    }

    static void call_ends(const Event& event, Watch& watch) {
        watch.last = event.at;
        watch.called = true;
        watch.open = std::max(0, watch.open - 1);
    }

    // A send counts where nothing else of the rank shows meanwhile. One that goes beside other work is not
    // waited for.
    static void message_ends(const Event& event, const UnderWay& sent, Watch& watch) {
        if (event.as<P2pLeave>()->op != Op::send) {
            if (sent.mark != watch.others && !watch.saving)
                watch.unattributed += microseconds(event.at - watch.last);
            return call_ends(event, watch);
        }
        if (sent.to <= sent.from || sent.mark != watch.others || watch.saving) return;
        const Time waited = std::max(sent.to - std::max(sent.from, watch.last), Time{0});
        watch.own += event.at - watch.last - waited;
        watch.last = event.at;
    }

    bool takes_no_message(const Event& event, Watch& watch) {
        if (event.as<CollectiveEnter>()) {
            call_begins(event, watch);
        } else if (event.as<CollectiveLeave>()) {
            call_ends(event, watch);
        } else if (const auto* begin = event.as<PhaseBegin>()) {
            phase_begins(event.at, begin->phase, watch);
        } else if (const auto* end = event.as<PhaseEnd>()) {
            phase_ends(event.at, end->phase, watch);
        } else {
            return false;
        }
        return true;
    }

    static bool aside(Phase phase) { return phase == Phase::checkpoint || phase == Phase::evaluate; }

    static void phase_begins(Time now, Phase phase, Watch& watch) {
        if (aside(phase)) {
            if (!watch.saving) watch.own += now - watch.last;
            watch.last = now;
            watch.saving = true;
        } else {
            watch.turned = now;
            watch.in_phase = true;
        }
    }

    static void phase_ends(Time now, Phase phase, Watch& watch) {
        if (aside(phase)) {
            watch.last = now;
            watch.saving = false;
            return;
        }
        if (watch.in_phase)
            watch.trained = microseconds(std::chrono::microseconds(watch.trained) + now - watch.turned);
        watch.turned = now;
        watch.in_phase = false;
    }

    Errands errands_;
    Messages messages_;
};

// What the roots of several groups of a size do can be compared: who takes longer than their median is slow.
// All other work for all is taken as it is.
void leave_out(StepPace& step, const std::vector<Errand>& errands) {
    std::map<std::size_t, std::vector<Time>> alike;
    std::map<std::size_t, std::set<CommId>> groups;
    for (const Errand& errand : errands) {
        alike[errand.members].push_back(errand.lasted);
        groups[errand.members].insert(errand.comm);
    }
    std::map<std::size_t, Time> usual;
    for (auto& [members, times] : alike)
        if (groups[members].size() > 1) usual[members] = lower_median(std::move(times));
    for (const Errand& errand : errands) {
        const auto median = usual.find(errand.members);
        const Time left_out = median == usual.end() ? errand.lasted : std::min(errand.lasted, median->second);
        step.ranks[errand.place].own += errand.lasted - left_out;
        if (left_out <= step.for_all) continue;
        step.for_all = left_out;
        step.worker = step.ranks[errand.place].process;
    }
}

// Where ranks are missing, those that are left take their shares: no more than are due to each.
void divide(StepPace& step, std::size_t most_ranks, const std::vector<Portion>& portions) {
    if (step.ranks.size() >= most_ranks) return;
    const auto due = static_cast<std::int64_t>((most_ranks + step.ranks.size() - 1) / step.ranks.size());
    for (const Portion& portion : portions) {
        if (portion.read > portion.usual * due) continue;
        Time& own = step.ranks[portion.place].own;
        own = own * portion.usual / portion.read;
    }
}

}  // namespace

// Its medians, when it ended, and how long a rank had no processor.
void summarize(StepPace& step) {
    const auto median = [&](auto&& of) {  // one at a time: there may be a million ranks
        std::vector<Time> all;
        all.reserve(step.ranks.size());
        for (const Pace& pace : step.ranks) all.push_back(of(pace));
        return lower_median(std::move(all));
    };
    step.ended = step.starved = Time{0};
    for (const Pace& pace : step.ranks) {
        step.ended = std::max(step.ended, pace.ended);
        step.starved = std::max(step.starved, pace.starved());
    }
    step.own = median([](const Pace& pace) { return pace.own; });
    step.at_most = median([](const Pace& pace) { return pace.own + pace.unattributed(); });
    step.whole = median([](const Pace& pace) { return pace.whole; });
    step.trained = median([](const Pace& pace) { return Time(std::chrono::microseconds(pace.trained)); });
}

void Paces::close(StepPace&& step, const std::vector<Errand>& errands, const std::vector<Portion>& portions) {
    leave_out(step, errands);
    most_ranks_ = std::max(most_ranks_, step.ranks.size());
    divide(step, most_ranks_, portions);
    summarize(step);
    step.first = steps_.empty() || steps_.back().attempt != step.attempt;
    steps_.push_back(std::move(step));
}

namespace {

struct GatheredStep {
    StepPace pace;
    std::vector<Errand> errands;
    std::vector<Portion> portions;
    std::vector<Chore> chores;
    Rests rests;
};

// `last`: of the watch, up to this end.
void rank_ends(const Event& end, Time last, Watch& watch, const Timing& timing, GatheredStep& step) {
    // A call may be reported to end after the step: then the rank waited, for an unknown time.
    const Time rest = watch.open > 0 ? Time{0} : end.at - last;
    if (auto errand = timing.errand_of(end.rank)) {
        errand->place = step.pace.ranks.size();
        step.errands.push_back(*errand);
    }
    if (const Time chore = timing.chore_of(end.rank); chore > Time{0})
        step.chores.push_back({end.rank, chore});
    step.pace.called |= watch.called || watch.open > 0;
    step.rests.add(end.rank, watch.called ? rest : Time{0});
    if (watch.usual == 0) watch.usual = watch.read;
    if (watch.read > watch.usual) step.portions.push_back({step.pace.ranks.size(), watch.read, watch.usual});
    step.pace.ranks.push_back({end.rank, watch.trained, watch.own + rest, end.at - watch.began, end.at,
                               watch.starved, watch.unattributed});
}

}  // namespace

Paces::Paces(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Watch> watches(static_cast<std::size_t>(lives.count()));
    std::map<std::pair<int, std::int64_t>, GatheredStep> steps;
    GatheredStep* last = nullptr;
    Timing timing(evidence);
    for (const Event& event : evidence.events()) {
        if (event.rank < 0) continue;
        Watch& watch = watches[static_cast<std::size_t>(event.rank)];
        pipelined_ |= watch.inside && event.as<P2pEnter>();
        if (timing.takes(event, watch) || !watch.inside) continue;
        if (const auto* sample = event.as<ValueSample>()) {
            const std::string_view name = evidence.text(sample->name);
            if (name == SampleName::message_wait)
                timing.message_wait_ends(event.at, seconds(sample->value), watch);
            // Either its own thread had no processor, or the library's thread that reports the end of calls.
            if (name == SampleName::processor_wait || name == SampleName::transfer_wait)
                watch.starved += microseconds(seconds(sample->value));
            has_starvation_data_ |= name == SampleName::processor_wait;
        } else if (const auto* batch = event.as<DataBatch>()) {
            watch.read += batch->count;
            watch.epoch_begins |= watch.epoch >= 0 && batch->epoch != watch.epoch;
            watch.epoch = static_cast<std::int32_t>(batch->epoch);
        } else if (const auto* end = event.as<StepEnd>()) {
            watch.inside = false;
            watch.idle = true;
            const Time before = std::exchange(watch.last, event.at);
            if (end->step != watch.step) continue;
            const int attempt = lives.attempt_at(event.at);
            if (!last || last->pace.attempt != attempt || last->pace.step != end->step) {
                last = &steps[{attempt, end->step}];
                last->pace.attempt = attempt;
                last->pace.step = end->step;
            }
            last->pace.epoch_begins |= watch.epoch_begins;
            rank_ends(event, before, watch, timing, *last);
        }
    }
    std::vector<Watch>().swap(watches);
    Chores chores;
    for (auto& [key, step] : steps) {
        chores.leave_out_of(step.pace, std::move(step.chores), step.rests, pipelined_);
        close(std::move(step.pace), step.errands, step.portions);
    }
    // Where an epoch is hardly longer than a step, nothing is left to compare its first step with.
    const auto begins =
        std::count_if(steps_.begin(), steps_.end(), [](const StepPace& step) { return step.epoch_begins; });
    if (begins * 2 > std::ssize(steps_))
        for (StepPace& step : steps_) step.epoch_begins = false;
}

}  // namespace deadrank::results::analysis
