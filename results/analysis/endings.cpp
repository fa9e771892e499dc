// results/analysis/endings.cpp — The last calls of all ranks against how they left, who calls for others that
// have done their steps and left, and the calls that came after an error that was caught.
#include "results/analysis/endings.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "results/analysis/call_order.h"
#include "results/analysis/calls.h"
#include "results/analysis/complaints.h"
#include "results/analysis/findings.h"
#include "results/analysis/lives.h"
#include "results/analysis/numbered_call.h"
#include "results/analysis/waits.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::analysis {

using scenarios::Cause;

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

bool has_agreed_stop(const Evidence& evidence) {
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
void Waits::describe_passed_call(Standstill& found) const {
    const std::string call = numbered_call(found.last.op, found.last.seq, found.last.comm->name);
    const auto unused = find_unused_groups(evidence_, attempt_, found.stuck);
    const bool instead = used_world_instead(found);
    found.why = instead
                    ? fmt::format(
                          "{} entered {}, and {} call nothing there in all their steps; the "
                          "callers' own groups are unused: {}",
                          ranks_text(found.stuck), call, ranks_text(found.culprits), fmt::join(unused, ", "))
                    : fmt::format("{} went on to {} after {} had done all steps and left",
                                  ranks_text(found.stuck), call, ranks_text(found.culprits));
    found.kind = Root::beyond;
    found.culprits = found.stuck;
    found.cause =
        instead ? id_of(Cause::group_construction_error) : id_of(Cause::rank_divergent_control_flow);
}

// A part of the ranks calls on all of them, as a call without a group does, and the others have done their
// steps and left without ever calling there. Where the callers made groups of their own in which nobody
// calls, one of those was meant.
bool Waits::used_world_instead(const Standstill& found) const {
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
           !find_unused_groups(evidence_, attempt_, found.stuck).empty();
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

// ── A rank that destroys its groups calls nothing any more: who waits for it waits in vain. Texts: torch
// 2.11, ProcessGroupNCCL.

namespace {

constexpr std::string_view teardown_begins = "Starting to destroy process group",
                           teardown_ends = "Operations flushed, joining", id_word = "[PG ID ";

// "[PG ID 3 PG GUID …": groups are numbered from 0.
CommId group_in_line(std::string_view line) {
    CommId id = 0;
    const auto at = line.find(id_word);
    if (at == std::string_view::npos) return 0;
    const char* const from = line.data() + at + id_word.size();
    return std::from_chars(from, line.data() + line.size(), id).ec == std::errc() ? id + 1 : 0;
}

}  // namespace

Teardowns::Teardowns(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    for (const Event* event : evidence.each<RankLog>()) {
        const std::string_view line = evidence.text(event->as<RankLog>()->line);
        const bool start = line.find(teardown_begins) != std::string_view::npos;
        if (!start && line.find(teardown_ends) == std::string_view::npos) continue;
        const CommId comm = group_in_line(line);
        if (start) {
            all_.push_back({event->rank, lives.attempt_at(event->at), comm, event->at});
            continue;
        }
        const auto open = std::find_if(all_.rbegin(), all_.rend(), [&](const Teardown& one) {
            return one.process == event->rank && one.comm == comm && one.left == never;
        });
        if (open != all_.rend()) open->left = event->at;
    }
}

// Those whom nobody waits for wait for the members on their node that have not come to it.
void Waits::take_teardowns() {
    const std::vector<Teardown>& all = evidence_.facts<Teardowns>().all();
    std::vector<Rank> awaited;
    for (const auto& [process, waits] : waits_)
        for (const Wait& wait : waits)
            awaited.insert(awaited.end(), wait.for_whom.begin(), wait.for_whom.end());
    awaited = sorted(std::move(awaited));
    for (const Teardown& teardown : all) {
        const Rank process = teardown.process;
        const Communicator* comm = calls_.find(attempt_, teardown.comm);
        const Life* life = lives_.find(attempt_, process);
        if (teardown.attempt != attempt_ || !comm || !teardown.open_at(when_) || !life ||
            !life->alive_at(when_))
            continue;
        if (std::binary_search(awaited.begin(), awaited.end(), process)) {
            waits_.erase(process);
            continue;
        }
        if (waits_.contains(process)) continue;
        std::vector<Rank> absent;
        for (const Rank member : comm->processes) {
            const Life* other = lives_.find(attempt_, member);
            const bool came = std::any_of(all.begin(), all.end(), [&](const Teardown& one) {
                return one.process == member && one.comm == teardown.comm && one.attempt == attempt_ &&
                       one.entered <= when_;
            });
            if (!came && other && other->alive_at(when_) && lives_.node_of(member) == lives_.node_of(process))
                absent.push_back(member);
        }
        if (!absent.empty())
            waits_[process].push_back({comm, Op::none, 0, teardown.entered, sorted(std::move(absent))});
    }
}

std::string Waits::call_text(const Wait& wait) {
    return wait.op == Op::none ? fmt::format("destroy_process_group of {}", wait.comm->name)
                               : numbered_call(wait.op, wait.seq, wait.comm->name);
}

// Whether all of the culprits destroy their groups, and one of them in the middle of a step: an exception has
// brought it there that nobody has heard of yet.
void Waits::describe_teardown(Standstill& found) const {
    bool within_a_step = false;
    for (const Rank culprit : found.culprits) {
        const auto& all = evidence_.facts<Teardowns>().all();
        if (std::none_of(all.begin(), all.end(), [&](const Teardown& one) {
                return one.process == culprit && one.attempt == attempt_ && one.open_at(when_);
            }))
            return;
        const Life* life = lives_.find(attempt_, culprit);
        within_a_step |= life && life->step > life->finished;
    }
    const bool one = found.culprits.size() == 1;
    found.why += one ? ", and waits in destroy_process_group" : ", and wait in destroy_process_group";
    if (!within_a_step) return;
    found.why += one ? ": it left in the middle of a step" : ": they left in the middle of a step";
    found.else_cause = std::exchange(found.cause, id_of(Cause::unpropagated_rank_failure));
}

}  // namespace deadrank::results::analysis
