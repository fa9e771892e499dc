// runners/learn/challenge.cpp — Draws are named by scenario and seed, so that a lesson asks the same each
// time.
#include "runners/learn/challenge.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <set>

#include "results/text/words.h"
#include "runners/learn/chance.h"

namespace deadrank::runners::learn {

namespace {

constexpr std::size_t choices_most = 4;

std::string shown(const scenarios::TaxonomyEntry& cause) {
    return fmt::format("{}: {}", cause.name, cause.definition);
}

// Those that could be meant, the likeliest first.
std::vector<std::string> rivals(const scenarios::Bug& bug, const scenarios::Taxonomy& taxonomy) {
    std::vector<std::string> ids;
    const auto add = [&](const std::string& id) {
        if (id != bug.cause && std::count(ids.begin(), ids.end(), id) == 0) ids.push_back(id);
    };
    for (const auto& pair : taxonomy.pairs) {
        if (pair.symptom == bug.symptom) add(pair.cause);
    }
    for (const auto& cause : taxonomy.causes) {
        if (!cause.stages.empty() && cause.stages.front() == bug.stage) add(cause.id);
    }
    for (const auto& cause : taxonomy.causes) add(cause.id);
    return ids;
}

Challenge ask_why(const scenarios::Scenario& scenario, const scenarios::Taxonomy& taxonomy,
                  std::uint64_t seed) {
    Chance chance(scenario.id, seed);
    std::vector<std::string> near = rivals(scenario.bug, taxonomy);
    near.resize(std::min<std::size_t>(near.size(), 6));
    chance.shuffle(near);
    near.resize(std::min(near.size(), choices_most - 1));
    near.push_back(scenario.bug.cause);
    chance.shuffle(near);
    Challenge challenge;
    challenge.asks = "What is the root cause?";
    for (const std::string& id : near) {
        const scenarios::TaxonomyEntry* cause = scenarios::find(taxonomy.causes, id);
        if (id == scenario.bug.cause) challenge.choice = challenge.choices.size();
        challenge.choices.push_back(cause ? shown(*cause) : id);
    }
    return challenge;
}

std::vector<std::int32_t> numbers_in(std::string_view text) {
    std::set<std::int32_t> numbers;
    std::int32_t number = -1, first = -1;
    const auto close = [&] {
        if (number >= 0 && number - std::max(first, 0) < 100'000) {
            for (std::int32_t i = first >= 0 ? first : number; i <= number; ++i) numbers.insert(i);
        }
        number = first = -1;
    };
    for (const char letter : text) {
        if (std::isdigit(static_cast<unsigned char>(letter)) && number < 10'000'000) {
            number = std::max(number, 0) * 10 + (letter - '0');
        } else if (letter == '-' && number >= 0) {
            first = number;
            number = -1;
        } else {
            close();
        }
    }
    close();
    return {numbers.begin(), numbers.end()};
}

}  // namespace

bool Challenge::accepts(std::string_view answer) const {
    if (choices.empty()) return !numbers.empty() && numbers_in(answer) == numbers;
    while (!answer.empty() && answer.front() == ' ') answer.remove_prefix(1);
    while (!answer.empty() && answer.back() == ' ') answer.remove_suffix(1);
    return answer.size() == 1 &&
           std::tolower(static_cast<unsigned char>(answer.front())) == static_cast<int>('a' + choice);
}

std::string Challenge::solution() const {
    if (choices.empty()) return results::ranges_text(numbers);
    return fmt::format("{}: {}", static_cast<char>('a' + choice), choices[choice]);
}

std::vector<Challenge> challenges_for(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial) {
    std::vector<Challenge> challenges;
    const results::Blame& culprit = trial.outcome.fault->culprit;
    const auto& blames = scenario.expect.blames;
    const auto asked = [&](const char* field) { return std::count(blames.begin(), blames.end(), field) > 0; };
    const auto half = static_cast<std::size_t>(trial.fault->plan.world_size() / 2);
    if (asked("rank") && !culprit.ranks.empty() && culprit.ranks.size() <= half) {
        challenges.push_back({culprit.ranks.size() == 1 ? "Which rank is it?" : "Which ranks are they?",
                              {},
                              culprit.ranks,
                              0});
    } else if (asked("node") && !culprit.nodes.empty()) {
        challenges.push_back({culprit.nodes.size() == 1 ? "Which node is it?" : "Which nodes are they?",
                              {},
                              culprit.nodes,
                              0});
    }
    challenges.push_back(ask_why(scenario, taxonomy, trial.outcome.seed));
    return challenges;
}

}  // namespace deadrank::runners::learn
