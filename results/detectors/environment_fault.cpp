// results/detectors/environment_fault.cpp — A variable is missing, unreadable, misspelled or unlike its
// peers', and something broke that it governs. Suspects in order of weight: named by the error itself,
// absent, unreadable or contradictory, misspelled, unlike the peers'.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/facts/complaints.h"
#include "results/facts/findings.h"
#include "results/facts/pairs.h"
#include "results/facts/variables.h"

namespace deadrank::results::detectors {

namespace {

struct Suspect {
    std::string variable;
    std::vector<Rank> ranks;
    std::string why;
    std::string cause = "misconfigured_environment_variable";
};

// Which variable an error is about, when its words do not name it.
constexpr std::pair<std::string_view, std::string_view> speaks_of[] = {
    {"no socket interface found", "NCCL_SOCKET_IFNAME"}, {"Unable to find address for", "GLOO_SOCKET_IFNAME"},
    {"Failed to initialize any NET plugin", "NCCL_NET"}, {"Unrecognized element token", "NCCL_ALGO"},
    {"exceeded error retry count", "NCCL_COMM_ID"},
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
        for (const auto& [words, variable] : speaks_of) {
            std::vector<Rank> ranks;
            for (const Complaint& complaint : evidence_.facts<Complaints>().all()) {
                const bool says = complaint.text.find(words) != std::string_view::npos;
                if (says && complaint.attempt == attempt_) ranks.push_back(complaint.process);
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
                if (ranks != started)
                    why = fmt::format("WORLD_SIZE={} where {} ranks were started", ranks, started);
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
            const std::string odd = drift->odd_has_none ? "nothing" : fmt::format("'{}'", drift->odd_value);
            return Suspect{std::string(name), drift->odd,
                           fmt::format("{} is {} there and '{}' elsewhere", name, odd, drift->usual_value)};
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
    broken->says = fmt::format("{} on {}; {}", suspect->why, ranks_text(suspect->ranks), broken->says);
    broken->causes = {suspect->cause};
    return {*broken};
}

extern const DetectorRow environment_fault_row{
    .name = "environment_fault",
    .reports = {"communication_setup_failure", "communication_setup_hang", "wrong_rank_or_group_membership",
                "collective_mismatch_error", "collective_timeout_abort", "collective_deadlock_hang"},
    .examine = environment_fault,
    .reason = 1};

}  // namespace deadrank::results::detectors
