// results/detectors/environment_fault.cpp — An environment variable is missing, unreadable, misspelled or
// unlike the peers', and something that it governs broke. Suspects in order of weight: named by the error
// itself, absent, unreadable or contradictory, misspelled, unlike the peers'.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "results/analysis/complaints.h"
#include "results/analysis/findings.h"
#include "results/analysis/pairs.h"
#include "results/analysis/phrases.h"
#include "results/analysis/variables.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

struct Suspect {
    std::string variable;
    std::vector<Rank> ranks;
    std::string why;
    std::string cause = id_of(Cause::misconfigured_environment_variable);
    std::string elsewhere = {};  // what the other ranks have, to be said after these
};

// The variable that an error is about, if its text does not name it.
constexpr std::pair<Sign, std::string_view> variable_by_error[] = {
    {Sign::no_interface, "NCCL_SOCKET_IFNAME"},
    {Sign::no_address, "GLOO_SOCKET_IFNAME"},
    {Sign::no_plugin, "NCCL_NET"},
    {Sign::no_algorithm, "NCCL_ALGO"},
    {Sign::retries_exhausted, "NCCL_COMM_ID"},
    {Sign::no_queue_pair, "NCCL_IB_GID_INDEX"},
};

class Search {
public:
    Search(const Evidence& evidence, int attempt)
        : evidence_(evidence), attempt_(attempt), tables_(evidence, attempt, PairTables::Of::environment) {}

    std::optional<Suspect> best() const {
        if (auto found = named_by_error()) return found;
        if (auto found = absent()) return found;
        if (auto found = unreadable()) return found;
        if (auto found = contradictory()) return found;
        if (auto found = misspelled_name()) return found;
        return drifted();
    }

private:
    std::vector<Rank> having(std::string_view name) const {
        std::vector<Rank> ranks;
        for (std::size_t i = 0; i < tables_.by_process().size(); ++i) {
            const Pairs* pairs = tables_.by_process()[i];
            if (pairs && pairs->count(name) > 0) ranks.push_back(static_cast<Rank>(i));
        }
        return ranks;
    }

    std::optional<Suspect> named_by_error() const {
        for (const auto& [sign, variable] : variable_by_error) {
            std::vector<Rank> ranks;
            for (const Complaint& complaint : evidence_.facts<Complaints>().all()) {
                if (complaint.attempt == attempt_ && shows(complaint.text, sign))
                    ranks.push_back(complaint.process);
            }
            const auto holders = having(variable);
            if (ranks.empty() || holders.empty()) continue;
            const Pairs& first = *tables_.by_process()[static_cast<std::size_t>(holders.front())];
            const auto drift = difference_in(tables_, variable);
            const std::string_view value = drift ? drift->odd_value : first.at(variable);
            return Suspect{std::string(variable), sorted(std::move(ranks)),
                           fmt::format("{}='{}' is refused", variable, value)};
        }
        return std::nullopt;
    }

    std::optional<Suspect> absent() const {
        for (const std::string_view name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
            std::vector<Rank> without;
            bool anything = false;
            for (std::size_t i = 0; i < tables_.by_process().size(); ++i) {
                const Pairs* pairs = tables_.by_process()[i];
                if (!pairs || pairs->empty()) continue;
                anything = true;
                if (pairs->count(name) == 0) without.push_back(static_cast<Rank>(i));
            }
            if (anything && !without.empty()) {
                return Suspect{std::string(name), without, fmt::format("{} is not set", name)};
            }
        }
        return std::nullopt;
    }

    template <class Object>
    std::optional<Suspect> each_value(const Object& object) const {
        Suspect found;
        for (std::size_t i = 0; i < tables_.by_process().size(); ++i) {
            const Pairs* pairs = tables_.by_process()[i];
            if (!pairs) continue;
            for (const auto& [name, value] : *pairs) {
                const auto [variable, why] = object(*pairs, name, value);
                if (why.empty() || (!found.variable.empty() && found.variable != variable)) continue;
                found.variable = variable;
                if (found.ranks.empty()) found.why = why;
                found.ranks.push_back(static_cast<Rank>(i));
            }
        }
        if (found.ranks.empty()) return std::nullopt;
        found.ranks = sorted(std::move(found.ranks));
        return found;
    }

    std::optional<Suspect> unreadable() const {
        return each_value([](const Pairs&, std::string_view name, std::string_view value) {
            const Variable* known = known_variable(name);
            return std::pair(std::string(name), known ? objection(*known, value) : std::string());
        });
    }

    std::optional<Suspect> contradictory() const {
        const std::int64_t started = evidence_.each<JobStart>().empty() ? 0 : evidence_.world_size();
        return each_value([started](const Pairs& all, std::string_view name, std::string_view value) {
            std::string why;
            const auto size = all.find("WORLD_SIZE");
            if (name == "RANK" && size != all.end()) {
                std::int64_t rank = 0, ranks = 0;
                std::from_chars(value.data(), value.data() + value.size(), rank);
                std::from_chars(size->second.data(), size->second.data() + size->second.size(), ranks);
                if (rank >= ranks && ranks == started)
                    why = fmt::format("RANK={} does not fit WORLD_SIZE={}", rank, ranks);
            }
            if (name == "WORLD_SIZE" && started > 0) {
                std::int64_t ranks = 0;
                std::from_chars(value.data(), value.data() + value.size(), ranks);
                if (ranks != started) why = fmt::format("WORLD_SIZE={} instead of {}", ranks, started);
            }
            return std::pair(std::string(name), why);
        });
    }

    std::optional<Suspect> misspelled_name() const {
        return each_value([](const Pairs&, std::string_view name, std::string_view) {
            const std::string_view meant = misspelled(name);
            return std::pair(
                std::string(name),
                meant.empty() ? std::string() : fmt::format("{} is unknown: {} was meant", name, meant));
        });
    }

    std::optional<Suspect> drifted() const {
        for (const std::string_view name : tables_.names()) {
            const Variable* known = known_variable(name);
            const bool ours = known || name.starts_with("NCCL_") || name.starts_with("TORCH_NCCL_") ||
                              name.starts_with("GLOO_");
            if (!ours || (known && known->differs_by_right)) continue;
            const auto drift = difference_in(tables_, name);
            if (!drift) continue;
            const auto held = [](std::string_view value) {
                return value.empty() ? std::string("unset") : fmt::format("'{}'", value);
            };
            Suspect found{std::string(name), drift->odd,
                          fmt::format("{} is {}", name, held(drift->odd_value))};
            found.elsewhere = fmt::format(" and {} elsewhere", held(drift->usual_value));
            return found;
        }
        return std::nullopt;
    }

    const Evidence& evidence_;
    int attempt_;
    PairTables tables_;
};

}  // namespace

Findings environment_fault(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const auto suspect = Search(evidence, lives.attempts() - 1).best();
    if (!suspect) return {};
    auto broken = communication_breakage(evidence);
    if (!broken) return {};
    broken->blame = blame_ranks(lives, suspect->ranks);
    broken->blame.variable = suspect->variable;
    broken->says = fmt::format("{} on {}{}; {}", suspect->why, ranks_text(suspect->ranks), suspect->elsewhere,
                               broken->says);
    broken->causes = {suspect->cause};
    return {*broken};
}

extern const DetectorRow environment_fault_row{
    .name = "environment_fault",
    .reports = {id_of(Symptom::communication_setup_failure), id_of(Symptom::communication_setup_hang),
                id_of(Symptom::wrong_rank_or_group_membership), id_of(Symptom::collective_mismatch_error),
                id_of(Symptom::collective_timeout_abort), id_of(Symptom::collective_deadlock_hang)},
    .examine = environment_fault,
    .reason = 1};

}  // namespace deadrank::results::detectors

namespace deadrank::results {

namespace {

using analysis::PairTables;

// "lr is 0.1 on rank 1 and 0.2 elsewhere", once for each name.
void add_difference(std::vector<std::string>& all, const PairTables& tables, std::string_view name) {
    const auto odd = analysis::difference_in(tables, name);
    if (!odd) return;
    const auto shown = [](bool none, std::string_view value) {
        return none || value.empty() ? std::string("not there") : fmt::format("'{}'", value);
    };
    all.push_back(fmt::format("{} is {} on {} and {} elsewhere", name,
                              shown(odd->odd_has_none, odd->odd_value), analysis::ranks_text(odd->odd),
                              shown(false, odd->usual_value)));
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

using Words = std::map<Rank, std::vector<std::string>>;

// True if the ranks differ only in a word that ends in the rank's own number, as they should: --local-rank=1.
bool differ_by_rank_alone(Words by_rank) {
    const auto alike = [&] {
        return std::all_of(by_rank.begin(), by_rank.end(),
                           [&](const auto& one) { return one.second == by_rank.begin()->second; });
    };
    if (alike()) return true;
    for (auto& [rank, words] : by_rank) {
        const std::string own = std::to_string(rank);
        for (std::string& word : words) {
            if (word == own || word.ends_with("=" + own)) word.resize(word.size() - own.size());
        }
    }
    return alike();
}

// "lr=0.2 on rank 1, lr=0.1 on ranks 0,2": of each value, the words that not all ranks have.
std::string difference_text(const Words& by_rank) {
    std::map<std::string, std::size_t> holders;
    for (const auto& [rank, words] : by_rank) {
        for (const std::string& word : std::set(words.begin(), words.end())) ++holders[word];
    }
    std::map<std::string, std::vector<Rank>> parts;
    for (const auto& [rank, words] : by_rank) {
        std::vector<std::string> own;
        for (const std::string& word : words) {
            if (holders[word] < by_rank.size()) own.push_back(word);
        }
        parts[own.empty() ? "none of it" : fmt::format("{}", fmt::join(own, " "))].push_back(rank);
    }
    std::vector<std::string> said;
    for (const auto& [value, ranks] : parts)
        said.push_back(fmt::format("{} on {}", value, analysis::ranks_text(ranks)));
    return fmt::format("{}", fmt::join(said, ", "));
}

}  // namespace

std::vector<std::string> differing_settings(const Evidence& evidence) {
    const int attempt = evidence.facts<analysis::Lives>().attempts() - 1;
    std::vector<std::string> all;
    const PairTables environment(evidence, attempt, PairTables::Of::environment);
    for (const std::string_view name : environment.names()) {
        const auto* known = analysis::known_variable(name);
        if (known && known->differs_by_right) continue;
        add_difference(all, environment, name);
    }
    const PairTables versions(evidence, attempt, PairTables::Of::versions);
    for (const std::string_view name : versions.names()) add_difference(all, versions, name);
    std::map<std::string_view, Words> settings;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        settings[evidence.text(config->name)][event->rank] = words_of(evidence.text(config->value));
    }
    for (const auto& [name, by_rank] : settings) {
        if (!differ_by_rank_alone(by_rank))
            all.push_back(fmt::format("{}: {}", name, difference_text(by_rank)));
    }
    return all;
}

}  // namespace deadrank::results
