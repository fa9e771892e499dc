// results/analysis/findings.h — Words, blame and findings that several detectors share, and the ranks that
// processes claim to be.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/analysis/lives.h"
#include "results/record/evidence.h"
#include "results/record/finding.h"

namespace deadrank::results::analysis {

// ── Wording and blame that all detectors share.

// "rank 3", "ranks 0-2,5"; "no rank" when there is none.
std::string ranks_text(const std::vector<Rank>& ranks);

// Ranks by what they hold, each party ascending: "ranks 0,2 agree, and ranks 1,3: one party a node", or "no
// two of ranks 0-3 are alike". What the parties have in common is told where it is the node, the place on the
// node, or a group.
std::string parties_text(const Evidence& evidence, std::vector<std::vector<Rank>> parties);

// Sorted, each once, no_rank left out.
std::vector<Rank> sorted(std::vector<Rank> ranks);

// Blames these ranks, and the nodes they run on.
Blame blame_ranks(const Lives& lives, std::vector<Rank> ranks);

// The first 8 bytes of a digest as 16 hex digits.
std::string digest_text(std::uint64_t digest);

// ── Logged quantities that are not what they should be: value.sample with an expectation.

enum class Origin { definition, reference, resumed };

struct WrongValue {
    const Event* event = nullptr;  // a value.sample
    std::string_view name;
    Origin origin = Origin::definition;
};

// In order of time. The name says what a value is compared with: its definition ("check.…"), what had been
// saved ("restored.…"), a reference run ("reference.…"); the first two are left out of the name given here.
// Another name means the job's own definition, and after a restore the restore. "weights…" are left to
// loading_failure, "step_time" to low_throughput.
std::vector<WrongValue> find_wrong_values(const Evidence& evidence);

// ── One finding for all ranks on which a quantity went wrong at the same step.

// The first step with such a value; nothing if there is none of that origin, or one of another came before.
std::optional<Finding> find_first_wrong_value(const Evidence& evidence, Origin origin);

struct Claim {
    Rank process;
    Rank rank;
    Time at;
};

std::vector<Claim> list_claims(const Evidence& evidence, int attempt);

// Of all claims of an attempt those below 0 or beyond the world's end, where the set-up of one such process
// failed, and then all others that are not the process's own number: one wrong formula moves some within the
// world and some out of it. Empty: there is none, or set-up went on.
std::vector<Claim> refused_claims(const Evidence& evidence, int attempt, std::span<const Claim> all);

// Whether the process was started with this number in the variable RANK.
bool started_as(const Evidence& evidence, const Claim& claim);

}  // namespace deadrank::results::analysis
