// runners/backends/ranks/rank_harvest.cpp — Ranks and keepers stamp job time; the launcher's lines and its
// exit are converted to it here.
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runners/backends/process/process_records.h"
#include "runners/backends/ranks/gate.h"
#include "runners/backends/ranks/rank_files.h"

namespace deadrank::runners {

using nlohmann::json;
using results::RankEnd;
using results::Time;

namespace {

JobClock clock_of(const RealHarvest& harvest) {
    std::ifstream in(harvest.directory / "meeting" / "korigin");
    JobClock clock{harvest.launched.started};
    in >> clock.origin;
    return clock;
}

// Passes events on and notes how each rank ended.
class Ends final : public results::EventSink {
public:
    Ends(results::Evidence& evidence, std::vector<RankEnd>& ends) : evidence_(evidence), ends_(ends) {}
    void record(const results::Event& event) override {
        const auto index = static_cast<std::size_t>(event.rank);
        if (const auto* exit = std::get_if<results::RankExit>(&event.what); exit && index < ends_.size()) {
            ends_[index] = exit->signal ? RankEnd::killed : exit->code ? RankEnd::failed : RankEnd::finished;
        }
        evidence_.record(event);
    }
    results::TextId text(std::string_view words) override { return evidence_.text(words); }

private:
    results::Evidence& evidence_;
    std::vector<RankEnd>& ends_;
};

void read_evidence(const RealHarvest& harvest, Record& record) {
    Ends ends(record.evidence, record.truth.ends);
    const int torn = read_left_events(harvest.directory, 0, ends);
    if (torn > 0) record.notes.push_back(fmt::format("{} lines of evidence were torn or unknown", torn));
}

// One event per line that the launcher printed, without rulers, or that a library wrote into a rank's log.
void read_words(const RealHarvest& harvest, const JobClock& clock, results::Evidence& evidence) {
    for (const Line& line : harvest.launched.lines) {
        if (!line.error || line.text.empty() || line.text.starts_with("-----")) continue;
        const auto has = [&](const char* words) { return line.text.find(words) != std::string::npos; };
        const bool ours = line.rank == results::no_rank;
        const bool bad = ours && (has("exited") || has("non-zero") || has("abort") || has("exitcode"));
        const int level = bad ? 2 : ours || has(" WARN ") ? 1 : 0;
        evidence.record({clock.at(line.at), line.rank, results::RankLog{level, evidence.text(line.text)}});
    }
}

void read_truth(const RealHarvest& harvest, results::Truth& truth) {
    truth.marks = harvest.marks;
    for (const json& line : read_left_truth(harvest.directory)) {
        const FaultLine said(line, 0);
        if (said.fault >= harvest.faults.size()) continue;
        auto mark = parse_mark(line.value("kind", ""), said, harvest.faults[said.fault], harvest.levers);
        if (mark) truth.marks.push_back(std::move(*mark));
    }
    sort_by_time(truth.marks);
}

}  // namespace

void gather(const RealHarvest& harvest, Record& record) {
    const Launched& launched = harvest.launched;
    const JobClock clock = clock_of(harvest);
    const auto ranks = static_cast<std::int32_t>(harvest.plan.world_size());
    const auto number = [&](const char* name) {
        return static_cast<std::int32_t>(harvest.plan.number(harvest.plan.cluster, name));
    };
    results::Evidence& evidence = record.evidence;
    record.truth.ends.assign(static_cast<std::size_t>(ranks), RankEnd::stuck);
    evidence.record(
        {Time(0), results::no_rank,
         results::JobStart{ranks, number("nodes"), number("gpus_per_node"), evidence.text("train.py")}});
    read_evidence(harvest, record);
    read_words(harvest, clock, evidence);
    for (const auto& [pid, state] : launched.left) {
        const auto rank = launched.ranks.find(pid);
        if (rank != launched.ranks.end() && rank->second < ranks && state == 'T')
            record.truth.ends[static_cast<std::size_t>(rank->second)] = RankEnd::stopped;
    }
    read_truth(harvest, record.truth);
    record.ended = clock.at(launched.ended);
    if (launched.end == LaunchEnd::ended) {
        const Gone& gone = launched.launcher;
        evidence.record({record.ended, results::no_rank,
                         results::JobStop{gone.signal ? 128 + gone.signal : gone.code, evidence.text("")}});
    }
    evidence.finish(record.ended);
    record.events = evidence.events().size();
}

}  // namespace deadrank::runners
