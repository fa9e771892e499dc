// results/diagnosis/incident_reading.cpp — Takes the complaint that is nearest to the cause: a fault of the
// machine before a process's own error, that before waiting, and waiting before the echo of peers that are
// gone. Among equals a known phrase beats a bare exception, and an earlier complaint a later one.
#include "results/diagnosis/incident_reading.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <tuple>

#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/findings.h"
#include "results/analysis/signatures.h"
#include "results/record/codes.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::diagnosis {

using scenarios::Cause;
using scenarios::Symptom;

namespace {

using analysis::Nearness;
using analysis::Phrase;

constexpr std::size_t quotes_most = 6, quotes_unknown = 12;

// An exception without any known phrase.
constexpr Phrase bare{
    .nearness = Nearness::own,
    .symptom = id_of(Symptom::framework_runtime_exception),
    .causes = {id_of(Cause::misused_framework_api), id_of(Cause::framework_model_incompatibility),
               id_of(Cause::misconfigured_resource_or_distributed_settings)}};
constexpr Phrase machine_fault{.nearness = Nearness::hardware,
                               .symptom = id_of(Symptom::device_fault_reported),
                               .causes = {id_of(Cause::hardware_or_link_fault)}};
constexpr Phrase bad_access{
    .nearness = Nearness::own,
    .symptom = id_of(Symptom::native_crash_or_illegal_access),
    .causes = {id_of(Cause::numeric_edge_case_error), id_of(Cause::dependency_or_hardware_mismatch),
               id_of(Cause::hardware_or_link_fault)}};

bool has_frames(std::string_view text) { return text.find("\", line ") != text.npos; }

// From the exception on: the frames before it name functions, not errors.
std::string_view said_by(std::string_view block) {
    std::size_t from = 0, best = block.npos;
    while (from < block.size()) {
        const std::size_t end = std::min(block.find('\n', from), block.size());
        const std::string_view line = block.substr(from, end - from);
        const bool frame = line.starts_with(' ') || line.starts_with("Traceback") || line.starts_with("│") ||
                           line.starts_with("╭") || line.starts_with("╰") || line.starts_with('^');
        if (!frame && best == block.npos) best = from;
        from = end + 1;
    }
    return best == block.npos ? std::string_view() : block.substr(best);
}

// The innermost frame, when it lies in the job's own program: "train.py, line 55".
std::string own_program(std::string_view block) {
    std::string last;
    for (std::size_t at = block.find("File \""); at != block.npos; at = block.find("File \"", at + 6)) {
        const std::size_t close = block.find("\", line ", at);
        if (close == block.npos) break;
        const std::string_view path = block.substr(at + 6, close - at - 6);
        const std::size_t number = close + 8;
        const std::size_t end = block.find_first_not_of("0123456789", number);
        last.clear();
        if (has_any(path, {"site-packages", "dist-packages", "/lib/python", "<frozen", "<string>",
                           "/opt/pytorch/"}))
            continue;
        const std::size_t slash = path.rfind('/');
        last = fmt::format("{}, line {}", slash == path.npos ? path : path.substr(slash + 1),
                           block.substr(number, end == block.npos ? end : end - number));
    }
    return last;
}

struct Complained {
    const Event* event = nullptr;
    Rank rank = no_rank;
    Phrase meant;
    std::string_view text;
    bool block = false;
    std::size_t place = 0;
    bool mild = false;  // printed as a warning: the program went on
    bool over = false;  // printed as information: the log continues after it

    // Smaller is nearer to the cause.
    auto key() const {
        return std::tuple(mild ? Nearness::ending : meant.nearness, meant.symptom.empty(),
                          meant.words.empty() && meant.nearness == Nearness::own, !block, event->at, place);
    }
};

// A library's exception says what it wants of its caller, or which number it could not work with.
Phrase bare_exception(std::string_view words) {
    Phrase meant = bare;
    if (has_any(words, {"Please ", "please ", "has to be", "must be specified", "must specify", "need to set",
                        "in the config", "not supported", "only support", "is required"})) {
        meant.causes = {id_of(Cause::misconfigured_resource_or_distributed_settings),
                        id_of(Cause::misused_framework_api), id_of(Cause::framework_model_incompatibility)};
    } else if (has_any(words, {"ZeroDivisionError", "OverflowError", "FloatingPointError", "math domain",
                               "IndexError"})) {
        meant.causes = {id_of(Cause::numeric_edge_case_error), id_of(Cause::misused_framework_api),
                        id_of(Cause::framework_model_incompatibility)};
    }
    return meant;
}

// "[INFO|2026-01-31 10:00:00] …", "WARNING:root:…": a level in capitals, as loggers put it before the text.
bool said_calmly(std::string_view text) {
    const auto letter = [&](std::size_t at) {
        return at < text.size() && (std::isalpha(static_cast<unsigned char>(text[at])) || text[at] == '_');
    };
    constexpr std::size_t prefix = 80;
    for (const std::string_view level : {"INFO", "WARNING", "WARN", "DEBUG", "NOTICE"}) {
        const std::size_t at = text.substr(0, prefix).find(level);
        if (at != text.npos && !letter(at + level.size()) && (at == 0 || !letter(at - 1))) return true;
    }
    return has_any(text, {"WARN", "Warning:", " INFO ", "[INFO]"});
}

// What a phrase means depends on what the program was doing, which the frames show.
Phrase in_context(Phrase meant, std::string_view text) {
    const bool saving = has_any(text, {"save_checkpoint", "save_pretrained", "in save_model", "in _save",
                                       "in save\n", "torch.save(", "save_state_dict"});
    const bool loading = has_any(text, {"load_checkpoint", "load_state_dict", "reload_checkpoint",
                                        "resume_from_checkpoint", "create_local_plan", "load_plan"});
    if (meant.nearness != Nearness::own) return meant;
    if (saving &&
        (meant.symptom == Symptom::framework_runtime_exception || has_any(text, {"No space left", "uota"}))) {
        meant.symptom = id_of(Symptom::checkpoint_save_failure);
        meant.causes = {id_of(Cause::misconfigured_resource_or_distributed_settings),
                        id_of(Cause::hardware_or_link_fault), id_of(Cause::dependency_or_hardware_mismatch)};
    } else if (loading && meant.symptom == Symptom::tensor_shape_or_dtype_error) {
        meant.symptom = id_of(Symptom::reshard_restore_failure);
        meant.causes = {id_of(Cause::layout_dependent_checkpoint_format),
                        id_of(Cause::misaligned_parameters_tensors_or_model_structure),
                        id_of(Cause::shard_layout_or_offset_error)};
    }
    return meant;
}

class Incidents {
public:
    Incidents(const Evidence& evidence, const std::vector<Finding>& findings)
        : evidence_(evidence), findings_(findings) {
        for (const Event& event : evidence.events()) gather(event);
    }

    Incident done() {
        const Complained* best = nearest();
        const bool calls_told =
            !evidence_.each<CollectiveEnter>().empty() || !evidence_.each<P2pEnter>().empty();
        if (calls_told && !findings_.empty()) {
            by_detectors(best);
        } else if (best && best->meant.nearness < Nearness::stopped && !best->meant.symptom.empty() &&
                   !went_on(*best) && !got_over(*best)) {
            by_words(*best);
        } else if (!findings_.empty() && !finished_) {
            by_detectors(best);
        } else {
            without_a_name(best);
        }
        return std::move(incident_);
    }

private:
    void gather(const Event& event) {
        if (const auto* error = event.as<DeviceError>()) {
            // 13, 31, 43 and 45 are a program's own: an exception in a kernel, a bad access, a reset after
            // one.
            const bool own = error->xid == 13 || error->xid == 31 || error->xid == 43 || error->xid == 45;
            all_.push_back({&event, event.rank, own ? bad_access : machine_fault,
                            evidence_.text(error->message), false, all_.size()});
            return;
        }
        const auto* log = event.as<RankLog>();
        if (!log) return;
        const std::string_view text = evidence_.text(log->line);
        if (event.rank == no_rank && text.starts_with("import: ")) {
            if (const auto read = analysis::LogRead::of_line(text)) incident_.reading = *read;
            return;
        }
        const bool block =
            has_frames(text) || analysis::begins_with_exception(text) || text.find("Traceback") != text.npos;
        const std::string_view words = block ? said_by(text) : text;
        const Phrase* known = analysis::signature_in(words);
        if (!known && block && words.empty())
            known = analysis::signature_in(text);  // the exception was cut off
        Phrase of_library;
        if (!known && block && !words.empty() && analysis::begins_with_exception(words))
            of_library = bare_exception(words), known = &of_library;
        if (!known) {
            if (log->level >= 1) strange_.push_back({event.rank, event.at, std::string(text)});
            return;
        }
        if (known->nearness == Nearness::finished) finished_ = all_.size() + 1;
        // c10d warns of each address that it tries in vain, libraries of what they can do without. NCCL's
        // warnings are its errors.
        const bool warned = log->level <= 1 || (!block && said_calmly(text));
        // A loss is logged at the usual level, whatever its value is.
        const bool mild = warned && known->nearness == Nearness::own &&
                          known->symptom != Symptom::loss_nan_or_divergence &&
                          text.find(" NCCL WARN ") == text.npos;
        all_.push_back({&event, event.rank, in_context(*known, text), text, block, all_.size(), mild,
                        mild && log->level == 0});
    }

    const Complained* nearest() const {
        const auto best = std::min_element(all_.begin(), all_.end(),
                                           [](const auto& a, const auto& b) { return a.key() < b.key(); });
        return best == all_.end() ? nullptr : &*best;
    }

    // The job completed after this was logged, and nothing worse followed.
    bool went_on(const Complained& complained) const {
        if (finished_ == 0 || finished_ <= complained.place ||
            complained.meant.nearness == Nearness::hardware)
            return false;
        return std::none_of(
                   all_.begin() + static_cast<std::ptrdiff_t>(finished_), all_.end(),
                   [](const Complained& later) { return later.meant.nearness < Nearness::stopped; }) &&
               failed_exits().empty();
    }

    // An exception that was logged and not raised again, or a warning in a job that was stopped from outside:
    // no process is known to have ended because of it.
    bool got_over(const Complained& complained) const {
        if (!complained.mild || !failed_exits().empty() || any(Nearness::ending)) return false;
        return complained.over || any(Nearness::stopped);
    }
    bool any(Nearness nearness) const {
        return std::any_of(all_.begin(), all_.end(),
                           [&](const Complained& one) { return one.meant.nearness == nearness; });
    }

    // In order of time, without the processes that a launcher ended to clean up.
    std::vector<const Event*> failed_exits() const {
        std::vector<const Event*> exits;
        for (const Event* event : evidence_.each<RankExit>()) {
            const auto* exit = event->as<RankExit>();
            if (exit->code != 0 && exit->signal != sigterm) exits.push_back(event);
        }
        return exits;
    }

    void quote(const Complained& one) {
        for (const Quote& before : incident_.lines) {
            if (before.text == one.text) return;
        }
        incident_.lines.push_back({one.rank, one.event->at, std::string(one.text)});
    }

    // The rank that it is about; where the line does not say, another line about the same trouble may.
    Rank said_of(const Complained& best) const {
        if (best.rank != no_rank) return best.rank;
        for (const Complained& one : all_) {
            if (one.rank != no_rank && one.meant.nearness == best.meant.nearness &&
                one.meant.symptom == best.meant.symptom)
                return one.rank;
        }
        return no_rank;
    }

    // The first complaint about the same trouble: the store that could not listen, not the group then
    // missing.
    const Complained& began_with(const Complained& best) const {
        if (best.meant.words.empty()) return best;
        for (const Complained& one : all_) {
            if (!one.mild && one.meant.nearness == best.meant.nearness && !one.meant.words.empty() &&
                one.meant.symptom == best.meant.symptom && one.event->at <= best.event->at)
                return one;
        }
        return best;
    }

    void by_detectors(const Complained* best) {
        incident_.outcome = IncidentOutcome::found;
        incident_.finding = findings_.front();
        incident_.sure = incident_.finding->blame.ranks.empty() ? 2 : 3;
        if (best) quote(*best);
    }

    void by_words(const Complained& best) {
        incident_.outcome = IncidentOutcome::found;
        Finding finding;
        finding.symptom = best.meant.symptom;
        finding.detector = "log_reading";
        finding.at = best.event->at;
        for (const std::string_view cause : began_with(best).meant.causes) {
            if (!cause.empty()) finding.causes.emplace_back(cause);
        }
        std::vector<Rank> ranks;
        if (const Rank rank = said_of(best); rank != no_rank) ranks = {rank};
        std::string says = analysis::quoted(best.text);
        const auto exits = failed_exits();
        if (best.meant.nearness == Nearness::waiting) {
            Waited waited = find_awaited_rank(evidence_, incident_.reading);
            ranks = waited.blamed;
            if (!waited.causes.empty()) finding.causes = waited.causes;
            says = waited.says;
            if (ranks.empty() && !exits.empty() && exits.front()->as<RankExit>()->signal != sigabrt)
                ranks = {exits.front()->rank};
        } else if (ranks.empty() && !exits.empty() && best.meant.nearness != Nearness::hardware) {
            ranks = {exits.front()->rank};
        }
        incident_.sure = best.meant.nearness <= Nearness::own   ? (ranks.empty() ? 2 : 3)
                         : best.meant.nearness < Nearness::echo ? 2
                                                                : 1;
        if (best.block && best.meant.words.empty()) incident_.user_code = own_program(best.text);
        if (!ranks.empty()) finding.blame = analysis::blame_ranks(evidence_.facts<analysis::Lives>(), ranks);
        if (!hosts_known()) finding.blame.nodes.clear();
        finding.says = says;
        incident_.finding = std::move(finding);
        quote(best);
        std::vector<const Complained*> others;
        for (const Complained& one : all_) {
            if (one.meant.nearness <= Nearness::ending) others.push_back(&one);
        }
        std::stable_sort(others.begin(), others.end(),
                         [](const Complained* a, const Complained* b) { return a->key() < b->key(); });
        for (const Complained* one : others) {
            if (incident_.lines.size() < quotes_most) quote(*one);
        }
    }

    bool hosts_known() const {
        const auto starts = evidence_.each<RankStart>();
        return std::any_of(starts.begin(), starts.end(),
                           [](const Event* one) { return one->as<RankStart>()->host != TextId::none; });
    }

    // Ended from outside, completed, or unknown.
    void without_a_name(const Complained* best) {
        const bool ended = any(Nearness::ending), stopped = any(Nearness::stopped);
        const auto exits = failed_exits();
        for (const Event* exit : exits) {
            if (incident_.ended.empty() || exit->at == exits.front()->at)
                incident_.ended.push_back(exit->rank);
        }
        if (incident_.ended.size() > 1) incident_.ended.resize(1);
        if (stopped && exits.empty())
            incident_.outcome = IncidentOutcome::stopped;
        else if (finished_ > 0 && !ended && exits.empty() && incident_.reading.orphans == 0)
            incident_.outcome = IncidentOutcome::completed;
        else
            incident_.outcome = IncidentOutcome::unknown;
        if (incident_.outcome == IncidentOutcome::completed) {
            quote(all_[finished_ - 1]);
            return;
        }
        for (const Complained& one : all_) {
            if (one.meant.nearness != Nearness::finished && incident_.lines.size() < quotes_unknown)
                quote(one);
        }
        (void)best;
        for (auto one = strange_.rbegin(); one != strange_.rend() && incident_.lines.size() < quotes_unknown;
             ++one)
            incident_.lines.push_back(*one);
    }

    const Evidence& evidence_;
    const std::vector<Finding>& findings_;
    Incident incident_;
    std::vector<Complained> all_;
    std::vector<Quote> strange_;  // lines that sound bad but are not known
    std::size_t finished_ = 0;    // place after the last proof of a good end; 0 = none
};

}  // namespace

std::string_view name_of(IncidentOutcome outcome) {
    switch (outcome) {
        case IncidentOutcome::healthy:
            return "healthy";
        case IncidentOutcome::completed:
            return "completed";
        case IncidentOutcome::found:
            return "found";
        case IncidentOutcome::stopped:
            return "stopped";
        default:
            return "unknown";
    }
}

bool is_imported(const Evidence& evidence) {
    const auto starts = evidence.each<JobStart>();
    return !starts.empty() && evidence.text(starts.front()->as<JobStart>()->what) == "imported";
}

Incident read_incident(const Evidence& evidence, const std::vector<Finding>& findings) {
    return Incidents(evidence, findings).done();
}

}  // namespace deadrank::results::diagnosis
