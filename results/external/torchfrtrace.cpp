// results/external/torchfrtrace.cpp — PyTorch's Flight Recorder analyser as a detector, and its report as
// findings.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "results/emitters/c10d_names.h"
#include "results/emitters/flight_recorder.h"
#include "results/external/foreign_detectors.h"
#include "results/external/tool_program.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::external {

using scenarios::Symptom;

// ── The analyzer compares every rank with the first file that the directory lists; on tmpfs that is the one
// written last, so rank 0 is written last.

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
namespace fs = std::filesystem;
using Kind = FlightRecorderProblem::Kind;

fs::path memory_directory() {
    std::error_code ignored;
    return fs::is_directory("/dev/shm", ignored) ? fs::path("/dev/shm") : fs::path();
}

// The rank of the file that the analyzer will read first.
std::string reference_in(const fs::path& directory, const std::string& prefix) {
    for (const auto& file : fs::directory_iterator(directory)) {
        const std::string name = file.path().filename().string();
        if (name.starts_with(prefix)) return name.substr(prefix.size());
    }
    return "?";
}

std::string last_line(const std::string& text) {
    const std::size_t end = text.find_last_not_of(" \r\n");
    if (end == std::string::npos) return "nothing";
    const std::size_t begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? -1 : begin));
}

std::string symptom_of(Kind kind, emitters::SnapshotReason reason) {
    if (kind == Kind::mismatch || kind == Kind::totals) return id_of(Symptom::collective_mismatch_error);
    return reason == emitters::SnapshotReason::watchdog ? id_of(Symptom::collective_timeout_abort)
                                                        : id_of(Symptom::collective_deadlock_hang);
}

}  // namespace

Result<Torchfrtrace> Torchfrtrace::find(const processes::Bounds& bounds) {
    Torchfrtrace tool;
    tool.bounds_ = bounds;
    tool.python_ = torch_python();
    tool.version_ = package_version(tool.python_, "torch");
    if (!tool.version_.empty()) {
        // Looked for as a file: importing torch takes seconds.
        const auto there =
            processes::run_bounded({tool.python_, "-c",
                                    "import importlib.util as u, pathlib, sys\n"
                                    "torch = u.find_spec('torch')\n"
                                    "home = pathlib.Path(torch.origin).parent / 'distributed'\n"
                                    "sys.exit(not (home / 'flight_recorder/fr_trace.py').exists())"},
                                   bounds);
        if (there && there->well()) return tool;
        if (there && there->ending != processes::Ending::by_itself) {
            return refuse(ErrorCode::environment,
                          fmt::format("torchfrtrace: {} {}", tool.python_, there->how()),
                          "try again when the machine is less busy, or with a longer --time-limit");
        }
    }
    return refuse(ErrorCode::environment,
                  tool.version_.empty()
                      ? std::string("torchfrtrace: no Python here has torch")
                      : fmt::format("torchfrtrace: torch {} has no such tool", tool.version_),
                  "`./dev tools` installs a torch that has it (2.7 or newer, with tabulate)");
}

std::vector<std::string_view> Torchfrtrace::symptoms() const {
    return {id_of(Symptom::collective_mismatch_error), id_of(Symptom::collective_deadlock_hang),
            id_of(Symptom::collective_timeout_abort)};
}

Result<std::string> Torchfrtrace::report(const std::string& directory, const std::string& prefix) const {
    auto answer = processes::run_bounded({python_, "-m", "torch.distributed.flight_recorder.fr_trace",
                                          directory, "-p", prefix, "--allow-incomplete-ranks"},
                                         bounds_);
    if (!answer) return tl::unexpected(answer.error());
    if (!answer->well()) {
        return refuse(ErrorCode::environment, fmt::format("torchfrtrace {} {}; it said: {}", version_,
                                                          answer->how(), last_line(answer->err)));
    }
    return answer->err + answer->out;
}

std::vector<Finding> Torchfrtrace::examine(const Evidence& evidence) const {
    const emitters::Snapshot snapshot = emitters::snapshot_of(evidence);
    const auto dumps = emitters::dumping_ranks(evidence, snapshot);
    if (dumps.empty()) return {};
    auto scratch = Scratch::make(memory_directory());
    if (!scratch) throw std::runtime_error(scratch.error().text());
    const std::string prefix = "trace_rank_";
    const auto files =
        emitters::flight_recorder_files(evidence, snapshot, emitters::DumpForm::pickle, prefix);
    if (auto written = emitters::write_files(files, scratch->path()); !written)
        throw std::runtime_error(written.error().text());
    const std::string reference = reference_in(scratch->path(), prefix);
    auto text = report(scratch->path().string(), prefix);
    if (!text) throw std::runtime_error(text.error().what);
    std::vector<Finding> findings;
    for (const FlightRecorderProblem& problem : read_flight_recorder_report(*text)) {
        if (problem.kind == Kind::undecided) continue;
        Finding finding{.symptom = symptom_of(problem.kind, snapshot.reason),
                        .detector = std::string(name()),
                        .blame = {},
                        .at = snapshot.at,
                        .says = fmt::format("sequence number {}: {} (rank {}'s dump was read first)",
                                            problem.seq, problem.says, reference)};
        for (const Rank culprit : problem.culprits) {
            for (const emitters::RankDump& dump : dumps) {
                if (dump.rank == culprit) finding.blame.ranks.push_back(dump.process);
            }
            const bool dumped = std::any_of(dumps.begin(), dumps.end(),
                                            [&](const auto& dump) { return dump.rank == culprit; });
            if (!dumped) finding.blame.ranks.push_back(culprit);
        }
        finding.blame.collective =
            std::string(name_of(emitters::op_of_profiling_name(problem.collective).op));
        const bool known = std::any_of(findings.begin(), findings.end(), [&](const Finding& other) {
            return other.symptom == finding.symptom && other.blame.ranks == finding.blame.ranks;
        });
        if (!known) findings.push_back(std::move(finding));
    }
    return findings;
}

// ── Reads its report line by line. The order of culprits varies, so they are a set.

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
