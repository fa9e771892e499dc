// sim/examples/detector.cpp — A detector of one's own on evidence of any origin: here three events by hand,
// as an importer would record them from a log.
#include <cstdio>
#include <deadrank/results/detectors/detector.h>
#include <map>

namespace results = deadrank::results;
using std::chrono_literals::operator""s;

namespace {

// A rank whose loss is ten times that of another rank in the same step.
results::Findings find_lost_loss(const results::Evidence& evidence) {
    std::map<std::int64_t, results::StepEnd> first;  // by step
    for (const results::Event* event : evidence.each<results::StepEnd>()) {
        const results::StepEnd& end = *event->as<results::StepEnd>();
        const auto [known, fresh] = first.emplace(end.step, end);
        if (fresh || end.loss < 10 * known->second.loss) continue;
        results::Finding finding{.symptom = "loss_nan_or_divergence"};
        finding.blame.ranks = {event->rank};
        finding.blame.step = end.step;
        finding.at = event->at;  // when the evidence sufficed
        finding.says = "rank " + std::to_string(event->rank) + " shows a loss of " +
                       std::to_string(end.loss) + " in step " + std::to_string(end.step);
        return {finding};
    }
    return {};
}

const results::DetectorRow lost_loss_row{
    .name = "lost_loss", .reports = {"loss_nan_or_divergence"}, .examine = find_lost_loss};

}  // namespace

int main() {
    results::Evidence evidence;
    evidence.record({1s, 0, results::StepEnd{.step = 0, .loss = 2.5}});
    evidence.record({1s, 1, results::StepEnd{.step = 0, .loss = 2.4}});
    evidence.record({2s, 0, results::StepEnd{.step = 1, .loss = 2.1}});
    evidence.record({2s, 1, results::StepEnd{.step = 1, .loss = 812.0}});
    evidence.finish(3s);

    results::Detectors detectors;  // results::all_detectors() would be deadrank's own
    detectors.push_back(results::make_detector(lost_loss_row));
    for (const results::Finding& finding : results::detect(evidence, detectors)) {
        std::printf("%s: %s, by %s after %.1f s\n", finding.symptom.c_str(), finding.says.c_str(),
                    finding.detector.c_str(), std::chrono::duration<double>(finding.at).count());
    }
}
