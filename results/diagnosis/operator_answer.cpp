// results/diagnosis/operator_answer.cpp — The text of an answer. What is unknown is called unknown, with the
// lines that sound most like the cause.
#include "results/diagnosis/operator_answer.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::diagnosis {

using scenarios::Symptom;

namespace {

using reports::Ink;
using reports::Style;

constexpr std::size_t causes_most = 3, lines_of_a_quote = 3, columns_of_a_quote = 160;

struct Look {
    std::string_view symptom, words;
};
constexpr Look looks[] = {
    {id_of(Symptom::collective_timeout_abort),
     "the last lines of the ranks that did not time out, and their Python stacks (py-spy dump)"},
    {id_of(Symptom::collective_timeout_abort),
     "Flight Recorder dumps of the next run: TORCH_NCCL_TRACE_BUFFER_SIZE=2000, "
     "TORCH_NCCL_DUMP_ON_TIMEOUT=1"},
    {id_of(Symptom::collective_timeout_abort), "whether batches, files or branches can differ between ranks"},
    {id_of(Symptom::collective_deadlock_hang),
     "the Python stack of every rank (py-spy dump), the absent one's first"},
    {id_of(Symptom::collective_deadlock_hang),
     "Flight Recorder dumps: who entered which call and who did not"},
    {id_of(Symptom::communication_setup_failure),
     "MASTER_ADDR, MASTER_PORT and that the port is free and reachable from each node"},
    {id_of(Symptom::communication_setup_failure),
     "NCCL_SOCKET_IFNAME and NCCL_DEBUG=INFO: which interface and which NCCL each rank took"},
    {id_of(Symptom::communication_setup_hang),
     "how many of the ranks reached the store, and from which hosts"},
    {id_of(Symptom::remote_peer_connection_error),
     "the log of the peer that is named, from before the connection broke"},
    {id_of(Symptom::remote_peer_connection_error),
     "counters of the link (ibstat, ethtool -S) and the kernel log of both hosts"},
    {id_of(Symptom::device_out_of_memory), "memory by rank and step: is it one rank, or does it grow"},
    {id_of(Symptom::device_out_of_memory), "torch.cuda.memory._snapshot() of the rank that failed"},
    {id_of(Symptom::host_resource_exhaustion),
     "the kernel log (dmesg -T) and the limits of the job: memory, /dev/shm, open files, quota"},
    {id_of(Symptom::host_resource_exhaustion),
     "memory of the host over time, and the number of data loading workers"},
    {id_of(Symptom::device_fault_reported),
     "nvidia-smi -q of that device and its XIDs before the job; take the node out"},
    {id_of(Symptom::native_crash_or_illegal_access),
     "the same step with CUDA_LAUNCH_BLOCKING=1, or compute-sanitizer"},
    {id_of(Symptom::native_crash_or_illegal_access), "a core file's stack of the rank that died first"},
    {id_of(Symptom::collective_mismatch_error),
     "the same run with TORCH_DISTRIBUTED_DEBUG=DETAIL: which rank calls what"},
    {id_of(Symptom::collective_mismatch_error), "versions of NCCL and NCCL_ variables on every node"},
    {id_of(Symptom::checkpoint_unreadable),
     "the file's size and time beside those of its siblings; the save before it"},
    {id_of(Symptom::checkpoint_save_failure), "free space and quota where the checkpoint goes"},
    {id_of(Symptom::reshard_restore_failure),
     "the layout that saved beside the layout that loads: world size, tensor and pipeline parallel sizes"},
    {id_of(Symptom::import_or_symbol_error),
     "versions of torch, CUDA and the package, on the node that failed and on another"},
    {id_of(Symptom::build_or_install_failure),
     "nvcc --version beside torch.version.cuda, and the compiler's first error"},
    {id_of(Symptom::model_or_data_loading_failure),
     "whether the path exists on every node, and who may read it"},
    {id_of(Symptom::tensor_shape_or_dtype_error),
     "shapes that this rank got beside those of its peers at the same line"},
    {id_of(Symptom::restart_or_recovery_failure), "the first failure, before the restarts"},
};

// 4120 → "4,120"
std::string thousands(std::int64_t number) {
    std::string text = fmt::format("{}", number);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
    return text;
}

std::string cut(const std::string& text, bool whole) {
    if (whole) return text;
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(std::string_view(text).substr(at, end - at));
        at = end + 1;
    }
    std::string kept;
    const std::size_t skipped = lines.size() > lines_of_a_quote ? lines.size() - lines_of_a_quote : 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0 && i <= skipped) continue;
        if (i == skipped + 1 && skipped > 0) kept += "\n…";
        kept += (i > 0 ? "\n" : "") + std::string(lines[i].substr(0, columns_of_a_quote)) +
                (lines[i].size() > columns_of_a_quote ? "…" : "");
    }
    return kept;
}

std::string indented(const std::string& text, const std::string& by) {
    std::string all;
    for (const char c : text) all += c == '\n' ? "\n" + by : std::string(1, c);
    return all;
}

std::string row(const Style& style, const char* name, const std::string& words) {
    return words.empty() ? ""
                         : fmt::format("  {} {}\n", style.paint(Ink::dim, fmt::format("{:<6}", name)), words);
}

std::string definition_of(const std::vector<scenarios::TaxonomyEntry>& entries, const std::string& id) {
    const auto* entry = scenarios::find(entries, id);
    return entry ? entry->definition : "";
}

std::string quotes(const Incident& incident, bool whole, const Style& style) {
    std::string text;
    for (const Quote& quote : incident.lines) {
        const std::string who = quote.rank == no_rank ? "?" : fmt::format("{}", quote.rank);
        const std::string when = has_times(incident.reading) ? duration_text(quote.at) : "";
        text += fmt::format("  {} {}\n", style.paint(Ink::dim, fmt::format("rank {:<4}{:>10}", who, when)),
                            indented(cut(quote.text, whole), std::string(22, ' ')));
    }
    return text.empty() ? text : fmt::format("\n{}\n{}", style.paint(Ink::bold, "lines"), text);
}

std::string without_finding(const Incident& incident, const AnswerOptions& options, const Style& style) {
    const std::string read = reading_text(incident.reading);
    std::string text;
    switch (incident.outcome) {
        case IncidentOutcome::completed:
            return fmt::format("  {}\n{}{}", style.paint(Ink::green, "completed: the job came to its end"),
                               row(style, "read", read), quotes(incident, options.whole_lines, style));
        case IncidentOutcome::stopped:
            text = fmt::format(
                "  {}\n",
                style.paint(
                    Ink::yellow,
                    "stopped from outside: by a person, a limit or a preemption; no error came before it"));
            break;
        default:
            text =
                fmt::format("  {}{}\n", style.paint(Ink::yellow, "unknown"), read.empty() ? "" : ": " + read);
            if (!incident.ended.empty())
                text += row(style, "who",
                            fmt::format("rank {} ended first; why is in none of these lines",
                                        incident.ended.front()));
            text += row(style, "next",
                        "the output of that rank itself; @record on its main function puts its traceback "
                        "into torchrun's report");
    }
    return text + quotes(incident, options.whole_lines, style);
}

}  // namespace

std::string_view sure_text(int sure) {
    return sure >= 3   ? "quite: a rank's or a machine's own words"
           : sure == 2 ? "fairly: those who waited or lost a peer say it, or no line names the rank"
                       : "hardly: only how processes ended is known";
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
    if (!diagnosis.finding) return next;
    if (!diagnosis.incident.user_code.empty())
        next.push_back(fmt::format("{} of the job's own program", diagnosis.incident.user_code));
    for (const Look& look : looks) {
        if (look.symptom == diagnosis.finding->symptom) next.emplace_back(look.words);
    }
    return next;
}

std::string answer_text(const Diagnosis& diagnosis, const std::string& place,
                        const scenarios::Taxonomy& taxonomy, const AnswerOptions& options,
                        const Style& style) {
    std::string text = style.paint(Ink::bold, place) + "\n";
    const Incident& incident = diagnosis.incident;
    if (incident.outcome == IncidentOutcome::healthy)
        return text + "  " + style.paint(Ink::green, "healthy: nothing was found") + "\n";
    if (!diagnosis.finding) return text + without_finding(incident, options, style);
    const Finding& finding = *diagnosis.finding;
    const bool own_program = !incident.user_code.empty();
    text += row(style, "what",
                style.paint(Ink::red, own_program ? fmt::format("an error in the job's own program ({})",
                                                                incident.user_code)
                                                  : finding.symptom));
    if (own_program)
        text += row(style, "", fmt::format("by class: {}", finding.symptom));
    else
        text += row(style, "", style.paint(Ink::dim, definition_of(taxonomy.symptoms, finding.symptom)));
    text += row(style, "who", finding.blame.text().empty() ? "no line names a rank" : finding.blame.text());
    text += row(style, "why", finding.says);
    if (incident.sure > 0) text += row(style, "sure", std::string(sure_text(incident.sure)));
    text += row(style, "read", reading_text(incident.reading));
    text += quotes(incident, options.whole_lines, style);
    text += fmt::format(
        "\n{}\n", style.paint(Ink::bold, own_program ? "likely causes, if it is not a slip of the program"
                                                     : "likely causes"));
    for (std::size_t i = 0; i < diagnosis.causes.size() && i < causes_most; ++i) {
        const LikelyCause& one = diagnosis.causes[i];
        text += fmt::format("  {}. {}  {}\n     {}\n", i + 1, style.paint(Ink::yellow, one.cause),
                            style.paint(Ink::dim, fmt::format("{} points", one.points)),
                            style.paint(Ink::dim, definition_of(taxonomy.causes, one.cause)));
        for (const auto& reason : one.reasons)
            text += fmt::format("     {:+}  {}\n", reason.points, reason.says);
    }
    if (diagnosis.causes.size() > causes_most)
        text +=
            style.paint(Ink::dim, fmt::format("  … and {} more\n", diagnosis.causes.size() - causes_most));
    const auto next = next_looks(diagnosis);
    if (!next.empty() || !options.similar.empty())
        text += fmt::format("\n{}\n", style.paint(Ink::bold, "look next"));
    for (const std::string& look : next) text += fmt::format("  {}\n", look);
    if (!options.similar.empty())
        text += fmt::format("  deadrank learn {}  {}\n", options.similar,
                            style.paint(Ink::dim, "a bug like this one, played"));
    text += fmt::format("\n{}\n", style.paint(Ink::bold, "fix patterns"));
    for (std::size_t i = 0; i < diagnosis.fixes.size() && i < causes_most; ++i) {
        text += fmt::format("  {}. {}\n     {}\n", i + 1, style.paint(Ink::green, diagnosis.fixes[i].fix),
                            style.paint(Ink::dim, definition_of(taxonomy.fixes, diagnosis.fixes[i].fix)));
    }
    for (const Finding& other : diagnosis.others)
        text += fmt::format("\nalso found: {} · {}\n", other.symptom, other.says);
    return text;
}

}  // namespace deadrank::results::diagnosis
