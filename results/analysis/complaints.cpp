// results/analysis/complaints.cpp — What ranks complained of in their own words, and whose complaint came
// first.
#include "results/analysis/complaints.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>

#include "results/analysis/error_quote.h"
#include "results/analysis/shape_words.h"

namespace deadrank::results::analysis {

// A table of phrases, the specific before the general: the first match decides.

namespace {

struct Phrase {
    std::string_view words;
    Trouble trouble;
    bool (*also)(std::string_view text) = nullptr;  // a further condition on the text
};

// Whether the file is part of a checkpoint, as torch, DeepSpeed, Megatron-LM or Lightning name it.
bool names_a_checkpoint(std::string_view text) {
    constexpr std::string_view before = "No such file or directory: '";
    const std::size_t from = text.find(before) + before.size();
    const std::string_view path = text.substr(from, text.find('\'', from) - from);
    if (path.ends_with(".py")) return false;
    constexpr std::string_view parts[] = {"checkpoint",   "ckpt",        "global_step", "zero_pp_rank_",
                                          "mp_rank_",     "iter_0",      ".distcp",     "/.metadata",
                                          "optim_states", "model_states"};
    return std::any_of(std::begin(parts), std::end(parts),
                       [&](std::string_view part) { return path.find(part) != std::string_view::npos; });
}

constexpr Phrase phrases[] = {
    {"Root Cause (first observed failure)", Trouble::launcher},
    {"failed (exitcode:", Trouble::launcher},
    {"closing signal SIGTERM", Trouble::launcher},
    {"mpirun noticed", Trouble::launcher},
    {"mpirun detected", Trouble::launcher},
    {"Some NCCL operations have failed or timed out", Trouble::launcher},
    {"taking the entire process down", Trouble::launcher},

    {"Detected mismatch between collectives", Trouble::mismatch},
    {"distributed collective mismatch", Trouble::mismatch},
    {"collective mismatch error", Trouble::mismatch},
    {"message truncated : receiving", Trouble::mismatch},
    {"Message truncated : received", Trouble::mismatch},
    {"DDP expects same model across all ranks", Trouble::mismatch},
    {"appears not to match sizes of the same param", Trouble::mismatch},

    {"collective operation timeout", Trouble::timeout},
    {"detected operation timeout", Trouble::timeout},
    {"Timeout at NCCL work", Trouble::timeout},
    {"failure detected by watchdog", Trouble::timeout},
    {"for recv operation to complete", Trouble::timeout},
    {"for send operation to complete", Trouble::timeout},
    {"monitoredBarrier", Trouble::timeout},

    {"Mismatched NCCL version", Trouble::setup},
    {"socketFinalizeAccept: wrong", Trouble::setup},
    {"NET/OFI Couldn't", Trouble::setup},
    {"connect() timed out", Trouble::setup},
    {"Duplicate GPU detected", Trouble::setup},
    {"Set NCCL_MULTI_RANK_GPU_ENABLE=1", Trouble::setup},  // replaces it since 2.30
    {"no socket interface found", Trouble::setup},
    {"Call to ibv_modify_qp failed", Trouble::setup},
    {"Unable to find address for", Trouble::setup},
    {"Could not find NET with id", Trouble::setup},
    {"Failed to initialize any NET plugin", Trouble::setup},
    {"Unrecognized element token", Trouble::setup},
    {"Invalid rank requested", Trouble::setup},
    {"has already checked in", Trouble::setup},
    {"mismatch in info from procs", Trouble::setup},
    {"driver version is insufficient", Trouble::setup},
    {"invalid device ordinal", Trouble::setup},
    {"invalid resource handle", Trouble::setup},
    {"invalid argument", Trouble::setup, is_driver_error},
    {"new group's world size should be less or equal", Trouble::setup},
    {"clients joined", Trouble::setup},
    {"wait timeout after", Trouble::setup},
    {"client socket has timed out", Trouble::setup},
    {"client socket has failed to connect", Trouble::setup},
    {"failed to connect/validate", Trouble::setup},
    {"failed to listen", Trouble::setup},
    {"EADDRINUSE", Trouble::setup},
    {"gai error", Trouble::setup},
    {"expected, but not set", Trouble::setup},
    {"env:// rendezvous", Trouble::setup},
    {"invalid literal for int()", Trouble::setup},
    {"connectFullMesh failed", Trouble::setup},
    {"rank < size", Trouble::setup},
    {"only supported with GPUs", Trouble::setup},
    {"process group has not been initialized", Trouble::setup},
    {"exceeded error retry count", Trouble::setup},
    {"is out of range. Valid ranks are", Trouble::setup},
    {"DistStoreError", Trouble::setup},
    {"DistNetworkError", Trouble::setup},
    {"Failed to recv, got 0 bytes", Trouble::setup},
    {"Socket Timeout", Trouble::setup},

    {"cudaHostAlloc", Trouble::host},
    {"out of memory", Trouble::memory},
    {"OutOfMemoryError", Trouble::memory},
    {"Failed to CUDA calloc", Trouble::memory},  // NCCL, for its own buffers
    {"creating shared memory segment", Trouble::host},
    {"Too many open files", Trouble::host},
    {"Cannot allocate memory", Trouble::host},
    {"is killed by signal", Trouble::host},
    {"oom_kill event", Trouble::host},
    {"oom-kill event", Trouble::host},
    {"insufficient shared memory", Trouble::host},
    {"MemoryError", Trouble::host},

    {"saving ", Trouble::saving},
    {"Parent directory ", Trouble::saving,
     [](std::string_view text) { return text.find(" does not exist") != std::string_view::npos; }},
    {"PytorchStreamReader", Trouble::unreadable},
    {"EOFError", Trouble::unreadable},
    {"SafetensorError", Trouble::unreadable},
    {"CheckpointException", Trouble::unreadable},
    {"incomplete metadata", Trouble::unreadable},
    {"find a valid checkpoint at", Trouble::unreadable},
    {"No such file or directory: '", Trouble::unreadable, names_a_checkpoint},
    {"didn't get saved by one or more processes", Trouble::reshard},
    {"Automatic adjustment of ZeRO", Trouble::reshard},
    {"contains a parameter group that doesn't match", Trouble::reshard},
    {"Missing key(s) in state_dict", Trouble::reshard},
    {"Missing key in checkpoint", Trouble::reshard},
    {"Error(s) in loading state_dict", Trouble::reshard},
    {"used a DP world size of", Trouble::reshard},
    {"value from checkpoint", Trouble::reshard},
    {"Size mismatch between saved", Trouble::reshard},
    {"Global shape mismatch for loaded", Trouble::reshard},
    {"copying a param with shape", Trouble::reshard},
    {"No space left on device", Trouble::host},

    {"Error building extension", Trouble::build},
    {"Unable to find compilation cuda version", Trouble::build},
    {"error: command", Trouble::build},
    {"fatal error:", Trouble::build},
    {"Cannot open include file", Trouble::build},
    {"Command '['ninja'", Trouble::build},
    {"CUDAMismatchException", Trouble::build},
    {"CompileError", Trouble::build},
    {"BuildError", Trouble::build},
    {"ImportError", Trouble::import},
    {"ModuleNotFoundError", Trouble::import},
    {"undefined symbol", Trouble::import},
    {"cannot open shared object", Trouble::import},

    {"illegal memory access", Trouble::native},
    {"device-side assert", Trouble::native},
    {"Segmentation fault", Trouble::native},
    {"fallen off the bus", Trouble::device},
    {"uncorrectable ECC", Trouble::device},
    {"unspecified launch failure", Trouble::device},
    {"CUDA error: unknown error", Trouble::device},
    {"no CUDA-capable device", Trouble::device},
    {"CUDA_ERROR_UNKNOWN", Trouble::device},
    {"Unable to determine the device handle", Trouble::device},
    {"AER: Uncorrected", Trouble::device},
    {"Cuda failure", Trouble::device, mentions_hardware},
    {"Cuda failure", Trouble::setup},

    {"same device, but found at least two", Trouble::placement},
    {"", Trouble::shape, mentions_shape},

    {"Connection closed by", Trouble::connection},
    {"Connection reset by peer", Trouble::connection},
    {"Connection was likely closed", Trouble::connection},
    {"Broken pipe", Trouble::connection},
    {"Proxy Call to rank", Trouble::connection},
    {"Failed to execute operation Connect", Trouble::connection},
    {"remote process exited or there was a network error", Trouble::connection},
    {"IBV_WC_RETRY_EXC_ERR", Trouble::connection},
    {"IBV_WC_LOC_PROT_ERR", Trouble::connection},
    {"IBV_WC_REM_ACCESS_ERR", Trouble::connection},
    {"with error 4, opcode", Trouble::connection},
    {"port error", Trouble::connection},
    {"No route to host", Trouble::connection},
    {"Connection timed out", Trouble::connection},

    {"Weights only load failed", Trouble::loading},
    {"FileNotFoundError", Trouble::loading},
    {"Error: Some weights of",
     Trouble::loading},  // as a warning it is said at the start of many healthy jobs
    {"HFValidationError", Trouble::loading},
};

// The last line of a traceback, where the exception has a name of another kind: "NothingToTrain: rank 3". Who
// asks for an end by itself does not complain.
bool ends_a_traceback(std::string_view text, std::string_view last) {
    if (!text.starts_with("Traceback") || last.starts_with("Traceback")) return false;
    std::string_view name = last.substr(0, last.find(':'));
    if (const auto dot = name.rfind('.'); dot != name.npos) name.remove_prefix(dot + 1);
    const bool word = !name.empty() && name.find(' ') == name.npos && name[0] >= 'A' && name[0] <= 'Z';
    return word && name != "SystemExit" && name != "KeyboardInterrupt";
}

// argparse ends the process with code 2, without a traceback.
bool refuses_arguments(std::string_view text) {
    const auto at = text.find(": error: ");
    if (at == std::string_view::npos) return false;
    const std::string_view rest = text.substr(at + std::string_view(": error: ").size());
    return rest.starts_with("unrecognized arguments: ") || rest.starts_with("argument ") ||
           rest.starts_with("the following arguments are required: ") ||
           rest.starts_with("ambiguous option: ");
}

// The head of a traceback says nothing yet: the exception follows on a line of its own, which is its name
// alone where nobody gave it words, as with a bare `assert`.
bool is_exception(std::string_view text) {
    const std::string_view last = text.substr(text.rfind('\n') + 1);
    const bool bare =
        (last.ends_with("Error") || last.ends_with("Exception")) && last.find(' ') == std::string_view::npos;
    return bare || text.find("Error: ") != std::string_view::npos ||
           text.find("Exception: ") != std::string_view::npos || ends_a_traceback(text, last) ||
           refuses_arguments(text);
}

Trouble trouble_of(Code code) {
    switch (code) {
        case Code::remote_error:
            return Trouble::connection;
        case Code::timeout:
            return Trouble::timeout;
        case Code::unhandled_device_error:
            return Trouble::device;
        case Code::no_space:
            return Trouble::host;
        default:
            return Trouble::exception;
    }
}

}  // namespace

Trouble classify_trouble(std::string_view text) {
    if (text.find(" NCCL INFO ") != text.npos) return Trouble::none;  // said for information
    for (const Phrase& phrase : phrases) {
        if (text.find(phrase.words) == std::string_view::npos) continue;
        if (!phrase.also || phrase.also(text)) return phrase.trouble;
    }
    return is_exception(text) ? Trouble::exception : Trouble::none;
}

std::vector<KnownWords> list_known_phrases() {
    std::vector<KnownWords> known;
    for (const Phrase& phrase : phrases) {
        if (!phrase.words.empty()) known.push_back({phrase.words, phrase.trouble});
        if (phrase.also != mentions_shape) continue;
        for (const std::string_view words : list_shape_phrases()) known.push_back({words, phrase.trouble});
    }
    return known;
}

bool is_store_loss(std::string_view text) {
    return text.find("Failed to recv, got 0 bytes") != std::string_view::npos;
}

bool continued_training(const Evidence& evidence, Rank process, Time time) {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempt_at(time);
    Time began = never;
    for (const Event* event : evidence.each<StepBegin>()) {
        if (event->rank != process || event->at < time || lives.attempt_at(event->at) != attempt) continue;
        began = event->at;
        break;
    }
    const auto ends = evidence.each<StepEnd>();
    return std::any_of(ends.begin(), ends.end(), [&](const Event* event) {
        return event->rank == process && event->at > began && lives.attempt_at(event->at) == attempt;
    });
}

Complaints::Complaints(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const auto add = [&](const Event& event, Trouble trouble, std::string_view text, CommId comm) {
        if (event.rank < 0 || trouble == Trouble::none || trouble == Trouble::launcher) return;
        all_.push_back({event.at, event.rank, lives.attempt_at(event.at), trouble, text, comm,
                        text.starts_with("Traceback")});
    };
    for (const Event* event : evidence.each<RankLog>()) {
        const auto* log = event->as<RankLog>();
        const std::string_view text = evidence.text(log->line);
        if (log->level >= 2) add(*event, classify_trouble(text), text, 0);
    }
    for (const Event* event : evidence.each<CommError>()) {
        const auto* error = event->as<CommError>();
        const std::string_view text = evidence.text(error->message);
        const Trouble spoken = classify_trouble(text);
        const bool vague = spoken == Trouble::none || spoken == Trouble::exception;
        add(*event, vague ? trouble_of(error->code) : spoken, text, error->comm);
    }
    for (const Event* event : evidence.each<MemoryOom>()) {
        const std::string_view where = evidence.text(event->as<MemoryOom>()->where);
        add(*event, where == "device" || where.empty() ? Trouble::memory : Trouble::host, where, 0);
    }
    // A program may catch the error and try less: then it is how the program finds its batch size.
    std::erase_if(all_, [&](const Complaint& complaint) {
        return complaint.trouble == Trouble::memory && !complaint.final &&
               continued_training(evidence, complaint.process, complaint.at);
    });
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Complaint& a, const Complaint& b) { return a.at < b.at; });
    for (Complaint& complaint : all_) complaint.trouble = classify_complaint(evidence, complaint);
}

std::vector<Complaint> Complaints::first_of_each(int attempt) const {
    std::vector<Complaint> first;
    std::map<Rank, std::size_t> seen;
    for (const Complaint& complaint : all_) {
        if (complaint.attempt != attempt) continue;
        const auto [known, fresh] = seen.try_emplace(complaint.process, first.size());
        if (fresh) {
            first.push_back(complaint);
            continue;
        }
        // A more specific complaint about the same event replaces a bare exception.
        Complaint& kept = first[known->second];
        if (kept.trouble == Trouble::exception && complaint.at - kept.at < std::chrono::seconds(1)) {
            const Time at = kept.at;
            kept = complaint;
            kept.at = at;
        }
    }
    return first;
}

// A second apart counts as another event: virtual and real jobs fail within milliseconds.

std::optional<std::int64_t> step_at(const Evidence& evidence, Rank process, Time time) {
    std::optional<std::int64_t> step;
    for (const Event* event : evidence.each<StepBegin>()) {
        if (event->at > time) break;
        if (event->rank == process) step = event->as<StepBegin>()->step;
    }
    return step;
}

std::vector<Outbreak> find_outbreaks(const Evidence& evidence, Trouble trouble) {
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
                    .says = fmt::format("{} said: {}", ranks_text(outbreak.ranks), quoted(outbreak.text)),
                    .causes = std::move(causes)};
    finding.blame.step = outbreak.step;
    finding.outlived = outlived(evidence, outbreak);
    return finding;
}

}  // namespace deadrank::results::analysis
