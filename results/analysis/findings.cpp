// results/analysis/findings.cpp — Words, blame and findings that several detectors share, and the ranks that
// processes claim to be.
#include "results/analysis/findings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/calls.h"
#include "results/analysis/lives.h"
#include "results/record/event_names.h"
#include "results/record/words.h"

namespace deadrank::results::analysis {

// ── A rank's node is blamed with it, since whoever repairs it must know where it is.

std::string ranks_text(const std::vector<Rank>& ranks) {
    if (ranks.empty()) return "no rank";
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", ranges_text(ranks));
}

namespace {

constexpr std::size_t parties_shown = 4;

using Parties = std::vector<std::vector<Rank>>;

// Whether this is one and the same for all ranks of a party, and another one for each party.
template <class Of>
bool sets_apart(const Parties& parties, const Of& of) {
    std::set<decltype(of(Rank{0}))> seen;
    for (const auto& party : parties) {
        const auto first = of(party.front());
        if (std::any_of(party.begin(), party.end(), [&](Rank rank) { return of(rank) != first; }))
            return false;
        if (!seen.insert(first).second) return false;
    }
    return true;
}

std::int64_t place_on_its_node(const Lives& lives, Rank process) {
    const auto there = lives.on_node(lives.node_of(process));
    return std::find(there.begin(), there.end(), process) - there.begin();
}

// The name of the groups that are the parties: each is one whole group.
std::string groups_that_are(const Evidence& evidence, const Parties& parties) {
    std::map<std::string_view, std::set<std::vector<Rank>>> groups;
    for (const Communicator& comm : evidence.facts<Calls>().communicators())
        groups[comm.name].insert(sorted(comm.processes));
    for (const auto& group : groups) {
        if (std::all_of(parties.begin(), parties.end(),
                        [&](const auto& party) { return group.second.contains(party); }))
            return std::string(group.first);
    }
    return {};
}

std::string in_common(const Evidence& evidence, const Parties& parties) {
    const Lives& lives = evidence.facts<Lives>();
    if (lives.nodes() > 1 && sets_apart(parties, [&](Rank rank) { return lives.node_of(rank); }))
        return ": one party a node";
    if (lives.nodes() > 1 && sets_apart(parties, [&](Rank rank) { return place_on_its_node(lives, rank); }))
        return ": one party for each place on the nodes";
    const std::string name = groups_that_are(evidence, parties);
    return name.empty() ? "" : fmt::format(": the groups {}", name);
}

}  // namespace

std::string parties_text(const Evidence& evidence, std::vector<std::vector<Rank>> parties) {
    std::vector<Rank> all;
    for (const auto& party : parties) all.insert(all.end(), party.begin(), party.end());
    std::sort(parties.begin(), parties.end());
    const auto large =
        std::count_if(parties.begin(), parties.end(), [](const auto& party) { return party.size() > 1; });
    if (large == 0) return fmt::format("no two of {} are alike", ranks_text(sorted(std::move(all))));
    std::string text;
    for (std::size_t i = 0; i < std::min(parties.size(), parties_shown); ++i)
        text += fmt::format("{}{}{}", i == 0 ? "" : ", and ", ranks_text(parties[i]),
                            i > 0                    ? ""
                            : parties[0].size() == 1 ? " is alone"
                                                     : " agree");
    if (parties.size() > parties_shown) text += fmt::format(", and so on: {} parties", parties.size());
    return text + in_common(evidence, parties);
}

std::vector<Rank> sorted(std::vector<Rank> ranks) {
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    std::erase(ranks, no_rank);
    return ranks;
}

Blame blame_ranks(const Lives& lives, std::vector<Rank> ranks) {
    Blame blame;
    blame.ranks = sorted(std::move(ranks));
    for (const Rank rank : blame.ranks) blame.nodes.push_back(lives.node_of(rank));
    blame.nodes = sorted(std::move(blame.nodes));
    return blame;
}

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

namespace {

// Equal to six figures counts as equal: real jobs print rounded numbers.
bool same(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    return std::abs(a - b) <= 1e-6 * std::max({std::abs(a), std::abs(b), 1e-6});
}

}  // namespace

namespace {

// A job may say itself what a value is held against: "check.loss", "restored.loss".
std::optional<Origin> stated_origin(std::string_view& name) {
    constexpr std::string_view check = "check.", restored = "restored.";
    const bool checked = name.starts_with(check);
    if (!checked && !name.starts_with(restored)) return std::nullopt;
    name.remove_prefix(checked ? check.size() : restored.size());
    return checked ? Origin::definition : Origin::resumed;
}

}  // namespace

std::vector<WrongValue> find_wrong_values(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<Rank, Time> restored;
    for (const Event* event : evidence.each<CheckpointLoad>()) restored.try_emplace(event->rank, event->at);
    std::vector<WrongValue> wrong;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        if (std::isnan(sample->expected) || same(sample->value, sample->expected)) continue;
        std::string_view name = evidence.text(sample->name);
        if (const auto stated = stated_origin(name)) {
            wrong.push_back({event, name, *stated});
            continue;
        }
        if (name.starts_with("weights") || name == SampleName::step_time ||
            name == SampleName::evaluation_samples)
            continue;
        const auto load = restored.find(event->rank);
        const bool resumed =
            (load != restored.end() && load->second <= event->at) || lives.attempt_at(event->at) > 0;
        const Origin origin = resumed                          ? Origin::resumed
                              : name.starts_with("reference.") ? Origin::reference
                                                               : Origin::definition;
        wrong.push_back({event, name, origin});
    }
    return wrong;
}

// ── A value wrong by definition explains one that differs from the reference later, or in the same step.

namespace {

std::int64_t step_of(const WrongValue& wrong) { return wrong.event->as<ValueSample>()->step; }

constexpr std::size_t numbers_shown = 3;

std::string when_text(std::int64_t step) {
    return step < 0 ? "before the first step" : fmt::format("in step {}", step);
}

// "is 4 in step 2 where 8 was expected"; where ranks hold other numbers, each number with its ranks.
std::string format_numbers(const std::vector<const Event*>& samples) {
    std::vector<std::pair<std::string, std::vector<Rank>>> told;
    for (const Event* event : samples) {
        const auto* sample = event->as<ValueSample>();
        std::string words =
            fmt::format("{} where {} was expected", number_text(sample->value, sample->expected),
                        number_text(sample->expected, sample->value));
        const auto known =
            std::find_if(told.begin(), told.end(), [&](const auto& one) { return one.first == words; });
        if (known != told.end())
            known->second.push_back(event->rank);
        else if (told.size() <= numbers_shown)  // one more shows that there are more
            told.push_back({std::move(words), {event->rank}});
    }
    const auto* first = samples.front()->as<ValueSample>();
    if (told.size() == 1)
        return fmt::format("is {} {} where {} was expected",
                           number_text(first->value, first->expected), when_text(first->step),
                           number_text(first->expected, first->value));
    std::string text = fmt::format("is wrong {}: ", when_text(first->step));
    for (std::size_t i = 0; i < std::min(told.size(), numbers_shown); ++i)
        text += fmt::format("{}{} on {}", i == 0 ? "" : ", and ", told[i].first,
                            ranks_text(sorted(told[i].second)));
    return told.size() > numbers_shown ? text + ", and so on" : text;
}

constexpr std::size_t names_shown = 3;

// "; so are loss, gradient.norm": what else is wrong in that step, by the same kind of comparison.
std::string list_other_wrong_values(const Evidence& evidence, const std::vector<WrongValue>& all,
                                    const WrongValue& first) {
    std::vector<std::string_view> names;
    for (const Event* event :
         evidence.each<ValueSample>()) {  // told by sample_coverage, where nothing else is
        const auto* sample = event->as<ValueSample>();
        if (names.empty() && sample->step == step_of(first) && !std::isnan(sample->expected) &&
            evidence.text(sample->name) == SampleName::evaluation_samples &&
            !same(sample->value, sample->expected))
            names.push_back(evidence.text(sample->name));
    }
    for (const WrongValue& wrong : all)
        if (wrong.origin == first.origin && step_of(wrong) == step_of(first) && wrong.name != first.name &&
            std::find(names.begin(), names.end(), wrong.name) == names.end())
            names.push_back(wrong.name);
    if (names.empty()) return {};
    std::string text = names.size() == 1 ? "; so is " : "; so are ";
    for (std::size_t i = 0; i < std::min(names.size(), names_shown); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
    return names.size() > names_shown ? text + fmt::format(" and {} more", names.size() - names_shown) : text;
}

constexpr std::int64_t steps_later = 2;

// The ranks whose value was right in the first step and is wrong one or two steps later. It may have been
// right by chance, or what was wrong has spread: they are told, and not blamed.
std::vector<Rank> wrong_later(const std::vector<WrongValue>& all, const WrongValue& first,
                              const std::set<Rank>& at_once) {
    std::vector<Rank> ranks;
    for (const WrongValue& wrong : all)
        if (wrong.origin == first.origin && wrong.name == first.name &&
            step_of(wrong) <= step_of(first) + steps_later && !at_once.contains(wrong.event->rank))
            ranks.push_back(wrong.event->rank);
    return sorted(std::move(ranks));
}

}  // namespace

std::optional<Finding> find_first_wrong_value(const Evidence& evidence, Origin origin) {
    const auto all = find_wrong_values(evidence);
    const WrongValue* first = nullptr;
    for (const WrongValue& wrong : all) {
        if (wrong.origin == origin && (!first || step_of(wrong) < step_of(*first))) first = &wrong;
    }
    if (!first) return std::nullopt;
    if (origin == Origin::reference) {
        for (const WrongValue& wrong : all) {
            if (wrong.origin == Origin::definition && step_of(wrong) <= step_of(*first)) return std::nullopt;
        }
    }
    std::set<Rank> ranks;
    std::vector<const Event*> samples;  // the first of each rank
    for (const WrongValue& wrong : all) {
        const bool same =
            wrong.origin == origin && step_of(wrong) == step_of(*first) && wrong.name == first->name;
        if (!same) continue;
        if (ranks.insert(wrong.event->rank).second) samples.push_back(wrong.event);
    }
    const auto* sample = first->event->as<ValueSample>();
    const std::vector<Rank> later = wrong_later(all, *first, ranks);
    Finding finding;
    finding.blame = blame_ranks(evidence.facts<Lives>(), {ranks.begin(), ranks.end()});
    finding.blame.step = sample->step;
    finding.blame.variable = first->name;
    finding.at = first->event->at;
    finding.says =
        fmt::format("{} of {} {}", first->name, ranks_text(finding.blame.ranks), format_numbers(samples));
    if (!later.empty())
        finding.says += fmt::format(", and of {} within {} steps", ranks_text(later), steps_later);
    finding.says += list_other_wrong_values(evidence, all, *first);
    return finding;
}

std::vector<Claim> list_claims(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Claim> claims;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (lives.attempt_at(event->at) != attempt) continue;
        claims.push_back({event->rank, event->as<RendezvousEnter>()->claimed_rank, event->at});
    }
    return claims;
}

namespace {

// Where a process believes in a larger world than was started, it is the size that is wrong.
Rank world_of(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    Rank world = std::max(evidence.world_size(), lives.count());
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (lives.attempt_at(event->at) == attempt)
            world = std::max(world, event->as<RendezvousEnter>()->expected);
    }
    return world;
}

// Processes whose set-up ended with an error, ascending.
std::vector<Rank> failed_in_setup(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Rank> failed;
    const auto see = [&](const Event& event, Code result) {
        if (result != Code::ok && lives.attempt_at(event.at) == attempt) failed.push_back(event.rank);
    };
    for (const Event* event : evidence.each<RendezvousLeave>())
        see(*event, event->as<RendezvousLeave>()->result);
    for (const Event* event : evidence.each<CommInitLeave>()) see(*event, event->as<CommInitLeave>()->result);
    return sorted(std::move(failed));
}

}  // namespace

std::vector<Claim> refused_claims(const Evidence& evidence, int attempt, std::span<const Claim> all) {
    const Rank world = world_of(evidence, attempt);
    const auto impossible = [&](const Claim& claim) { return claim.rank < 0 || claim.rank >= world; };
    if (std::none_of(all.begin(), all.end(), impossible)) return {};
    const std::vector<Rank> failed = failed_in_setup(evidence, attempt);
    const bool refused = std::any_of(all.begin(), all.end(), [&](const Claim& claim) {
        return impossible(claim) && std::binary_search(failed.begin(), failed.end(), claim.process);
    });
    if (!refused) return {};
    std::vector<Claim> claims(all.begin(), all.end());
    // After a restart an agent may assign ranks differently.
    std::erase_if(claims, [&](const Claim& claim) {
        return !impossible(claim) && (attempt > 0 || claim.rank == claim.process);
    });
    std::stable_sort(claims.begin(), claims.end(),
                     [&](const Claim& a, const Claim& b) { return impossible(a) && !impossible(b); });
    return claims;
}

bool started_as(const Evidence& evidence, const Claim& claim) {
    const std::string line = fmt::format("RANK={}", claim.rank);
    for (const Event* event : evidence.each<RankStart>()) {
        if (event->rank != claim.process) continue;
        std::string_view rest = evidence.text(event->as<RankStart>()->environment);
        while (!rest.empty()) {
            const auto end = std::min(rest.find('\n'), rest.size());
            if (rest.substr(0, end) == line) return true;
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return false;
}

}  // namespace deadrank::results::analysis
