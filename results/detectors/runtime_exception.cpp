// results/detectors/runtime_exception.cpp — A framework raised an exception in which no more specific phrase
// was found; or a process ended with an error code, and nothing that anybody said tells why.
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <vector>

#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/exception_words.h"
#include "results/analysis/findings.h"
#include "results/analysis/lives.h"
#include "results/analysis/stream_races.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Symptom;

using namespace analysis;

namespace {

constexpr int codes_of_signals = 128;  // a shell's code of a signal, as a launcher's 143

bool ended_by_itself(const Life& life) {
    return life.ended != never && life.signal == 0 && life.code > 0 && life.code < codes_of_signals;
}

bool complained_by(const Evidence& evidence, int attempt, Time time) {
    const auto& all = evidence.facts<Complaints>().all();
    return std::any_of(all.begin(), all.end(), [&](const Complaint& complaint) {
        return complaint.attempt == attempt && complaint.at <= time;
    });
}

// What torch's stream sanitizer raises says only how many races there are: the log has both kernels.
void describe_race(const Evidence& evidence, std::string_view raised, Finding& finding) {
    if (raised.find("CUDASanitizerErrors") == std::string_view::npos) return;
    for (const StreamRace& race : find_stream_races(evidence)) {
        if (!std::binary_search(finding.blame.ranks.begin(), finding.blame.ranks.end(), race.rank)) continue;
        finding.says = fmt::format("{}: {}", ranks_text(finding.blame.ranks), race.text());
        return;
    }
}

}  // namespace

std::optional<Finding> unexplained_end(const Evidence& evidence) {
    const auto stops = evidence.each<JobStop>();
    if (stops.empty() || stops.back()->as<JobStop>()->code == 0) return std::nullopt;
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempts() - 1;
    const auto all = lives.of(attempt);
    Time first = never;
    for (const Life& life : all)
        if (life.failed()) first = std::min(first, life.ended);
    if (first == never) return std::nullopt;
    const Time until = first + std::chrono::seconds(1);
    std::vector<Rank> ranks;
    const Life* leader = nullptr;
    for (const Life& life : all) {
        if (life.ended == first && !ended_by_itself(life) && life.failed()) return std::nullopt;
        if (life.ended > until || !ended_by_itself(life)) continue;
        ranks.push_back(life.process);
        if (!leader || life.ended < leader->ended) leader = &life;
    }
    if (!leader || complained_by(evidence, attempt, until)) return std::nullopt;
    const std::string_view line = last_error_line(evidence, attempt, leader->process, until);
    const std::string said = line.empty() ? std::string("without an error in any line")
                                          : fmt::format("and said: {}", quoted(line));
    Finding finding{.symptom = id_of(Symptom::framework_runtime_exception),
                    .blame = blame_ranks(lives, ranks),
                    .at = first,
                    .says = fmt::format("{} ended with code {} {}", ranks_text(ranks), leader->code, said),
                    .causes = list_exception_causes(line, std::ssize(ranks) == lives.started(attempt))};
    finding.detector = "runtime_exception";
    finding.blame.step = step_at(evidence, leader->process, first);
    describe_race(evidence, line, finding);
    return finding;
}

Findings runtime_exception(const Evidence& evidence) {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::exception)) {
        const Lives& lives = evidence.facts<Lives>();
        const bool everybody = std::ssize(outbreak.ranks) == lives.started(outbreak.attempt);
        findings.push_back(finding_of(evidence, outbreak, id_of(Symptom::framework_runtime_exception),
                                      list_exception_causes(outbreak.text, everybody)));
        describe_race(evidence, outbreak.text, findings.back());
    }
    return findings;
}

extern const DetectorRow runtime_exception_row{.name = "runtime_exception",
                                               .reports = {id_of(Symptom::framework_runtime_exception)},
                                               .examine = runtime_exception};

}  // namespace deadrank::results::detectors
