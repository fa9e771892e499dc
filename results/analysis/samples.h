// results/analysis/samples.h — Which samples a batch holds, which are read a second time after a restart, and
// how much work a step has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "results/analysis/lives.h"
#include "results/record/evidence.h"

namespace deadrank::results::analysis {

std::vector<std::int64_t> samples_of(const Evidence& evidence, const DataBatch& batch);

// One number for the content of each sample. "4:905,17:77" means that sample 4 has content 905, and sample 17
// has content 77. A stream has no indices, so each content stands for its index: "905:905,77:77". Empty if
// the batch records no contents.
std::vector<std::int64_t> contents_of(const Evidence& evidence, const DataBatch& batch);

// Ranks of which some read what others read, and who of them did wrong.
struct Conflict {
    std::vector<Rank> ranks;
    std::string says;  // what is to be added to an example of two; may be empty
};

// The rank in conflict with more ranks than any other; all of them, if none stands out. Where each reads what
// the rank at its place on another node reads, samples are dealt out by that place: it is right on the first
// of these nodes.
Conflict conflict_of(const Lives& lives, const std::map<Rank, std::set<Rank>>& partners);

struct ReadAgain {
    const Event* event = nullptr;  // the first such batch
    std::vector<Rank> ranks;       // all that read so in its step, ascending
    std::string says;
};

// What was read before the step that an attempt resumed at, and is read again after it in the same epoch.
// Told whatever the number of ranks is: it is the samples that are compared, not who read them. By their
// contents, where a rank may number its samples afresh, and if it is known in which epoch the attempt
// resumed.
std::optional<ReadAgain> samples_read_again(const Evidence& evidence);

// What a rank read in each step that two attempts took, where it is not the same. With contents, it must be
// what another step read before: a loader may shuffle anew after a restart.
struct OtherSamples {
    const Event* event = nullptr;
    std::vector<Rank> ranks, in_step;  // all such ranks; those of the event's step
};

std::optional<OtherSamples> find_other_samples(const Evidence& evidence);

// A program may write later what it took earlier, so that the step of a checkpoint is counted one too high or
// too low. Then each step of the next attempt repeats, to the last bit, the loss that its neighbour gave
// before.
bool step_counts_are_shifted(const Evidence& evidence);

// What a program tells of the work in a step, by name: samples read, and values or settings such as
// "sequence_length" or "tokens". A quantity per second tells of the pace and not of the work.
using Amounts = std::map<std::string_view, std::vector<double>>;

// Of the steps from the one up to the other, without it.
Amounts amounts_between(const Evidence& evidence, std::int64_t from, std::int64_t to, int attempt);

}  // namespace deadrank::results::analysis
