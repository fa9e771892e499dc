// results/diagnosis/operator_answer.cpp — The text of an answer. What is unknown is called unknown, with the
// lines that sound most like the cause.
#include "results/diagnosis/operator_answer.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

#include "results/analysis/error_quote.h"
#include "results/analysis/findings.h"
#include "results/analysis/program_lines.h"
#include "results/analysis/signatures.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::diagnosis {

using scenarios::Symptom;

namespace {

using reports::Ink;
using reports::Style;

constexpr std::size_t causes_most = 3, lines_most = 3, columns_most = 110;

// What to look at next. A row without a vendor is for all of them; one with a vendor takes the place of rows
// that are NVIDIA's or nobody's in the same slot.
struct Look {
    std::string_view symptom, words;
    std::optional<Vendor> vendor = std::nullopt;
};
constexpr Look looks[] = {
    {id_of(Symptom::device_fault_reported),
     "nvidia-smi -q of that device, and its XIDs before the job (dmesg -T | grep Xid); take the node out",
     Vendor::nvidia},
    {id_of(Symptom::device_fault_reported),
     "amd-smi metric --ecc, or rocm-smi --showrasinfo all, and dmesg -T | grep amdgpu; take the node out",
     Vendor::amd},
    {id_of(Symptom::device_fault_reported),
     "npu-smi info -t health -i ID, and the device log (msnpureport); take the node out", Vendor::ascend},
    {id_of(Symptom::device_fault_reported),
     "xpu-smi health -d ID, and dmesg -T | grep -e xe -e i915; take the node out", Vendor::intel},
    {id_of(Symptom::device_fault_reported), "hl-smi, and dmesg -T | grep habanalabs; take the node out",
     Vendor::habana},
    {id_of(Symptom::device_fault_reported), "tpu-info, and the health of the slice; take the host out",
     Vendor::tpu},
    {id_of(Symptom::native_crash_or_illegal_access),
     "the same step with CUDA_LAUNCH_BLOCKING=1, or compute-sanitizer", Vendor::nvidia},
    {id_of(Symptom::native_crash_or_illegal_access),
     "the same step with AMD_SERIALIZE_KERNEL=3 and HIP_LAUNCH_BLOCKING=1; then amd-smi for the device",
     Vendor::amd},
    {id_of(Symptom::native_crash_or_illegal_access),
     "the same step with ASCEND_LAUNCH_BLOCKING=1, and the plogs below ~/ascend/log", Vendor::ascend},
    {id_of(Symptom::native_crash_or_illegal_access),
     "the same step with TPU_STDERR_LOG_LEVEL=0 and TPU_MIN_LOG_LEVEL=0, and tpu-info on that host",
     Vendor::tpu},
    {id_of(Symptom::native_crash_or_illegal_access),
     "hl-smi for processes that still hold the device, and the logs below $HABANA_LOGS with LOG_LEVEL_ALL=3",
     Vendor::habana},
    {id_of(Symptom::native_crash_or_illegal_access),
     "xpu-smi health -d ID, and dmesg -T | grep -e xe -e i915 from before the crash", Vendor::intel},
    {id_of(Symptom::native_crash_or_illegal_access), "a core file's stack of the rank that died first"},
    {id_of(Symptom::communication_setup_failure),
     "the plogs below ~/ascend/log with ASCEND_GLOBAL_LOG_LEVEL=1, npu-smi info for processes that are left "
     "over, and hccn_tool for the links",
     Vendor::ascend},
    {id_of(Symptom::communication_setup_failure),
     "CCL_LOG_LEVEL=info, CCL_ATL_TRANSPORT and FI_PROVIDER, and whether mpirun started the ranks",
     Vendor::intel},
    {id_of(Symptom::communication_setup_failure),
     "coordinator_address, num_processes and process_id of each process, and whether each was started",
     Vendor::tpu},
    {id_of(Symptom::communication_setup_failure),
     "MASTER_ADDR, MASTER_PORT and that the port is free and reachable from each node"},
    {id_of(Symptom::communication_setup_failure),
     "NCCL_SOCKET_IFNAME and NCCL_DEBUG=INFO: which interface and which NCCL each rank took", Vendor::nvidia},
    {id_of(Symptom::communication_setup_failure),
     "NCCL_SOCKET_IFNAME and NCCL_DEBUG=INFO, which RCCL reads too, and rocm-smi --showtopo", Vendor::amd},
    {id_of(Symptom::collective_timeout_abort),
     "HCCL_CONNECT_TIMEOUT, HCCL_EXEC_TIMEOUT and the plogs of the ranks that did not time out",
     Vendor::ascend},
    {id_of(Symptom::collective_timeout_abort),
     "the last lines of the ranks that did not time out, and their Python stacks (py-spy dump)"},
    {id_of(Symptom::collective_timeout_abort),
     "Flight Recorder dumps of the next run: TORCH_NCCL_TRACE_BUFFER_SIZE=2000, "
     "TORCH_NCCL_DUMP_ON_TIMEOUT=1",
     Vendor::nvidia},
    {id_of(Symptom::collective_timeout_abort), "whether batches, files or branches can differ between ranks"},
    {id_of(Symptom::collective_deadlock_hang),
     "the Python stack of every rank (py-spy dump), the absent one's first"},
    {id_of(Symptom::collective_deadlock_hang),
     "Flight Recorder dumps: who entered which call and who did not", Vendor::nvidia},
    {id_of(Symptom::communication_setup_hang),
     "how many of the ranks reached the store, and from which hosts"},
    {id_of(Symptom::remote_peer_connection_error),
     "the log of the peer that is named, from before the connection broke"},
    {id_of(Symptom::remote_peer_connection_error),
     "counters of the link (ibstat, ethtool -S) and the kernel log of both hosts"},
    {id_of(Symptom::device_out_of_memory), "memory by rank and step: is it one rank, or does it grow"},
    {id_of(Symptom::device_out_of_memory), "torch.cuda.memory._snapshot() of the rank that failed",
     Vendor::nvidia},
    {id_of(Symptom::host_resource_exhaustion),
     "the kernel log (dmesg -T) and the limits of the job: memory, /dev/shm, open files, quota"},
    {id_of(Symptom::host_resource_exhaustion),
     "memory of the host over time, and the number of data loading workers"},
    {id_of(Symptom::collective_mismatch_error),
     "the same run with TORCH_DISTRIBUTED_DEBUG=DETAIL: which rank calls what"},
    {id_of(Symptom::collective_mismatch_error), "versions of NCCL and NCCL_ variables on every node"},
    {id_of(Symptom::checkpoint_unreadable),
     "the file's size and time beside those of its siblings; the save before it"},
    {id_of(Symptom::checkpoint_save_failure), "free space and quota where the checkpoint goes"},
    {id_of(Symptom::reshard_restore_failure),
     "the layout that saved beside the layout that loads: world size, tensor and pipeline parallel sizes"},
    {id_of(Symptom::import_or_symbol_error),
     "versions of torch, its device runtime and the package, on the node that failed and on another"},
    {id_of(Symptom::build_or_install_failure),
     "nvcc --version beside torch.version.cuda, and the compiler's first error"},
    {id_of(Symptom::model_or_data_loading_failure),
     "whether the path exists on every node, and who may read it"},
    {id_of(Symptom::tensor_shape_or_dtype_error),
     "shapes that this rank got beside those of its peers at the same line"},
    {id_of(Symptom::loss_nan_or_divergence),
     "the first step with a NaN, and the batch and gradient norm there"},
    {id_of(Symptom::restart_or_recovery_failure), "the first failure, before the restarts"},
    {id_of(Symptom::framework_runtime_exception),
     "the innermost frame of the traceback, and the arguments there on this rank and on another"},
};

// A library that was not built for this device, or a driver that is too old: the versions tell.
constexpr std::string_view look_at_versions =
    "python -m torch.utils.collect_env: the devices, the driver, and for which devices this torch was built "
    "(torch.cuda.get_arch_list())";

// 4120 → "4,120"
std::string thousands(std::int64_t number) {
    std::string text = fmt::format("{}", number);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
    return text;
}

// One line, cut where it gets too long for a screen.
std::string one_line(std::string_view text, std::size_t most = columns_most) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    return analysis::shorten_text(text.substr(begin, text.find('\n') - begin), most);
}

std::string indented(const std::string& text, const std::string& by) {
    std::string all;
    for (const char c : text) all += c == '\n' ? "\n" + by : std::string(1, c);
    return all;
}

std::string row(const Style& style, std::string_view name, const std::string& words) {
    return words.empty() ? ""
                         : fmt::format("  {} {}\n", style.paint(Ink::dim, fmt::format("{:<6}", name)), words);
}
std::string row(const Style& style, AnswerRow which, const std::string& words) {
    return row(style, name_of(which), words);
}

std::string definition_of(const std::vector<scenarios::TaxonomyEntry>& entries, const std::string& id) {
    const auto* entry = scenarios::find(entries, id);
    return entry ? entry->definition : "";
}

// The frame of the job's own program, or else the innermost one, and the exception. Of a parent that repeats
// how its child ended the exception alone: its frames are a launcher's.
std::vector<std::string_view> lines_of(const Quote& whole) {
    const std::string_view quote = whole.text, said = analysis::find_key_line(quote);
    if (whole.of_parent) return {said};
    std::string_view frame, innermost;
    for (std::size_t at = quote.find("File \""); at != quote.npos; at = quote.find("File \"", at + 6)) {
        const std::string_view line = quote.substr(at, quote.find('\n', at) - at);
        innermost = line;
        if (analysis::is_program_file(line.substr(6, line.find('"', 6) - 6))) frame = line;
    }
    if (frame.empty()) frame = innermost;
    std::vector<std::string_view> lines;
    if (!frame.empty() && frame != said) lines.push_back(frame);
    lines.push_back(said);
    // A library's message has its reason in a further line.
    for (std::size_t at = quote.find(said); at < quote.size();) {
        const std::string_view line = quote.substr(at, quote.find('\n', at) - at);
        at += line.size() + 1;
        if (line == said || !analysis::signature_in(line)) continue;
        if (!analysis::signature_in(said)) lines.push_back(line);
        break;
    }
    return lines;
}

// At most three lines of the log, those nearest to the cause first, each with its rank.
std::string quotes(const Incident& incident, const Style& style) {
    std::vector<std::string> lines;
    for (const Quote& quote : incident.lines) {
        for (const std::string_view line : lines_of(quote)) {
            const std::string who = quote.rank == no_rank ? "" : fmt::format("rank {}: ", quote.rank);
            std::string text = one_line(who + std::string(line.substr(0, 1'000)));
            const bool known = std::find(lines.begin(), lines.end(), text) != lines.end();
            if (!known && !text.empty() && lines.size() < lines_most) lines.push_back(std::move(text));
        }
    }
    std::string text;
    for (const std::string& line : lines)
        text += row(style, text.empty() ? name_of(AnswerRow::lines) : "", line);
    return text;
}

// All lines, whole, with their times.
std::string all_quotes(const Incident& incident, const Style& style) {
    std::string text;
    for (const Quote& quote : incident.lines) {
        const std::string who = quote.rank == no_rank ? "?" : fmt::format("{}", quote.rank);
        const std::string when = has_times(incident.reading) ? duration_text(quote.at) : "";
        text += fmt::format("  {} {}\n", style.paint(Ink::dim, fmt::format("rank {:<4}{:>10}", who, when)),
                            indented(quote.text, std::string(22, ' ')));
    }
    return text.empty() ? text : fmt::format("\n{}\n{}", style.paint(Ink::bold, "lines"), text);
}

std::string what_text(const Diagnosis& diagnosis, const scenarios::Taxonomy& taxonomy, const Style& style) {
    const Incident& incident = diagnosis.incident;
    if (diagnosis.finding) {
        const std::string& symptom = diagnosis.finding->symptom;
        const std::string what =
            incident.user_code.empty()
                ? symptom
                : fmt::format("an error in the job's own program ({})", incident.user_code);
        const std::string definition =
            incident.user_code.empty() ? definition_of(taxonomy.symptoms, symptom) : "by class: " + symptom;
        return style.paint(Ink::red, what) + style.paint(Ink::dim, ": " + one_line(definition, 90));
    }
    const std::string read = reading_text(incident.reading);
    switch (incident.outcome) {
        case IncidentOutcome::healthy:
            return style.paint(Ink::green, "healthy: nothing was found");
        case IncidentOutcome::completed:
            return style.paint(Ink::green, "completed: the job came to its end");
        case IncidentOutcome::stopped:
            return style.paint(Ink::yellow, incident.stopped_by.empty()
                                                ? "stopped from outside"
                                                : fmt::format("stopped by {}", incident.stopped_by));
        default:
            return style.paint(Ink::yellow, "unknown") + (read.empty() ? "" : ": " + read);
    }
}

std::string who_text(const Diagnosis& diagnosis) {
    const Incident& incident = diagnosis.incident;
    const auto on_hosts = [&](const std::string& who) {
        return incident.hosts.empty() ? who : fmt::format("{} on {}", who, fmt::join(incident.hosts, ", "));
    };
    if (diagnosis.finding) {
        Blame blame = diagnosis.finding->blame;
        std::string who;
        if (!blame.ranks.empty())
            who = fmt::format("{} {}", blame.ranks.size() == 1 ? "rank" : "ranks", ranges_text(blame.ranks));
        blame.ranks.clear();
        if (!incident.hosts.empty()) blame.nodes.clear();
        if (const std::string rest = blame.text(); !rest.empty()) who += (who.empty() ? "" : ", ") + rest;
        if (!who.empty()) return on_hosts(who);
        // Ranks that only waited, or lost a peer, are not those that began it.
        const bool others = std::any_of(incident.lines.begin(), incident.lines.end(),
                                        [](const Quote& quote) { return quote.rank != no_rank; });
        const std::string_view nobody = others ? "no line shows who is to blame" : "no line names a rank";
        return incident.hosts.empty() ? std::string(nobody)
                                      : fmt::format("{}; {}", fmt::join(incident.hosts, ", "), nobody);
    }
    if (!incident.ended.empty())
        return fmt::format("{} ended first; why is in none of these lines",
                           analysis::ranks_text(incident.ended));
    if (incident.silence <= Time{0}) return {};
    if (!incident.silent_first.empty())
        return fmt::format("{} fell silent first; no rank printed anything for {} before that",
                           analysis::ranks_text(incident.silent_first), duration_text(incident.silence));
    const std::string how_long = duration_text(incident.silence);
    return incident.lines_name_ranks
               ? fmt::format("all ranks fell silent together, {} before that", how_long)
               : fmt::format("no line names a rank; the log is silent for {} before that", how_long);
}

// The words of the log, or the first clue: " ("no kernel image is available")".
std::string what_speaks_for(const LikelyCause& cause, const Incident& incident) {
    constexpr std::size_t most = 60;
    for (const SpokenCause& one : incident.spoken)
        if (one.cause == cause.cause)
            return fmt::format(" (\"{}\")", analysis::shorten_text(one.words, most));
    if (!incident.finding || incident.finding->detector != log_reading) return {};  // --more has the reasons
    return fmt::format(" ({})", one_line(cause.reasons.front().says, most));
}

std::string cause_text(const Diagnosis& diagnosis) {
    if (!diagnosis.finding) return {};
    if (diagnosis.causes.empty()) return "no line speaks for a cause";
    std::string text;
    for (std::size_t i = 0; i < diagnosis.causes.size() && i < causes_most; ++i)
        text += fmt::format("{}{}{}", i == 0 ? "" : ", or ", diagnosis.causes[i].cause,
                            what_speaks_for(diagnosis.causes[i], diagnosis.incident));
    return text;
}

// Causes with their reasons, fixes, and a bug like this one.
std::string details(const Diagnosis& diagnosis, const scenarios::Taxonomy& taxonomy,
                    const std::string& similar, const Style& style) {
    std::string text;
    if (!diagnosis.causes.empty())
        text += fmt::format(
            "\n{}\n", style.paint(Ink::bold, diagnosis.incident.user_code.empty()
                                                 ? "likely causes"
                                                 : "likely causes, if it is not a slip of the program"));
    for (std::size_t i = 0; i < diagnosis.causes.size(); ++i) {
        const LikelyCause& one = diagnosis.causes[i];
        text += fmt::format("  {}. {}  {}\n     {}\n", i + 1, style.paint(Ink::yellow, one.cause),
                            style.paint(Ink::dim, fmt::format("{} points", one.points)),
                            style.paint(Ink::dim, definition_of(taxonomy.causes, one.cause)));
        for (const auto& reason : one.reasons)
            text += fmt::format("     {:+}  {}\n", reason.points, reason.says);
    }
    const auto next = next_looks(diagnosis);
    if (!next.empty() || !similar.empty()) text += fmt::format("\n{}\n", style.paint(Ink::bold, "look next"));
    for (const std::string& look : next) text += fmt::format("  {}\n", look);
    if (!similar.empty())
        text += fmt::format("  deadrank learn {}  {}\n", similar,
                            style.paint(Ink::dim, "a bug like this one, played"));
    if (!diagnosis.fixes.empty()) text += fmt::format("\n{}\n", style.paint(Ink::bold, "fix patterns"));
    for (std::size_t i = 0; i < diagnosis.fixes.size() && i < causes_most; ++i) {
        text += fmt::format("  {}. {}\n     {}\n", i + 1, style.paint(Ink::green, diagnosis.fixes[i].fix),
                            style.paint(Ink::dim, definition_of(taxonomy.fixes, diagnosis.fixes[i].fix)));
    }
    for (const Finding& other : diagnosis.others)
        text += fmt::format("\nalso found: {} · {}\n", other.symptom, other.says);
    return text;
}

}  // namespace

std::string_view name_of(AnswerRow row) {
    constexpr std::string_view names[] = {"what", "who", "why", "lines", "cause", "next", "sure", "read"};
    return names[static_cast<std::size_t>(row)];
}

std::string_view name_of(Certainty certainty) {
    constexpr std::string_view names[] = {"high", "fair", "low"};
    return names[static_cast<std::size_t>(certainty)];
}

std::string certainty_text(const Incident& incident) {
    const auto words = [](Certainty certainty, const char* why) {
        return fmt::format("{}: {}", name_of(certainty), why);
    };
    if (incident.sure <= 0) return {};
    if (incident.sure >= 3) return words(Certainty::high, "the error is a rank's or a machine's own");
    if (incident.sure == 1) return words(Certainty::low, "only how processes ended is known");
    return incident.finding && !incident.finding->blame.ranks.empty()
               ? words(Certainty::fair, "other ranks report it, which waited for this one or lost it")
               : words(Certainty::fair, "the log has the error, and does not show which rank began it");
}

bool has_times(const analysis::LogRead& reading) { return reading.lines == 0 || reading.stamps > 0; }

std::string reading_text(const analysis::LogRead& reading) {
    if (reading.lines == 0) return "";
    std::string text = fmt::format("{} line{} read, {} not understood", thousands(reading.lines),
                                   reading.lines == 1 ? "" : "s", thousands(reading.not_understood));
    if (reading.orphans > 0)
        text += fmt::format(", {} without a rank",
                            counted(static_cast<std::size_t>(reading.orphans), "traceback"));
    return text;
}

std::vector<std::string> next_looks(const Diagnosis& diagnosis) {
    std::vector<std::string> next;
    const Incident& incident = diagnosis.incident;
    if (!diagnosis.finding) {
        if (incident.outcome == IncidentOutcome::unknown)
            next.emplace_back(
                incident.ended.empty()
                    ? "the output of each rank itself: torchrun --log-dir, srun --output with %t"
                    : "the output of that rank itself; @record on its main function puts its "
                      "traceback into torchrun's report");
        if (incident.outcome == IncidentOutcome::stopped && incident.silence > Time{0})
            next.emplace_back(
                incident.silent_first.empty()
                    ? "the Python stack of every rank in the next run (py-spy dump): the job hung before it "
                      "was stopped"
                    : "the Python stack of those ranks in the next run (py-spy dump): the job hung before it "
                      "was stopped");
        return next;
    }
    if (!incident.user_code.empty())
        next.push_back(fmt::format("{} of the job's own program", incident.user_code));
    if (diagnosis.finding->symptom == Symptom::framework_runtime_exception && !diagnosis.causes.empty() &&
        diagnosis.causes.front().cause == id_of(scenarios::Cause::dependency_or_hardware_mismatch))
        next.emplace_back(look_at_versions);
    const bool of_a_node = diagnosis.finding->symptom == Symptom::device_fault_reported &&
                           incident.devices.empty() && incident.vendor == Vendor::nvidia;
    if (of_a_node)
        next.emplace_back(
            "the scheduler's reason for the node (sinfo -R, kubectl describe node), and its kernel log");
    for (const Look& look : looks) {
        if (look.symptom == diagnosis.finding->symptom &&
            look.vendor.value_or(incident.vendor) == incident.vendor)
            next.emplace_back(look.words);
    }
    return next;
}

std::string answer_text(const Diagnosis& diagnosis, const std::string& place,
                        const scenarios::Taxonomy& taxonomy, const AnswerOptions& options,
                        const Style& style) {
    const Incident& incident = diagnosis.incident;
    std::string text = style.paint(Ink::bold, place) + "\n";
    text += row(style, AnswerRow::what, what_text(diagnosis, taxonomy, style));
    text += row(style, AnswerRow::who, who_text(diagnosis));
    if (diagnosis.finding)
        text += row(style, AnswerRow::why, one_line(diagnosis.finding->says, 2 * columns_most));
    if (incident.outcome == IncidentOutcome::unknown && incident.lines.empty())
        text += row(style, AnswerRow::why, "no line tells of a failure, of a stop or of a good end");
    if (!options.more) text += quotes(incident, style);
    text += row(style, AnswerRow::cause, cause_text(diagnosis));
    const auto next = next_looks(diagnosis);
    if (!next.empty() && !options.more) text += row(style, AnswerRow::next, next.front());
    text += row(style, AnswerRow::sure, certainty_text(incident));
    if (incident.outcome == IncidentOutcome::healthy && !diagnosis.finding) return text;
    if (!options.more)
        return text + row(style, "", style.paint(Ink::dim, "--more shows all lines, causes and fixes"));
    text += row(style, AnswerRow::read, reading_text(incident.reading));
    return text + all_quotes(incident, style) + details(diagnosis, taxonomy, options.similar, style);
}

}  // namespace deadrank::results::diagnosis
