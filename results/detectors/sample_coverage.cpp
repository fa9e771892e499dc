// results/detectors/sample_coverage.cpp — Samples are seen twice, left out, or come in the same order every
// epoch. Within an epoch no sample may come twice, except on ranks that compute it together, which must read
// the same ones; no two epochs may have the same shuffled order; after a restart the samples must be the same
// as before.
#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "results/analysis/calls.h"
#include "results/analysis/dealt_samples.h"
#include "results/analysis/endings.h"
#include "results/analysis/findings.h"
#include "results/analysis/samples.h"
#include "results/detectors/shared.h"
#include "results/record/event_names.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

constexpr std::array<std::string_view, 5> together = {"tp", "pp", "cp", "sp", "mp"};
constexpr std::size_t conflicts_max = 100'000;  // enough to see who is in most of them

// Ranks that say themselves to which replica they belong, by its name; the last word of each rank counts.
std::map<std::string_view, std::vector<Rank>> find_stated_replicas(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<Rank, std::string_view> told;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        const bool known = event->rank >= 0 && event->rank < lives.count();
        if (known && evidence.text(config->name) == ConfigName::data_replica &&
            lives.attempt_at(event->at) == attempt)
            told[event->rank] = evidence.text(config->value);
    }
    std::map<std::string_view, std::vector<Rank>> replicas;
    for (const auto& [rank, name] : told) replicas[name].push_back(rank);
    return replicas;
}

// Ranks that share a model read the same samples: the lowest of them stands for all.
std::vector<Rank> replicas_of(const Evidence& evidence, int attempt) {
    std::vector<Rank> head(static_cast<std::size_t>(evidence.facts<Lives>().count()));
    for (std::size_t i = 0; i < head.size(); ++i) head[i] = static_cast<Rank>(i);
    const auto find = [&](Rank rank) {
        while (head[static_cast<std::size_t>(rank)] != rank) rank = head[static_cast<std::size_t>(rank)];
        return rank;
    };
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        const bool shares = std::find(together.begin(), together.end(), comm.name) != together.end();
        if (!shares || comm.attempt != attempt) continue;
        Rank first = no_rank;
        for (const Rank process : comm.processes) {
            if (process == no_rank) continue;
            if (first == no_rank) first = process;
            const Rank a = find(first), b = find(process);
            head[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
        }
    }
    for (const auto& [name, ranks] : find_stated_replicas(evidence, attempt)) {
        for (const Rank rank : ranks) {
            const Rank a = find(ranks.front()), b = find(rank);
            head[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
        }
    }
    for (std::size_t i = 0; i < head.size(); ++i) head[i] = find(static_cast<Rank>(i));
    return head;
}

struct Seen {
    Rank replica;
    Rank rank;
    std::int64_t step;
};

using Readers = boost::container::small_vector<Seen, 1>;  // of one sample: a single entry, if all is well

Finding sample_finding(const Evidence& evidence, std::vector<Rank> ranks, const Event& event,
                       std::string says, std::vector<std::string> causes) {
    Finding found{.symptom = id_of(Symptom::wrong_sample_coverage),
                  .blame = blame_ranks(evidence.facts<Lives>(), std::move(ranks)),
                  .at = event.at,
                  .says = std::move(says),
                  .causes = std::move(causes)};
    found.blame.step = event.as<DataBatch>()->step;
    return found;
}

std::vector<Finding> overlaps(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    const auto replicas = replicas_of(evidence, attempt);
    std::map<std::int64_t, std::unordered_map<std::int64_t, Readers>> epochs;  // looked up, never iterated
    std::map<Rank, std::set<Rank>> partners;
    const Event* first = nullptr;
    std::string says;
    std::size_t conflicts = 0;
    const auto dealings = find_dealings(evidence, attempt);
    // Example: ranks 0-3 have 2 shares, so that two of them read each sample.
    const auto is_shared = [&](const Event& event, Rank replica, const Readers& readers) {
        const auto dealing = dealings.find(event.rank);
        if (dealing == dealings.end() || readers.empty()) return !readers.empty();
        std::set<Rank> others;
        for (const Seen& one : readers) {
            if (one.replica == replica) return true;
            others.insert(one.replica);
        }
        return std::ssize(others) >= lives.started(attempt) / dealing->second.shares;
    };
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* batch = event->as<DataBatch>();
        if (lives.attempt_at(event->at) != attempt || event->rank < 0 || conflicts > conflicts_max) continue;
        if (!contents_of(evidence, *batch).empty()) continue;  // the indices may be the rank's own
        if (first && batch->step > first->as<DataBatch>()->step) continue;
        const Rank replica = replicas[static_cast<std::size_t>(event->rank)];
        for (const std::int64_t id : samples_of(evidence, *batch)) {
            Readers& readers = epochs[batch->epoch][id];
            const bool again = std::any_of(readers.begin(), readers.end(), [&](const Seen& one) {
                return one.replica == replica && one.step == batch->step;
            });
            if (again) continue;
            if (!is_shared(*event, replica, readers)) {
                readers.push_back({replica, event->rank, batch->step});
                continue;
            }
            for (const Seen& one : readers) {  // count every pair, or the first reader would stand out
                partners[event->rank].insert(one.rank);
                partners[one.rank].insert(event->rank);
                ++conflicts;
            }
            if (!first) {
                first = event;
                says = fmt::format(
                    "sample {} of epoch {} was read by rank {} in step {} and by rank {} in step {}", id,
                    batch->epoch, readers.front().rank, readers.front().step, event->rank, batch->step);
            }
            readers.push_back({replica, event->rank, batch->step});
        }
    }
    if (!first) return {};
    const Conflict conflict = conflict_of(lives, partners);
    return {sample_finding(
        evidence, conflict.ranks, *first, says + conflict.says,
        {id_of(Cause::rng_or_seed_coordination_error), id_of(Cause::rank_or_device_derivation_error)})};
}

// The same of a loader whose indices may be the rank's own.
std::vector<Finding> overlaps_by_contents(const Evidence& evidence, int attempt) {
    const SharedSamples shared = find_shared_samples(evidence, attempt, replicas_of(evidence, attempt));
    if (!shared.first) return {};
    const Conflict conflict = conflict_of(evidence.facts<Lives>(), shared.partners);
    return {sample_finding(
        evidence, conflict.ranks, *shared.first, shared.says + conflict.says,
        {id_of(Cause::rng_or_seed_coordination_error), id_of(Cause::rank_or_device_derivation_error)})};
}

// Who began an epoch with the samples of the epoch before, and how many began it at all.
struct Beginnings {
    std::vector<Rank> again;
    std::size_t ranks = 0;
    const Event* first = nullptr;  // that repeats
    bool twice = false;            // and did so an epoch ago
};

// An epoch begins with the same shuffled batch as the epoch before. One rank of several may draw the same by
// chance where there is little to draw from; it does not do so twice.
std::vector<Finding> repeated_order(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::pair<Rank, std::int64_t>, const Event*> firsts;
    std::map<std::int64_t, Beginnings> epochs;
    std::map<Rank, std::int64_t> repeated;  // the last epoch in which it did
    const auto dealings = find_dealings(evidence, attempt);
    const auto shuffles = [&](Rank rank) {
        const auto dealing = dealings.find(rank);
        return dealing != dealings.end() && dealing->second.shuffled;
    };
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* batch = event->as<DataBatch>();
        if (lives.attempt_at(event->at) != attempt || batch->samples == TextId::none || batch->count < 2)
            continue;
        if (!contents_of(evidence, *batch).empty() && !shuffles(event->rank)) continue;
        if (!firsts.try_emplace({event->rank, batch->epoch}, event).second) continue;
        Beginnings& here = epochs[batch->epoch];
        ++here.ranks;
        const auto before = firsts.find({event->rank, batch->epoch - 1});
        if (before == firsts.end() ||
            samples_of(evidence, *before->second->as<DataBatch>()) != samples_of(evidence, *batch))
            continue;
        if (!here.first) here.first = event;
        here.again.push_back(event->rank);
        const auto last = repeated.find(event->rank);
        here.twice |= last != repeated.end() && last->second == batch->epoch - 1;
        repeated[event->rank] = batch->epoch;
    }
    const auto told = std::find_if(epochs.begin(), epochs.end(), [](const auto& one) {
        const Beginnings& here = one.second;
        return here.first && (here.twice || 2 * here.again.size() > here.ranks);
    });
    if (told == epochs.end()) return {};
    const auto& [epoch, here] = *told;
    return {
        sample_finding(evidence, here.again, *here.first,
                       fmt::format("{} began epoch {} with the same samples in the same order as epoch {}",
                                   ranks_text(sorted(here.again)), epoch, epoch - 1),
                       {id_of(Cause::rng_or_seed_coordination_error)})};
}

std::vector<Finding> read_again(const Evidence& evidence) {
    const auto found = samples_read_again(evidence);
    if (!found) return {};
    return {sample_finding(
        evidence, found->ranks, *found->event, found->says,
        {id_of(Cause::incomplete_checkpoint_state), id_of(Cause::layout_dependent_checkpoint_format)})};
}

std::vector<Finding> lost_position(const Evidence& evidence) {
    const auto found = find_other_samples(evidence);
    if (!found) return {};
    return {sample_finding(
        evidence, found->ranks, *found->event,
        fmt::format("{} read other samples in step {} after the restart than before it",
                    ranks_text(sorted(found->in_step)), found->event->as<DataBatch>()->step),
        {id_of(Cause::incomplete_checkpoint_state), id_of(Cause::layout_dependent_checkpoint_format)})};
}

// The ranks of a group that compute one sample together and each read it: all of a tensor- or
// context-parallel group, the first and the last stage of a pipeline. Groups of other names may read
// different samples, for example where all-to-all cuts the sequences.
std::vector<Rank> readers_together(const Communicator& comm) {
    std::vector<Rank> readers;
    for (const Rank process : comm.processes) {
        if (process != no_rank) readers.push_back(process);
    }
    if (comm.name == GroupName::pipeline && readers.size() > 1) return {readers.front(), readers.back()};
    return comm.name == GroupName::tensor || comm.name == GroupName::context ? readers : std::vector<Rank>{};
}

// False where the group's first call after the reading passes samples on, as integers or from one rank: then
// what the other ranks read does not matter. False as well for a rank that makes no call.
bool uses_own_samples(const Evidence& evidence, const Communicator& comm, const Event& read) {
    const Event* first = nullptr;
    const auto look = [&](const Event* event, CommId id) {
        if (event->rank != read.rank || id != comm.id || event->at < read.at) return;
        if (!first || event->at < first->at) first = event;
    };
    for (const Event* event : evidence.each<CollectiveEnter>())
        look(event, event->as<CollectiveEnter>()->comm);
    for (const Event* event : evidence.each<P2pEnter>()) look(event, event->as<P2pEnter>()->comm);
    if (!first) return false;
    const auto* enter = first->as<CollectiveEnter>();
    const Op op = enter ? enter->op : first->as<P2pEnter>()->op;
    const Dtype dtype = enter ? enter->dtype : first->as<P2pEnter>()->dtype;
    const bool numbers = dtype == Dtype::i8 || dtype == Dtype::i32 || dtype == Dtype::i64;
    return !numbers && op != Op::broadcast && op != Op::scatter;
}

bool same_samples(const Evidence& evidence, const Event& a, const Event& b) {
    const auto *one = a.as<DataBatch>(), *other = b.as<DataBatch>();
    const bool alike =
        one->first == other->first && one->count == other->count && one->stride == other->stride;
    return alike &&
           (one->samples == other->samples || samples_of(evidence, *one) == samples_of(evidence, *other));
}

// The ranks that read something else than the majority; all of them if there is no majority.
std::vector<Rank> find_odd_readers(const Evidence& evidence, const std::vector<const Event*>& reads) {
    std::vector<Rank> all, odd;
    const Event* usual = nullptr;
    for (const Event* one : reads) {
        all.push_back(one->rank);
        const auto alike = std::count_if(reads.begin(), reads.end(), [&](const Event* other) {
            return same_samples(evidence, *one, *other);
        });
        if (static_cast<std::size_t>(alike) * 2 > reads.size()) usual = one;
    }
    if (!usual) return all;
    for (const Event* one : reads) {
        if (!same_samples(evidence, *one, *usual)) odd.push_back(one->rank);
    }
    return odd;
}

// Ranks that compute one sample together were given different ones.
std::vector<Finding> find_mismatched_inputs(const Evidence& evidence, int attempt) {
    struct Together {
        const Communicator* comm;  // nullptr: they say so themselves
        std::string_view name;
        std::vector<Rank> readers;
    };
    std::vector<Together> groups;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (comm.attempt != attempt) continue;
        if (auto readers = readers_together(comm); readers.size() > 1)
            groups.push_back({&comm, comm.name, std::move(readers)});
    }
    for (auto& [name, ranks] : find_stated_replicas(evidence, attempt))
        if (ranks.size() > 1) groups.push_back({nullptr, name, ranks});
    if (groups.empty()) return {};
    std::map<std::int64_t, std::map<Rank, const Event*>> steps;
    for (const Event* event : evidence.each<DataBatch>()) {
        if (event->rank >= 0 && evidence.facts<Lives>().attempt_at(event->at) == attempt)
            steps[event->as<DataBatch>()->step].try_emplace(event->rank, event);
    }
    for (const auto& [step, reads] : steps) {
        std::vector<Rank> odd;
        const Event* shown = nullptr;
        std::string says;
        for (Together& group : groups) {
            std::vector<const Event*> readings;
            for (const Rank reader : group.readers) {
                if (const auto read = reads.find(reader); read != reads.end())
                    readings.push_back(read->second);
            }
            const auto other = std::find_if(readings.begin(), readings.end(), [&](const Event* one) {
                return !same_samples(evidence, *one, *readings.front());
            });
            if (other == readings.end()) continue;
            if (group.comm && !std::all_of(readings.begin(), readings.end(), [&](const Event* one) {
                    return uses_own_samples(evidence, *group.comm, *one);
                })) {
                group.readers.clear();  // samples passed on in one step are passed on in all
                continue;
            }
            const auto unlike = find_odd_readers(evidence, readings);
            odd.insert(odd.end(), unlike.begin(), unlike.end());
            if (shown) continue;
            shown = *other;
            says = fmt::format(
                "ranks {} and {} compute one model in {}, and began step {} with samples {} and {}",
                readings.front()->rank, shown->rank, group.name, step,
                samples_of(evidence, *readings.front()->as<DataBatch>()).front(),
                samples_of(evidence, *shown->as<DataBatch>()).front());
        }
        if (shown) {
            return {sample_finding(
                evidence, sorted(std::move(odd)), *shown, says,
                {id_of(Cause::misused_framework_api), id_of(Cause::rank_or_device_derivation_error)})};
        }
    }
    return {};
}

std::int64_t parse_step(std::string_view digits) {
    std::int64_t number = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

// An evaluation counted more or fewer samples than its set has.
std::vector<Finding> wrongly_counted(const Evidence& evidence) {
    std::vector<Rank> ranks;
    const Event* shown = nullptr;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        if (evidence.text(sample->name) != SampleName::evaluation_samples ||
            sample->value == sample->expected)
            continue;
        if (shown && sample->step != shown->as<ValueSample>()->step) continue;
        if (!shown) shown = event;
        ranks.push_back(event->rank);
    }
    if (!shown) return {};
    const auto* sample = shown->as<ValueSample>();
    Finding found{
        .symptom = id_of(Symptom::wrong_sample_coverage),
        .blame = blame_ranks(evidence.facts<Lives>(), std::move(ranks)),
        .at = shown->at,
        .says = fmt::format("the evaluation after step {} counted {} samples of a set of {}", sample->step,
                            sample->value, sample->expected),
        .causes = {id_of(Cause::uneven_work_or_data_partition), id_of(Cause::misused_framework_api)}};
    found.blame.step = sample->step;
    return {found};
}

// The job exited cleanly before the configured steps were done. The last batch of each epoch may be dropped
// on purpose, whether for one rank or for all; whatever else was left out, somebody counted on.
std::vector<Finding> ended_early(const Evidence& evidence) {
    std::int64_t planned = -1, done = -1, epochs = 1;
    const Event* last = nullptr;
    for (const Event* event : evidence.each<DataBatch>())
        epochs = std::max(epochs, event->as<DataBatch>()->epoch + 1);
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (evidence.text(config->name) == ConfigName::steps)
            planned = std::max(planned, parse_step(evidence.text(config->value)));
    }
    for (const Event* event : evidence.each<StepEnd>()) {
        if (event->as<StepEnd>()->step <= done) continue;
        done = event->as<StepEnd>()->step;
        last = event;
    }
    const auto stops = evidence.each<JobStop>();
    const bool well = !stops.empty() && stops.back()->as<JobStop>()->code == 0;
    if (!well || !last || planned - (done + 1) <= epochs || has_agreed_stop(evidence)) return {};
    Finding found{
        .symptom = id_of(Symptom::wrong_sample_coverage),
        .blame = {},
        .at = stops.back()->at,
        .says = fmt::format("the job exited cleanly after only {} of {} configured steps", done + 1, planned),
        .causes = {id_of(Cause::uneven_work_or_data_partition),
                   id_of(Cause::misconfigured_resource_or_distributed_settings)}};
    found.blame.step = done;
    return {found};
}

}  // namespace

Findings sample_coverage(const Evidence& evidence) {
    for (int attempt = 0; attempt < evidence.facts<Lives>().attempts(); ++attempt) {
        if (auto found = find_mismatched_inputs(evidence, attempt); !found.empty()) return found;
        if (auto found = overlaps(evidence, attempt); !found.empty()) return found;
        if (auto found = overlaps_by_contents(evidence, attempt); !found.empty()) return found;
        if (auto found = repeated_order(evidence, attempt); !found.empty()) return found;
    }
    if (auto found = wrongly_counted(evidence); !found.empty()) return found;
    if (auto found = ended_early(evidence); !found.empty()) return found;
    if (auto found = lost_position(evidence); !found.empty()) return found;
    return read_again(evidence);
}

extern const DetectorRow sample_coverage_row{.name = "sample_coverage",
                                             .reports = {id_of(Symptom::wrong_sample_coverage)},
                                             .examine = sample_coverage};

}  // namespace deadrank::results::detectors
