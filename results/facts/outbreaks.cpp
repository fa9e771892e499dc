// results/facts/outbreaks.cpp — A second apart is another event: virtual and real jobs fail within
// milliseconds.
#include "results/facts/outbreaks.h"

#include <algorithm>
#include <fmt/format.h>

namespace deadrank::results::detectors {

std::optional<std::int64_t> step_at(const Evidence& evidence, Rank process, Time time) {
    std::optional<std::int64_t> step;
    for (const Event* event : evidence.each<StepBegin>()) {
        if (event->at > time) break;
        if (event->rank == process) step = event->as<StepBegin>()->step;
    }
    return step;
}

std::vector<Outbreak> outbreaks(const Evidence& evidence, Trouble trouble) {
    const Complaints& complaints = evidence.facts<Complaints>();
    std::vector<Outbreak> found;
    for (int attempt = 0; attempt < evidence.facts<Lives>().attempts(); ++attempt) {
        Outbreak outbreak{.attempt = attempt};
        for (const Complaint& first : complaints.first_of_each(attempt)) {
            if (first.trouble != trouble) continue;
            if (outbreak.ranks.empty()) {
                outbreak.at = first.at;
                outbreak.text = first.text;
                outbreak.step = step_at(evidence, first.process, first.at);
            }
            if (first.at - outbreak.at <= std::chrono::seconds(1)) outbreak.ranks.push_back(first.process);
        }
        outbreak.ranks = sorted(std::move(outbreak.ranks));
        if (!outbreak.ranks.empty()) found.push_back(std::move(outbreak));
    }
    return found;
}

Finding finding_of(const Evidence& evidence, const Outbreak& outbreak, std::string_view symptom,
                   std::vector<std::string> causes) {
    Finding finding{.symptom = std::string(symptom),
                    .blame = blame_ranks(evidence.facts<Lives>(), outbreak.ranks),
                    .at = outbreak.at,
                    .says = fmt::format("{} said: {}", ranks_text(outbreak.ranks), heart_of(outbreak.text)),
                    .causes = std::move(causes)};
    finding.blame.step = outbreak.step;
    return finding;
}

}  // namespace deadrank::results::detectors
