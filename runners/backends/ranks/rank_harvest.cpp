// runners/backends/ranks/rank_harvest.cpp — Ranks and keepers stamp the job's own time; what the launcher
// said and when we saw it end is brought to it here.
#include "runners/backends/ranks/rank_harvest.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "inject/core/injector.h"
#include "runners/backends/process/event_reader.h"
#include "runners/backends/ranks/gate.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using nlohmann::json;
using results::RankEnd;
using results::Time;

namespace {

std::vector<fs::path> files_in(const fs::path& directory) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
        if (entry.path().extension() == ".jsonl") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

JobClock clock_of(const RealHarvest& harvest) {
    std::ifstream in(harvest.directory / "meeting" / "korigin");
    JobClock clock{harvest.launched.started};
    in >> clock.origin;
    return clock;
}

// Watches what goes by: how each rank ended.
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
    int torn = 0;
    for (const fs::path& file : files_in(harvest.directory / "evidence")) {
        std::ifstream in(file);
        for (std::string line; std::getline(in, line);) torn += !read_event(line, 0, ends);
    }
    if (torn > 0) record.notes.push_back(fmt::format("{} lines of evidence were torn or unknown", torn));
}

// The launcher's own words, without rulers, and what a library wrote into a rank's log: an event for each
// line.
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
    for (const fs::path& file : files_in(harvest.directory / "truth")) {
        std::ifstream in(file);
        for (std::string line; std::getline(in, line);) {
            const json said = json::parse(line, nullptr, false);
            const auto index =
                said.is_object() ? said.value("fault", harvest.faults.size()) : harvest.faults.size();
            if (index >= harvest.faults.size()) continue;
            const inject::PlannedFault& planned = harvest.faults[index];
            const std::string call = said.value("call", "");
            const auto kind = results::mark_kind_named(said.value("kind", ""));
            const inject::Moment moment{.rank = said.value("rank", results::no_rank),
                                        .now = Time(said.value("t", std::int64_t{0})),
                                        .step = said.value("step", std::int64_t{-1}),
                                        .phase = results::Phase::none,
                                        .call = call};
            if (kind == results::MarkKind::applied)
                truth.marks.push_back(
                    inject::applied_mark(index, planned, moment.rank, moment, harvest.levers));
            if (kind == results::MarkKind::reverted)
                truth.marks.push_back(inject::reverted_mark(index, planned, moment.rank, moment.now));
            if (kind == results::MarkKind::refused) {
                const scenarios::Error error{scenarios::ErrorCode::unsupported, said.value("says", "")};
                truth.marks.push_back(inject::refused_mark(index, planned, moment.rank, moment, error));
            }
        }
    }
    std::stable_sort(truth.marks.begin(), truth.marks.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
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
