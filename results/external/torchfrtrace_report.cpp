// results/external/torchfrtrace_report.cpp — Reads its report line by line. Culprits come in changing order,
// so they are a set.
#include <algorithm>

#include "results/external/torchfrtrace.h"
#include "results/text/words.h"

namespace deadrank::results::external {

namespace {

using Kind = FlightRecorderProblem::Kind;

void add(std::vector<Rank>& ranks, const std::vector<Rank>& more) {
    ranks.insert(ranks.end(), more.begin(), more.end());
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

// What follows `words` in the line; nothing when they are not in it.
std::string_view after(std::string_view line, std::string_view words) {
    const std::size_t at = line.find(words);
    return at == std::string_view::npos ? std::string_view() : line.substr(at + words.size());
}

struct Headline {
    std::string_view words;
    Kind kind;
};

constexpr Headline headlines[] = {
    {"Not all ranks joining collective, sequence number: ", Kind::missing},
    {"Input/output mismatch in the collective sequence number: ", Kind::totals},
    {"Collective sequence number: ", Kind::mismatch},
};

void take_culprits(FlightRecorderProblem& problem, std::string_view message) {
    problem.says = std::string(message);
    bool state_only = true;
    for (std::string_view rest = message; !rest.empty();) {
        rest = after(rest, "Culprit rank ");
        if (rest.empty()) break;
        add(problem.culprits, {static_cast<Rank>(std::atoi(std::string(rest.substr(0, 12)).c_str()))});
        if (!after(rest.substr(0, rest.find("Culprit rank ")), "COLLECTIVE_STATE_MISMATCH").empty()) continue;
        state_only = false;
    }
    if (state_only && !problem.culprits.empty()) problem.kind = Kind::state;
}

}  // namespace

std::vector<FlightRecorderProblem> read_flight_recorder_report(std::string_view text) {
    std::vector<FlightRecorderProblem> problems;
    const auto begin = [&](Kind kind, std::string_view line, std::string_view rest) {
        problems.push_back(
            {kind, std::atoll(std::string(rest.substr(0, 20)).c_str()), {}, {}, {}, std::string(line)});
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        at = end + 1;
        bool headline = false;
        for (const Headline& one : headlines) {
            const std::string_view rest = after(line, one.words);
            if (rest.empty() || headline) continue;
            begin(one.kind, line.substr(line.find(one.words)), rest);
            headline = true;
        }
        if (const auto rest = after(line, "because we missed FR dumps from ranks"); !rest.empty()) {
            begin(Kind::undecided, line, "");
            add(problems.back().culprits, numbers_in(rest));
        }
        if (problems.empty() || headline) continue;
        FlightRecorderProblem& problem = problems.back();
        if (const auto rest = after(line, "group info: "); !rest.empty()) problem.group = rest;
        if (const auto rest = after(line, "collective: "); !rest.empty() && problem.collective.empty())
            problem.collective = rest;
        if (const auto rest = after(line, "missing ranks: "); !rest.empty())
            add(problem.culprits, numbers_in(rest));
        if (const auto rest = after(line, "error msg: "); !rest.empty()) take_culprits(problem, rest);
    }
    return problems;
}

}  // namespace deadrank::results::external
