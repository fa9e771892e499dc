// results/external/nvrx.cpp — NVIDIA's resiliency extension as detectors: its restart agent and its
// attribution of hangs.
#include "results/external/nvrx.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "results/emitters/c10d_names.h"
#include "results/emitters/flight_recorder.h"
#include "results/emitters/logs.h"
#include "results/external/memo.h"
#include "results/external/tool_program.h"
#include "scenarios/model/taxonomy_ids.h"
#include "scenarios/model/text.h"

namespace deadrank::results::external {

using scenarios::Symptom;

// ── Both read what a job leaves behind: all ranks' output in one log, and the dumps of the ranks that could
// dump. Neither knows a time, so a finding is dated with the files.

namespace {

using scenarios::ErrorCode;
using scenarios::Result;

constexpr const char* package = "nvidia-resiliency-ext";

struct Class {
    std::string_view theirs, ours;
};
constexpr Class classes[] = {
    {"gpu_hardware_fault", id_of(Symptom::device_fault_reported)},
    {"peer_gpu_memory_access_failure", id_of(Symptom::device_fault_reported)},
    {"observed_exception", id_of(Symptom::framework_runtime_exception)},
    {"argument_validation_failure", id_of(Symptom::framework_runtime_exception)},
    {"configuration_validation_failure", id_of(Symptom::communication_setup_failure)},
    {"artifact_or_path_not_found", id_of(Symptom::model_or_data_loading_failure)},
    {"checkpoint_compatibility_mismatch", id_of(Symptom::reshard_restore_failure)},
    {"shape_mismatch", id_of(Symptom::tensor_shape_or_dtype_error)},
    {"cuda_oom", id_of(Symptom::device_out_of_memory)},
    {"nan_or_inf", id_of(Symptom::loss_nan_or_divergence)},
    {"framework_crash", id_of(Symptom::native_crash_or_illegal_access)},
    {"linux_oom_kill_confirmation", id_of(Symptom::host_resource_exhaustion)},
    {"observed_distributed_operation_timeout", id_of(Symptom::collective_timeout_abort)},
    {"nccl_cascade", id_of(Symptom::collective_timeout_abort)},
};

struct Installed {
    std::string python, version;
};

Result<Installed> installed(const std::string& tool, const std::string& module,
                            const processes::Bounds& bounds) {
    Installed here{tools_python(), {}};
    here.version = package_version(here.python, package);
    if (!here.version.empty()) {
        const auto answer = processes::run_bounded(
            {here.python, "-c", "import importlib as i, sys; i.import_module(sys.argv[1])", module}, bounds);
        if (answer && answer->well()) return here;
        if (answer && answer->ending != processes::Ending::by_itself) {
            return scenarios::refuse(
                ErrorCode::environment, fmt::format("{}: {} {}", tool, here.python, answer->how()),
                "try again when the machine is less busy, or with a longer --time-limit");
        }
    }
    return scenarios::refuse(ErrorCode::environment,
                             here.version.empty()
                                 ? fmt::format("{}: {} is not installed", tool, package)
                                 : fmt::format("{}: {} {} does not have it", tool, package, here.version),
                             "`./dev tools` installs a release that has it (0.7.0)");
}

std::string failure_words(const processes::BoundedAnswer& answer, std::string_view who) {
    return fmt::format("{} {}; it said: {}", who, answer.how(), answer.last_error_text());
}

template <class T>
T need(Result<T>&& result) {
    if (!result) throw std::runtime_error(result.error().text());
    return std::move(*result);
}

}  // namespace

std::string_view symptom_of_failure_class(std::string_view failure_class) {
    for (const Class& one : classes) {
        if (one.theirs == failure_class) return one.ours;
    }
    return {};
}

Result<NvrxRestartAgent> NvrxRestartAgent::find(const processes::Bounds& bounds) {
    auto here =
        installed("nvrx_restart_agent", "nvidia_resiliency_ext.attribution.restart_agent.cli", bounds);
    if (!here) return tl::unexpected(here.error());
    NvrxRestartAgent tool;
    tool.python_ = here->python, tool.version_ = here->version, tool.bounds_ = bounds;
    return tool;
}

std::vector<std::string_view> NvrxRestartAgent::symptoms() const {
    std::vector<std::string_view> symptoms;
    for (const Class& one : classes) {
        if (std::count(symptoms.begin(), symptoms.end(), one.ours) == 0) symptoms.push_back(one.ours);
    }
    return symptoms;
}

std::vector<Finding> NvrxRestartAgent::examine(const Evidence& evidence) const {
    const auto snapshot = emitters::snapshot_of(evidence);
    emitters::EmittedFile log{"job.log", {}};
    for (const auto& file : emitters::kernel_logs(evidence, snapshot)) log.bytes += file.bytes;
    for (const auto& file : emitters::c10d_logs(evidence, snapshot)) log.bytes += file.bytes;
    log.bytes += emitters::torchrun_files(evidence, snapshot).front().bytes;
    const auto answer = need(memo_.query({log}, [&]() -> Memo::Answer {
        const auto scratch = need(Scratch::make());
        need(emitters::write_files({log}, scratch.path()).map([] { return 0; }));
        return processes::run_bounded(
            {python_, "-m", "nvidia_resiliency_ext.attribution.restart_agent.cli",
             (scratch.path() / log.name).string(), "--job-id", "deadrank", "--cycle-id", "0", "--disable-l1"},
            bounds_);
    }));
    if (!answer.well()) throw std::runtime_error(failure_words(answer, name()));
    const RestartVerdict verdict = need(read_restart_response(answer.out));
    const std::string_view symptom = symptom_of_failure_class(verdict.failure_class);
    if (symptom.empty()) return {};
    Finding finding{
        .symptom = std::string(symptom),
        .detector = std::string(name()),
        .blame = {},
        .at = snapshot.at,
        .says = fmt::format("{}: {} ({})", verdict.failure_class, verdict.signature, verdict.decision)};
    if (verdict.rank) finding.blame.ranks = {*verdict.rank};
    return {finding};
}

Result<NvrxAttribution> NvrxAttribution::find(const processes::Bounds& bounds) {
    auto here = installed("nvrx_fr_attribution",
                          "nvidia_resiliency_ext.attribution.trace_analyzer.fr_attribution", bounds);
    if (!here) return tl::unexpected(here.error());
    NvrxAttribution tool;
    tool.python_ = here->python, tool.version_ = here->version, tool.bounds_ = bounds;
    return tool;
}

std::vector<std::string_view> NvrxAttribution::symptoms() const {
    return {id_of(Symptom::collective_deadlock_hang), id_of(Symptom::collective_timeout_abort)};
}

std::vector<Finding> NvrxAttribution::examine(const Evidence& evidence) const {
    const auto snapshot = emitters::snapshot_of(evidence);
    const auto dumps = emitters::dumping_ranks(evidence, snapshot);
    if (dumps.empty()) return {};
    const auto files =
        emitters::flight_recorder_files(evidence, snapshot, emitters::DumpForm::pickle, "_dump_");
    const auto answer = need(memo_.query(files, [&]() -> Memo::Answer {
        const auto scratch = need(Scratch::make());
        need(emitters::write_files(files, scratch.path()).map([] { return 0; }));
        return processes::run_bounded(
            {python_, "-m", "nvidia_resiliency_ext.attribution.trace_analyzer.fr_attribution", "--fr-path",
             scratch.path().string(), "-p", "_dump_*", "--emit-stdout"},
            bounds_);
    }));
    if (!answer.well()) throw std::runtime_error(failure_words(answer, name()));
    std::vector<Finding> findings;
    for (const AttributionRow& row : read_attribution(answer.out)) {
        const bool watchdog = snapshot.reason == emitters::SnapshotReason::watchdog;
        Finding finding{.symptom = watchdog ? id_of(Symptom::collective_timeout_abort)
                                            : id_of(Symptom::collective_deadlock_hang),
                        .detector = std::string(name()),
                        .blame = {},
                        .at = snapshot.at,
                        .says = fmt::format("{} of {}: missing ranks {}", row.op, row.group,
                                            fmt::join(row.missing, ","))};
        finding.blame.ranks = row.missing;
        finding.blame.collective = std::string(name_of(emitters::op_of_profiling_name(row.op).op));
        findings.push_back(std::move(finding));
    }
    return findings;
}

// ── Parses its JSON and its table.

namespace {

using Json = nlohmann::json;

std::string text_or_empty(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string_view> columns_of(std::string_view line) {
    std::vector<std::string_view> columns;
    for (const std::string_view part : scenarios::parts_of(line, '|'))
        columns.push_back(scenarios::trimmed(part));
    return columns;
}

}  // namespace

scenarios::Result<RestartVerdict> read_restart_response(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || text_or_empty(json, "schema_version") != "restart_agent_response.v1") {
        return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                 fmt::format("'{}' is not a restart_agent_response.v1", text.substr(0, 80)),
                                 "another release of the tool may answer in another form");
    }
    RestartVerdict verdict;
    verdict.decision = text_or_empty(json, "decision");
    const auto primary = json.find("primary_failure");
    if (primary == json.end() || !primary->is_object()) return verdict;
    verdict.failure_class = text_or_empty(*primary, "failure_class");
    verdict.signature = text_or_empty(*primary, "signature");
    const auto rank = primary->find("rank");
    if (rank != primary->end() && rank->is_number_integer()) verdict.rank = rank->get<Rank>();
    if (rank != primary->end() && rank->is_string())
        verdict.rank = std::atoi(rank->get<std::string>().c_str());
    return verdict;
}

std::vector<AttributionRow> read_attribution(std::string_view table) {
    std::vector<AttributionRow> rows;
    bool inside = false;
    for (std::size_t at = 0; at < table.size();) {
        const std::size_t end = std::min(table.find('\n', at), table.size());
        const std::string_view line = table.substr(at, end - at);
        at = end + 1;
        const auto columns = columns_of(line);
        if (columns.size() != 6) {
            inside = false;
        } else if (columns[0] == "PGID") {
            inside = true;
        } else if (inside) {
            AttributionRow row{std::string(columns[1]), std::string(columns[2]), {}};
            for (std::string_view rest = columns[5]; !rest.empty();) {
                const std::size_t comma = std::min(rest.find(','), rest.size());
                row.missing.push_back(std::atoi(std::string(rest.substr(0, comma)).c_str()));
                rest.remove_prefix(std::min(comma + 1, rest.size()));
            }
            std::sort(row.missing.begin(), row.missing.end());
            if (!row.missing.empty()) rows.push_back(std::move(row));
        }
    }
    return rows;
}

}  // namespace deadrank::results::external
