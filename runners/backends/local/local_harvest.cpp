// runners/backends/local/local_harvest.cpp — Merges hooks' lines, logs, exits and torchrun's error files into
// one timeline; what the hooks did becomes the truth.
#include "runners/backends/local/local_harvest.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "results/record/subject.h"
#include "runners/backends/local/rank_log.h"
#include "runners/backends/process/process_records.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using nlohmann::json;
using results::Rank;
using results::Time;

namespace {

// Replaces the loss that the hook computed from its own samples by the one that the rank printed.
class Printed final : public results::EventSink {
public:
    Printed(results::Evidence& evidence, const LogReading& log) : evidence_(evidence), log_(log) {}

    void record(const results::Event& event) override {
        results::Event said = event;
        if (auto* step = std::get_if<results::StepEnd>(&said.what)) {
            const auto found = log_.steps.find({said.rank, step->step});
            if (found != log_.steps.end()) step->loss = found->second.loss;
        }
        evidence_.record(said);
    }
    results::TextId text(std::string_view words) override { return evidence_.text(words); }

private:
    results::Evidence& evidence_;
    const LogReading& log_;
};

// torchrun's error files: what a rank's own @record wrote when it failed.
void read_error_files(const Harvest& harvest, results::Evidence& evidence) {
    for (const fs::path& file : files_below(harvest.directory / "logs", "error.json")) {
        std::ifstream in(file);
        const json error = json::parse(in, nullptr, false);
        const json* inner = error.is_object() && error.contains("message") ? &error["message"] : nullptr;
        if (!inner) continue;
        const std::string message = inner->is_object()   ? inner->value("message", "")
                                    : inner->is_string() ? inner->get<std::string>()
                                                         : "";
        const Rank rank = std::atoi(file.parent_path().filename().c_str());
        // The time stamp in the file has whole seconds only, so the error would come before its cause.
        const Time at(written_at(file) - harvest.launched.started);
        evidence.record({at, rank, results::RankLog{2, evidence.text("error file: " + message)}});
    }
}

ExitReport exit_of(int pid, Rank rank, const Launched& launched, const LogReading& log) {
    const Gone& gone = launched.gone.at(pid);
    if (gone.code >= 0) return {gone.code, gone.signal};
    if (const auto said = log.exits.find(pid); said != log.exits.end()) return said->second;
    if (log.ends.empty()) return {};
    const auto said = log.ends.find(rank);
    if (said == log.ends.end()) return {0, SIGTERM};  // mpirun ends the others itself
    return said->second.code == code_of_launcher ? ExitReport{launched.launcher.code, 0} : said->second;
}

void record_exits(const Harvest& harvest, const LogReading& log, Record& record) {
    const Launched& launched = harvest.launched;
    record.truth.ends.assign(static_cast<std::size_t>(harvest.plan.world_size()), results::RankEnd::running);
    const auto end_of = [&](Rank rank) -> results::RankEnd* {
        const auto index = static_cast<std::size_t>(rank);
        return index < record.truth.ends.size() ? &record.truth.ends[index] : nullptr;
    };
    for (const auto& [pid, gone] : launched.gone) {
        const auto known = launched.ranks.find(pid);
        if (known == launched.ranks.end()) continue;
        const ExitReport exit = exit_of(pid, known->second, launched, log);
        record.evidence.record(
            {Time(gone.at - launched.started), known->second, results::RankExit{exit.code, exit.signal}});
        if (auto* end = end_of(known->second)) {
            *end = exit.signal ? results::RankEnd::killed
                   : exit.code ? results::RankEnd::failed
                               : results::RankEnd::finished;
        }
    }
    // A program without a hook: the launcher's exit counts for all ranks.
    if (launched.ranks.empty() && launched.end == LaunchEnd::ended) {
        const bool well = launched.launcher.code == 0 && launched.launcher.signal == 0;
        std::fill(record.truth.ends.begin(), record.truth.ends.end(),
                  well ? results::RankEnd::finished : results::RankEnd::failed);
    }
    for (const auto& [pid, state] : launched.left) {
        const auto known = launched.ranks.find(pid);
        auto* end = known == launched.ranks.end() ? nullptr : end_of(known->second);
        if (end) *end = state == 'T' ? results::RankEnd::stopped : results::RankEnd::stuck;
    }
}

void record_job(const Harvest& harvest, const std::string& what, Record& record) {
    const Launched& launched = harvest.launched;
    const auto ranks = static_cast<std::int32_t>(harvest.plan.world_size());
    results::Evidence& evidence = record.evidence;
    evidence.record({Time(0), results::no_rank, results::JobStart{ranks, 1, ranks, evidence.text(what)}});
    if (launched.end != LaunchEnd::ended) return;  // it did not end by itself: we ended it
    const Gone& launcher = launched.launcher;
    const int code = launcher.signal ? 128 + launcher.signal : launcher.code;
    evidence.record({Time(launched.ended - launched.started), results::no_rank,
                     results::JobStop{code, evidence.text(code ? "a rank failed" : "all ranks ended")}});
}

// Records steps that were only printed: the hook saw none, or there was no hook.
void record_printed_steps(const Harvest& harvest, const LogReading& log, results::Evidence& evidence) {
    std::set<Rank> seen;
    for (const results::Event* event : evidence.each<results::StepEnd>()) seen.insert(event->rank);
    std::map<Rank, Nanoseconds> before;
    for (const auto& [key, printed] : log.steps) {
        const auto& [rank, step] = key;
        const Time at(printed.at - harvest.launched.started);
        if (!printed.digest.empty()) {
            const std::uint64_t digest = std::hash<std::string>{}(printed.digest);
            evidence.record(
                {at, rank,
                 results::ParametersDigest{.step = step,
                                           .digest = digest,
                                           .group = evidence.text(fmt::format("printed by rank {}", rank)),
                                           .name = evidence.text("printed result")}});
        }
        if (seen.count(rank) > 0) continue;
        const auto previous = before.find(rank);
        const Time begun = previous == before.end() ? at : Time(previous->second - harvest.launched.started);
        evidence.record({begun, rank, results::StepBegin{.step = step}});
        evidence.record({at, rank, results::StepEnd{.step = step, .loss = printed.loss}});
        before[rank] = printed.at;
    }
}

// "torch 2.11.0": the version of the manifest's package, as the ranks reported it.
std::string version_seen(const Harvest& harvest, const results::Evidence& evidence) {
    const std::string name = harvest.manifest.version_of;
    for (const results::Event* event : evidence.each<results::RankStart>()) {
        const std::string lines =
            "\n" + std::string(evidence.text(event->as<results::RankStart>()->versions));
        const std::size_t at = lines.find("\n" + name + "=");
        if (at == std::string::npos) continue;
        const std::size_t begin = at + name.size() + 2;
        return name + " " + lines.substr(begin, lines.find('\n', begin) - begin);
    }
    return "";
}

std::string debug_of(const Manifest& manifest) {
    const auto stated = manifest.environment.find("TORCH_DISTRIBUTED_DEBUG");
    return stated == manifest.environment.end() ? "" : stated->second;
}

// torchrun tells ranks the number of restarts in their environment.
void record_restarts(results::Evidence& evidence) {
    std::map<int, Time> first;
    for (const results::Event* event : evidence.each<results::RankStart>()) {
        const std::string_view seen = evidence.text(event->as<results::RankStart>()->environment);
        constexpr std::string_view name = "TORCHELASTIC_RESTART_COUNT=";
        const std::size_t at = seen.find(name);
        const int attempt = at == std::string_view::npos ? 0 : std::atoi(seen.data() + at + name.size());
        if (attempt == 0) continue;
        const auto [known, fresh] = first.try_emplace(attempt, event->at);
        if (!fresh) known->second = std::min(known->second, event->at);  // files are read one after another
    }
    for (const auto& [attempt, at] : first) {
        evidence.record({at, results::no_rank, results::Restart{attempt, evidence.text("a rank failed")}});
    }
}

// Reads lines that a hook or a library wrote about one fault.
class TruthReader {
public:
    TruthReader(const Harvest& harvest, results::Truth& truth) : harvest_(harvest), truth_(truth) {}

    void read(const json& line) {
        const std::vector<inject::PlannedFault>& faults = harvest_.arming.faults;
        FaultLine said(line, harvest_.launched.started);
        if (said.fault >= faults.size()) return;
        const std::string kind = line.value("kind", "");
        if (kind == "fault.waits") {
            waits_.try_emplace(said.fault, nameless(said.moment));
        } else if (kind == "fault.fitted") {
            fitted_.try_emplace(said.fault, nameless(said.moment));
        }
        // A fault that waited for a file gets the step of its moment.
        if (const auto begun = waits_.find(said.fault); begun != waits_.end() && said.moment.step < 0)
            said.moment.step = begun->second.step;
        auto mark = parse_mark(kind, said, faults[said.fault], harvest_.levers);
        if (!mark) return;
        if (mark->kind != results::MarkKind::reverted) happened_.insert(said.fault);
        truth_.marks.push_back(std::move(*mark));
    }

    // Storage with less room that still held everything: intended in the healed run; in any other, the fault
    // did not happen.
    void resolve_unfilled_storage() {
        for (const auto& [index, moment] : fitted_) {
            if (!happened_.insert(index).second) continue;
            const inject::PlannedFault& planned = harvest_.arming.faults[index];
            if (harvest_.plan.variant == scenarios::Variant::healed) {
                truth_.marks.push_back(
                    inject::applied_mark(index, planned, moment.rank, moment, harvest_.levers));
                continue;
            }
            const scenarios::Error error{scenarios::ErrorCode::unsupported,
                                         "the storage had room for all that the job wrote: leave less free"};
            truth_.marks.push_back(inject::refused_mark(index, planned, moment.rank, moment, error));
        }
    }

    // A damage whose moment came but that met no file, or a value that nobody used: it caused nothing that
    // followed. In a healed run that is what some fixes are, another way that does not go there.
    void refuse_unmet_faults() {
        for (const auto& [index, moment] : waits_) {
            if (happened_.contains(index)) continue;
            const inject::PlannedFault& planned = harvest_.arming.faults[index];
            const auto given = [&](const char* name) {
                const auto found = planned.spec.parameters.find(name);
                return found == planned.spec.parameters.end() ? std::string() : found->second.text;
            };
            const std::string path = given("path"), seam = given("seam");
            std::string met = "wrote and read no checkpoint that we saw";
            if (!path.empty()) met = "wrote and read no file whose path has '" + path + "' in it";
            std::string says = "nothing was damaged, since after this moment the job " + met;
            if (!seam.empty())
                says = "nothing was bent, since after this moment the program did not use its " + seam;
            if (harvest_.plan.variant == scenarios::Variant::healed) {
                truth_.marks.push_back({.at = moment.now,
                                        .kind = results::MarkKind::unread,
                                        .fault = static_cast<std::int32_t>(index),
                                        .blame = {},
                                        .says = std::move(says)});
                continue;
            }
            truth_.marks.push_back(inject::refused_mark(
                index, planned, moment.rank, moment, {scenarios::ErrorCode::unsupported, std::move(says)}));
        }
    }

private:
    static inject::Moment nameless(inject::Moment moment) {
        moment.call = {};  // it would outlive the line that it views
        return moment;
    }

    const Harvest& harvest_;
    results::Truth& truth_;
    std::map<std::size_t, inject::Moment> waits_, fitted_;
    std::set<std::size_t> happened_;
};

void read_truth(const Harvest& harvest, results::Truth& truth) {
    truth.marks = harvest.arming.marks;
    TruthReader reader(harvest, truth);
    for (const json& said : read_left_truth(harvest.directory)) reader.read(said);
    reader.resolve_unfilled_storage();
    reader.refuse_unmet_faults();
    sort_by_time(truth.marks);
}

}  // namespace

namespace {

std::set<std::string> names_of(const std::map<std::string, std::string>& promises) {
    std::set<std::string> names;
    for (const auto& [name, source] : promises) names.insert(name);
    return names;
}

}  // namespace

void gather(const Harvest& harvest, Record& record) {
    results::Evidence& evidence = record.evidence;
    StepPattern steps;
    if (!harvest.manifest.step.empty()) steps = {std::regex(harvest.manifest.step), harvest.manifest.fields};
    const auto lines = given_to_ranks(harvest.launched.lines, harvest.launched.ranks);
    const LogReading log = read_log(lines, harvest.launched.started, evidence, steps);
    Printed printed(evidence, log);
    if (const int torn = read_left_events(harvest.directory, harvest.launched.started, printed)) {
        record.notes.push_back(fmt::format("{} lines of evidence were torn or unknown", torn));
    }
    record_printed_steps(harvest, log, evidence);
    record_job(harvest,
               results::subject_lines({harvest.manifest.name, harvest.manifest.framework,
                                       version_seen(harvest, evidence), harvest.timeout,
                                       debug_of(harvest.manifest), names_of(harvest.manifest.compares)}),
               record);
    read_error_files(harvest, evidence);
    record_exits(harvest, log, record);
    record_restarts(evidence);
    read_truth(harvest, record.truth);
    record.ended = Time(harvest.launched.ended - harvest.launched.started);
    record.truth.waiting = harvest.launched.waiting;
    evidence.finish(record.ended);
    record.events = evidence.events().size();
}

}  // namespace deadrank::runners
