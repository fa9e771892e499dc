// results/facts/endings.cpp — The last calls of all ranks against how they left, who calls for others that
// have done their steps and left, and the calls that came after an error that was caught.
#include "results/facts/endings.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

#include "results/facts/call_order.h"
#include "results/facts/calls.h"
#include "results/facts/complaints.h"
#include "results/facts/findings.h"
#include "results/facts/lives.h"
#include "results/facts/waits.h"

namespace deadrank::results::detectors {

namespace {

constexpr std::int64_t agreement_max = 8;  // elements; a flag or a measure, where gradients have many

// Ranks that call others in their steps, with the step in which each of them left. The others, such as a
// process that watches another, leave when those have left.
std::optional<std::map<Rank, std::int64_t>> left_within_a_step(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<Rank, Time> began;
    for (const Event* event : evidence.each<StepBegin>())
        if (lives.attempt_at(event->at) == attempt) began.try_emplace(event->rank, event->at);
    std::set<Rank> callers;
    for (const Event* event : evidence.each<CollectiveEnter>()) {
        const auto first = began.find(event->rank);
        if (first != began.end() && event->at >= first->second) callers.insert(event->rank);
    }
    std::map<Rank, std::int64_t> left;
    for (const Life& life : lives.of(attempt)) {
        if (!life.start) continue;
        if (life.ended == never || life.failed()) return std::nullopt;
        if (!callers.contains(life.process)) continue;
        if (life.step <= life.finished) return std::nullopt;
        if (!left.empty() && left.begin()->second != life.step) return std::nullopt;
        left[life.process] = life.step;
    }
    return left.empty() ? std::nullopt : std::optional(left);
}

// The last moment at which one of these ranks began that step.
Time last_to_begin(const Evidence& evidence, const std::map<Rank, std::int64_t>& ranks, std::int64_t step) {
    Time last{0};
    for (const Event* event : evidence.each<StepBegin>())
        if (event->as<StepBegin>()->step == step && ranks.contains(event->rank))
            last = std::max(last, event->at);
    return last;
}

bool can_be_an_agreement(const CollectiveEnter& what) {
    return what.count <= agreement_max || what.dtype == Dtype::i64 || what.dtype == Dtype::i32 ||
           what.dtype == Dtype::i8;
}

}  // namespace

bool agreed_to_end(const Evidence& evidence) {
    const int attempt = evidence.facts<Lives>().attempts() - 1;
    const auto left = left_within_a_step(evidence, attempt);
    if (!left) return false;
    const std::int64_t step = left->begin()->second;
    const Time within = last_to_begin(evidence, *left, step),
               before = last_to_begin(evidence, *left, step - 1);
    const auto saves = evidence.each<CheckpointSave>();
    if (std::any_of(saves.begin(), saves.end(), [&](const Event* save) { return save->at >= before; }))
        return true;
    std::set<Rank> met;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (comm.attempt != attempt || comm.collectives.empty()) continue;
        const auto& calls = comm.collectives.rbegin()->second.calls;
        const bool all = std::all_of(calls.begin(), calls.end(), [&](const Call& call) {
            return call.what && call.left != never &&
                   call.entered >= (can_be_an_agreement(*call.what) ? before : within);
        });
        if (all) met.insert(comm.processes.begin(), comm.processes.end());
    }
    return std::all_of(left->begin(), left->end(), [&](const auto& one) { return met.contains(one.first); });
}

// The ranks that wait are at fault for having called at all.
void Waits::tell_beyond(Standstill& found) const {
    const std::string call =
        fmt::format("{} {} of {}", name_of(found.last.op), found.last.seq, found.last.comm->name);
    const auto unused = groups_left_unused(evidence_, attempt_, found.stuck);
    const bool instead = called_the_world_instead(found);
    found.why = instead
                    ? fmt::format(
                          "{} entered {}, and {} call nothing there in all their steps; the "
                          "callers' own groups are unused: {}",
                          ranks_text(found.stuck), call, ranks_text(found.culprits), fmt::join(unused, ", "))
                    : fmt::format("{} went on to {} after {} had done all steps and left",
                                  ranks_text(found.stuck), call, ranks_text(found.culprits));
    found.kind = Root::beyond;
    found.culprits = found.stuck;
    found.cause = instead ? "group_construction_error" : "rank_divergent_control_flow";
}

// A part of the ranks calls on all of them, as a call without a group does, and the others have done their
// steps and left without ever calling there. Where the callers made groups of their own in which nobody
// calls, one of those was meant.
bool Waits::called_the_world_instead(const Standstill& found) const {
    if (found.culprits.empty()) return false;
    const Communicator& comm = *found.last.comm;
    const auto ended_well = [&](Rank rank) {
        const Life* life = lives_.find(attempt_, rank);
        return life && life->ended <= when_ && !life->failed() && life->finished >= 0 &&
               life->finished == life->step && !calls_in_its_steps(evidence_, comm, rank);
    };
    const bool there_alone = std::all_of(waits_.begin(), waits_.end(), [&](const auto& entry) {
        return entry.second.size() == 1 && entry.second.front().comm == &comm;
    });
    return there_alone && std::ssize(comm.processes) == lives_.count() &&
           std::all_of(found.culprits.begin(), found.culprits.end(), ended_well) &&
           !groups_left_unused(evidence_, attempt_, found.stuck).empty();
}

namespace {

// Which of these ranks, ascending, are named by any of the events.
class Ticks {
public:
    explicit Ticks(const std::vector<Rank>& ranks) : ranks_(ranks), ticked_(ranks.size()) {}

    void tick(Rank rank) {
        const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
        if (at != ranks_.end() && *at == rank) ticked_[static_cast<std::size_t>(at - ranks_.begin())] = true;
    }
    bool has(std::size_t place) const { return ticked_[place]; }

private:
    const std::vector<Rank>& ranks_;
    std::vector<bool> ticked_;
};

}  // namespace

bool outlived(const Evidence& evidence, const Outbreak& outbreak) {
    const Lives& lives = evidence.facts<Lives>();
    Ticks called(outbreak.ranks), timed_out(outbreak.ranks);
    for (const Event* event : evidence.each<CollectiveEnter>()) {
        if (event->at >= outbreak.at && lives.attempt_at(event->at) == outbreak.attempt)
            called.tick(event->rank);
    }
    for (const Complaint& complaint : evidence.facts<Complaints>().all()) {
        if (complaint.trouble == Trouble::timeout && complaint.attempt == outbreak.attempt &&
            complaint.at > outbreak.at)
            timed_out.tick(complaint.process);
    }
    for (std::size_t i = 0; i < outbreak.ranks.size(); ++i) {
        const Life* life = lives.find(outbreak.attempt, outbreak.ranks[i]);
        const bool died = life && life->failed() && life->signal != 9 && life->signal != 15;
        if (!called.has(i) || (died && !timed_out.has(i))) return false;
    }
    return true;
}

}  // namespace deadrank::results::detectors
