// results/judging/reaction.cpp — The end of a job, from exits, restarts, log lines and calls that nobody
// left.
#include "results/judging/reaction.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

#include "results/judging/error_texts.h"

namespace deadrank::results {

namespace {

// What the launcher and the ranks showed of the end. A restarted rank counts with its last life.
struct End {
    std::set<Rank> started, ended, failed;
    std::map<Rank, std::int32_t> node_of;
    bool stopped = false;
    std::int32_t stop_code = 0;
    bool restarted = false;
    bool stepped = false;
    bool warned = false;
};

bool by_itself_or_asked(const RankExit& exit) { return exit.code == 0 && exit.signal == 0; }

void see(End& end, const Event& event) {
    if (const auto* start = event.as<RankStart>()) {
        end.started.insert(event.rank);
        end.ended.erase(event.rank);
        end.failed.erase(event.rank);
        end.node_of[event.rank] = start->node;
    } else if (const auto* exit = event.as<RankExit>()) {
        end.ended.insert(event.rank);
        if (!by_itself_or_asked(*exit)) end.failed.insert(event.rank);
    } else if (const auto* stop = event.as<JobStop>()) {
        end.stopped = true;
        end.stop_code = stop->code;
    } else if (event.as<Restart>()) {
        end.restarted = true;
        end.stopped = false;
        end.stop_code = 0;
    } else if (event.as<StepBegin>() || event.as<ServeOutput>()) {
        end.stepped = true;
    } else if (const auto* log = event.as<RankLog>()) {
        end.warned = end.warned || log->level >= 1;
    }
}

End end_of(const Evidence& evidence) {
    End end;
    for (const Event& event : evidence.events()) see(end, event);
    return end;
}

// Ranks without an exit hang, unless their whole node fell silent while others ended with an error:
// from a lost node no exit is ever reported.
bool hangs(const End& end) {
    if (end.stopped) return false;
    std::set<std::int32_t> reporting;
    for (const Rank rank : end.ended) {
        if (const auto node = end.node_of.find(rank); node != end.node_of.end())
            reporting.insert(node->second);
    }
    return std::any_of(end.started.begin(), end.started.end(), [&](Rank rank) {
        if (end.ended.contains(rank)) return false;
        return end.failed.empty() || reporting.contains(end.node_of.at(rank));
    });
}

// The last digest and loss of each rank, and every served answer: what a user would call the result.
using Results = std::map<std::tuple<Rank, std::string, std::int64_t>, std::uint64_t>;

std::uint64_t bits_of(double value) {
    std::uint64_t bits = 0;
    static_assert(sizeof bits == sizeof value);
    std::copy_n(reinterpret_cast<const char*>(&value), sizeof value, reinterpret_cast<char*>(&bits));
    return bits;
}

Results results_of(const Evidence& evidence) {
    Results results;
    for (const Event& event : evidence.events()) {
        if (const auto* digest = event.as<ParametersDigest>()) {
            results[{event.rank, std::string(evidence.text(digest->name)), 0}] = digest->digest;
        } else if (const auto* step = event.as<StepEnd>()) {
            results[{event.rank, "loss", 0}] = bits_of(step->loss);
        } else if (const auto* answer = event.as<ServeOutput>()) {
            results[{event.rank, "answer", answer->request}] = answer->digest;
        }
    }
    return results;
}

}  // namespace

std::string_view name_of(Reaction reaction) {
    static constexpr std::array<std::string_view, 8> names = {"completed",
                                                              "warned_and_completed",
                                                              "clear_error",
                                                              "misleading_error",
                                                              "refused_to_start",
                                                              "restarted",
                                                              "hung",
                                                              "silent_wrong_result"};
    return names.at(static_cast<std::size_t>(reaction));
}

Reaction reaction_of(const Evidence& evidence, const Evidence* control) {
    const End end = end_of(evidence);
    if (hangs(end)) return Reaction::hung;
    const bool failed = !end.failed.empty() || end.stop_code != 0;
    if (failed) {
        if (!end.stepped) return Reaction::refused_to_start;
        return error_texts(evidence).empty() ? Reaction::misleading_error : Reaction::clear_error;
    }
    if (end.restarted) return Reaction::restarted;
    if (end.warned) return Reaction::warned_and_completed;
    if (control && results_of(evidence) != results_of(*control)) return Reaction::silent_wrong_result;
    return Reaction::completed;
}

Time settled_at(const Evidence& evidence) {
    if (hangs(end_of(evidence))) return never;
    Time last_restart = never, step_after = never, last_exit = never;
    for (const Event& event : evidence.events()) {
        if (event.as<Restart>()) {
            last_restart = event.at;
            step_after = never;
        }
        if (event.as<StepEnd>() && last_restart != never && step_after == never) step_after = event.at;
        if (event.as<RankExit>() || event.as<JobStop>()) last_exit = event.at;
    }
    return step_after != never ? step_after : last_exit;
}

bool error_names(const Evidence& evidence, const Blame& culprit) {
    const std::vector<ErrorText> texts = error_texts(evidence);
    if (culprit == Blame{}) return !texts.empty();
    return std::any_of(texts.begin(), texts.end(), [&](const ErrorText& error) {
        const std::string text = lower(error.text);
        const auto& ranks = culprit.ranks;
        if (std::count(ranks.begin(), ranks.end(), error.rank) > 0 && !tells_of_others(text)) return true;
        if (std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) { return names_rank(text, rank); }))
            return true;
        const auto names_node = [&](std::int32_t node) { return says(text, fmt::format("node{}", node)); };
        if (std::any_of(culprit.nodes.begin(), culprit.nodes.end(), names_node)) return true;
        return says(text, lower(culprit.variable)) || says(text, lower(culprit.component)) ||
               says(text, lower(culprit.shard));
    });
}

std::vector<std::string> error_lines(const Evidence& evidence) {
    std::vector<std::string> lines;
    for (const ErrorText& error : error_texts(evidence)) {
        const std::string who = error.rank == no_rank ? "launcher" : fmt::format("rank {}", error.rank);
        std::string line = fmt::format("{}: {}", who, error.text);
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    }
    return lines;
}

bool reaction_meets(std::string_view wanted, Reaction reaction) {
    const bool completes = reaction == Reaction::completed || reaction == Reaction::warned_and_completed;
    if (wanted == "complete") return completes;
    if (wanted == "warn_and_complete") return reaction == Reaction::warned_and_completed;
    if (wanted == "restart") return reaction == Reaction::restarted;
    if (wanted == "refuse_to_start") return reaction == Reaction::refused_to_start;
    if (wanted == "clear_error") {
        return reaction == Reaction::clear_error || reaction == Reaction::refused_to_start;
    }
    return wanted.empty() || wanted == "any";
}

}  // namespace deadrank::results
