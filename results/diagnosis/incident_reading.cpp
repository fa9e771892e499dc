// results/diagnosis/incident_reading.cpp — Takes the complaint that is nearest to the cause: a fault of the
// machine before a process's own error, that before waiting, and waiting before the echo of peers that are
// gone. Among equals a known phrase beats a bare exception, and an earlier complaint a later one.
#include "results/diagnosis/incident_reading.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/exception_words.h"
#include "results/analysis/findings.h"
#include "results/analysis/program_lines.h"
#include "results/analysis/setup_words.h"
#include "results/analysis/signatures.h"
#include "results/record/codes.h"
#include "results/record/event_names.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::diagnosis {

using scenarios::Cause;
using scenarios::Symptom;

namespace {

using analysis::Nearness;
using analysis::Phrase;

constexpr std::size_t quotes_most = 6, quotes_unknown = 12, devices_most = 4, words_most = 60;
constexpr Time minutes_of_an_end = std::chrono::minutes(5);

// An exception without any known phrase.
constexpr Phrase bare{.nearness = Nearness::own, .symptom = Symptom::framework_runtime_exception};
constexpr Phrase machine_fault{.nearness = Nearness::hardware,
                               .symptom = Symptom::device_fault_reported,
                               .cause = Cause::hardware_or_link_fault};
constexpr Phrase bad_access{.nearness = Nearness::own, .symptom = Symptom::native_crash_or_illegal_access};

// Xids of a program's own making: an exception in a kernel, a bad access, a reset after one.
constexpr std::int32_t own_xids[] = {13, 31, 43, 45};
bool is_own_xid(std::int32_t xid) {
    return std::find(std::begin(own_xids), std::end(own_xids), xid) != std::end(own_xids);
}

std::int64_t number_behind(std::string_view text, std::string_view words, std::int64_t otherwise) {
    const std::size_t at = text.find(words);
    if (at == text.npos) return otherwise;
    std::int64_t number = otherwise;
    std::from_chars(text.data() + at + words.size(), text.data() + text.size(), number);
    return number;
}

std::string_view word_behind(std::string_view text, std::string_view words, std::string_view until) {
    const std::size_t at = text.find(words);
    if (at == text.npos) return {};
    const std::string_view rest = text.substr(at + words.size());
    return rest.substr(0, rest.find_first_of(until));
}

// "GPU 0000:41:00" of an Xid, "GPU 0000:9d:00.0" of amdgpu, "GPU node-6" of ROCm's runtime, "NPU 1" of
// Ascend's driver; empty if the text names no device.
std::string device_in(std::string_view text) {
    if (const auto bus = word_behind(text, "(PCI:", ")"); !bus.empty()) return fmt::format("GPU {}", bus);
    if (auto bus = word_behind(text, "amdgpu ", " "); bus.size() > 8 && bus.ends_with(':'))
        return fmt::format("GPU {}", bus.substr(0, bus.size() - 1));
    if (const auto node = word_behind(text, "GPU node-", " (,.:"); !node.empty())
        return fmt::format("GPU node-{}", node);
    if (const auto number = word_behind(text, "Heartbeat lost! (device=", ";"); !number.empty())
        return fmt::format("NPU {}", number);
    return {};
}

struct VendorWords {
    Vendor vendor;
    std::initializer_list<std::string_view> words;
};
const VendorWords vendor_words[] = {
    {Vendor::ascend, {"HCCL", "Hccl", "hccl", "torch_npu", "NPU", "npu:", "[ascend]", "ERR02200"}},
    {Vendor::amd,
     {"amdgpu", "HIP error", "HIP out of memory", "GPU node-", "ROCm", "rocm", "RCCL", "hipError"}},
    {Vendor::intel, {"oneCCL", "CCL_ERROR", "|CCL_", "XPU", "xpu:", "UR_RESULT", "ZE_RESULT", "level_zero"}},
    {Vendor::habana, {"habana", "synStatus", "HPU", "synapse"}},
    {Vendor::tpu,
     {"libtpu", "TPU", "Megascale", "jax_worker", "jaxlib", "coordination_service", "TensorCoreSequencer",
      "Accelerator device halted"}},
};
bool names_vendor(std::string_view text, Vendor vendor) {
    for (const VendorWords& one : vendor_words)
        if (one.vendor == vendor) return has_any(text, one.words);
    return false;
}

// A scheduler ended it, or the program itself, and not just a signal.
bool is_by_scheduler(StopKind kind) {
    return kind == StopKind::time_limit || kind == StopKind::preempted || kind == StopKind::cancelled ||
           kind == StopKind::aborted;
}

// The digits of an address or a time differ from rank to rank; the words of one and the same error do not.
std::string normalize_error(std::string_view text) {
    std::string gist;
    for (const char c : text.substr(0, 400))
        if (std::isalpha(static_cast<unsigned char>(c)) && !std::isxdigit(static_cast<unsigned char>(c)))
            gist += c;
    return gist;
}

bool has_frames(std::string_view text) { return text.find("\", line ") != text.npos; }

// From the exception on: the frames before it name functions, not errors.
std::string_view skip_traceback_frames(std::string_view block) {
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
        if (!analysis::is_program_file(path)) continue;
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
    bool mild = false;           // printed as a warning: the program went on
    bool over = false;           // printed as information: the log continues after it
    std::string_view host = {};  // where no rank is known

    // Smaller is nearer to the cause.
    auto key() const {
        return std::tuple(mild ? Nearness::ending : meant.nearness, meant.symptom == Symptom::none,
                          meant.words.empty() && meant.nearness == Nearness::own, !block, event->at, place);
    }
};

// "[INFO|2026-01-31 10:00:00] …", "WARNING:root:…": a level in capitals, as loggers put it before the text.
bool is_below_error_level(std::string_view text) {
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
        (meant.symptom == Symptom::framework_runtime_exception || meant.sign == analysis::Sign::disk_full)) {
        meant.symptom = Symptom::checkpoint_save_failure;
    } else if (loading && meant.symptom == Symptom::tensor_shape_or_dtype_error) {
        // A saved tensor does not fit the one that it is loaded into.
        meant.symptom = Symptom::reshard_restore_failure;
        meant.cause = Cause::misaligned_parameters_tensors_or_model_structure;
    }
    return meant;
}

class Incidents {
public:
    Incidents(const Evidence& evidence, const std::vector<Finding>& findings)
        : evidence_(evidence), findings_(findings) {
        for (const Event& event : evidence.events()) gather(event);
        drop_shutdown_errors();
        incident_.vendor = find_vendor();
    }

    Incident done() {
        const Complained* best = nearest();
        const bool calls_told =
            !evidence_.each<CollectiveEnter>().empty() || !evidence_.each<P2pEnter>().empty();
        if (calls_told && !findings_.empty()) {
            by_detectors(best, findings_.front());
        } else if (best && best->meant.nearness < Nearness::stopped && best->meant.symptom != Symptom::none &&
                   !went_on(*best) && !was_handled(*best)) {
            by_words(*best);
        } else if (const Finding* found = find_detectors_finding();
                   found && finished_ == 0 && !scheduler_ended_it_) {
            by_detectors(best, *found);
        } else {
            without_a_name(best);
        }
        return std::move(incident_);
    }

private:
    void gather(const Event& event) {
        if (const auto* error = event.as<DeviceError>()) {
            // "45, pid=7, Ch 1 caused by previous Xid 149": the driver ends what ran on a device that failed.
            const std::string_view text = evidence_.text(error->message);
            const auto first =
                static_cast<std::int32_t>(number_behind(text, "caused by previous Xid ", error->xid));
            all_.push_back({&event, event.rank, is_own_xid(first) ? bad_access : machine_fault, text, false,
                            all_.size()});
            return;
        }
        const auto* log = event.as<RankLog>();
        if (!log) return;
        const std::string_view text = evidence_.text(log->line);
        if (event.rank == no_rank && text.starts_with("import: heard")) {
            read_last_lines(text);
            return;
        }
        constexpr std::string_view of_host = "import: host ";
        if (event.rank == no_rank && text.starts_with(of_host)) {
            next_host_ = text.substr(of_host.size());
            return;
        }
        const std::string_view host = std::exchange(next_host_, {});
        if (event.rank == no_rank && text.starts_with("import: ")) {
            if (const auto read = analysis::LogRead::of_line(text)) incident_.reading = *read;
            return;
        }
        const bool block =
            has_frames(text) || analysis::begins_with_exception(text) || text.find("Traceback") != text.npos;
        const std::string_view words = block ? skip_traceback_frames(text) : text;
        const Phrase* known = analysis::signature_in(words);
        if (!known && block && words.empty())
            known = analysis::signature_in(text);  // the exception was cut off
        if (!known && block && !words.empty() && analysis::begins_with_exception(words)) known = &bare;
        if (!known) {
            if (log->level >= 1) strange_.push_back({event.rank, event.at, std::string(text)});
            return;
        }
        if (known->nearness == Nearness::finished) finished_ = all_.size() + 1;
        Phrase meant = in_context(*known, text);
        if (block && meant.cause == Cause::none && meant.symptom == Symptom::framework_runtime_exception)
            meant.cause = analysis::find_named_cause(words, !own_program(text).empty());
        // c10d warns of each address that it tries in vain, libraries of what they can do without. NCCL's
        // warnings are its errors.
        const bool warned = log->level <= 1 || (!block && is_below_error_level(text));
        // A loss is logged at the usual level, whatever its value is.
        const bool outlived = log->level == 0 && known->nearness < Nearness::ending;
        const bool mild = warned && (known->nearness == Nearness::own || outlived) &&
                          known->symptom != Symptom::loss_nan_or_divergence &&
                          text.find(" NCCL WARN ") == text.npos;
        all_.push_back({&event, event.rank, meant, text, block, all_.size(), mild, mild && log->level == 0,
                        event.rank == no_rank ? host : std::string_view()});
    }

    // "import: heard last=12000000000 wait=3000000000 0=12000000000 1=9000000000"
    void read_last_lines(std::string_view text) {
        for (std::size_t at = text.find(' ', 13); at != text.npos; at = text.find(' ', at + 1)) {
            const std::size_t equal = text.find('=', at);
            if (equal == text.npos) return;
            const Time value{number_behind(text.substr(equal), "=", 0)};
            const std::string_view key = text.substr(at + 1, equal - at - 1);
            if (key == "last")
                last_line_ = value;
            else if (key == "wait")
                longest_wait_ = value;
            else
                last_line_at_[static_cast<Rank>(number_behind(text.substr(at), " ", no_rank))] = value;
        }
    }

    // What processes say while a scheduler ends them is no cause of the end: broken connections, killed
    // workers.
    void drop_shutdown_errors() {
        const auto stop = std::find_if(all_.begin(), all_.end(), [](const Complained& one) {
            return is_by_scheduler(one.meant.stop) && !one.mild;
        });
        if (stop == all_.end()) return;
        const std::size_t place = stop->place;
        const Time ended = stop->event->at;
        scheduler_ended_it_ = true;
        std::erase_if(all_, [&](const Complained& one) {
            // A job that was requeued may fail later on its own.
            if (one.event->at > ended + minutes_of_an_end) return false;
            const bool killed = one.meant.nearness == Nearness::ending;
            const bool echo = one.place > place && one.meant.nearness > Nearness::hardware &&
                              one.meant.nearness < Nearness::ending;
            return echo || (killed && one.meant.symptom == Symptom::host_resource_exhaustion);
        });
    }

    Vendor find_vendor() const {
        const Complained* best = nearest();
        for (const VendorWords& one : vendor_words)
            if (best && names_vendor(best->text, one.vendor)) return one.vendor;
        for (const VendorWords& one : vendor_words)
            for (const Complained& complained : all_)
                if (names_vendor(complained.text, one.vendor)) return one.vendor;
        return Vendor::nvidia;
    }

    const Complained* nearest() const {
        const auto best = std::min_element(all_.begin(), all_.end(),
                                           [](const auto& a, const auto& b) { return a.key() < b.key(); });
        return best == all_.end() ? nullptr : &*best;
    }

    // The job completed after this was logged, and nothing worse followed.
    bool went_on(const Complained& complained) const {
        const bool of_the_machine = complained.meant.nearness == Nearness::hardware &&
                                    (complained.event->as<DeviceError>() ||
                                     complained.text.find(" kernel: ") != std::string_view::npos);
        // A job whose loss is lost goes on to its end, and has learnt nothing.
        const bool lost = complained.meant.symptom == Symptom::loss_nan_or_divergence;
        if (finished_ == 0 || finished_ <= complained.place || of_the_machine || lost) return false;
        return std::none_of(all_.begin(), all_.end(),
                            [&](const Complained& later) {
                                return later.place >= finished_ && later.meant.nearness < Nearness::stopped;
                            }) &&
               failed_exits().empty();
    }

    // An exception that was logged and not raised again, or a warning in a job that was stopped from outside:
    // no process is known to have ended because of it.
    bool was_handled(const Complained& complained) const {
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
            const bool by_scheduler = scheduler_ended_it_ && exit->signal == sigkill;
            if (exit->code != 0 && exit->signal != sigterm && !by_scheduler) exits.push_back(event);
        }
        return exits;
    }

    void quote(const Complained& one) {
        for (const Quote& before : incident_.lines) {
            if (before.text == one.text) return;
        }
        incident_.lines.push_back(
            {one.rank, one.event->at, std::string(one.text), one.meant.nearness == Nearness::ending});
    }

    // The ranks that it is about: all that say the same. Where the line names none, another line about the
    // same trouble may.
    std::vector<Rank> find_ranks_reporting(const Complained& best) const {
        std::set<Rank> ranks;
        const auto about = [&](const Complained& one) {
            return one.rank != no_rank && one.meant.nearness == best.meant.nearness &&
                   one.meant.symptom == best.meant.symptom;
        };
        const std::string gist = normalize_error(analysis::find_key_line(best.text));
        for (const Complained& one : all_) {
            if (about(one) && one.mild == best.mild &&
                normalize_error(analysis::find_key_line(one.text)) == gist)
                ranks.insert(one.rank);
        }
        if (best.rank != no_rank) ranks.insert(best.rank);
        if (const auto pair = analysis::find_ranks_on_one_device(best.text); !pair.empty())
            ranks = {pair.begin(), pair.end()};
        if (ranks.empty()) {
            const auto other = std::find_if(all_.begin(), all_.end(), about);
            if (other != all_.end()) ranks.insert(other->rank);
        }
        return {ranks.begin(), ranks.end()};
    }

    // Who says that a peer is gone is not the one that failed. The peer is whoever the text names, else the
    // few ranks of a known world that do not say so.
    std::vector<Rank> lost_peers(const Complained& best) const {
        std::set<Rank> complaining, named;
        for (const Complained& one : all_) {
            if (one.meant.nearness != Nearness::echo) continue;
            if (one.rank != no_rank) complaining.insert(one.rank);
            for (const std::string_view words :
                 {"Proxy Call to rank ", "send/recv from rank ", "to peer rank "})
                if (const auto rank = number_behind(one.text, words, no_rank); rank != no_rank)
                    named.insert(static_cast<Rank>(rank));
        }
        (void)best;
        std::erase_if(named, [&](Rank rank) { return complaining.contains(rank); });
        if (!named.empty()) return {named.begin(), named.end()};
        const auto world = incident_.reading.ranks_stated;
        const auto silent = world - static_cast<std::int64_t>(complaining.size());
        if (world < 3 || silent < 1 || silent * 2 > world || complaining.empty() ||
            *complaining.rbegin() >= world)
            return {};
        std::vector<Rank> others;
        for (Rank rank = 0; rank < world; ++rank)
            if (!complaining.contains(rank)) others.push_back(rank);
        return others;
    }

    // The devices that most lines about a fault of the machine name.
    void name_devices() {
        std::vector<std::pair<std::string, int>> devices;
        std::map<std::string, std::size_t> places;  // in that list
        for (const Complained& one : all_) {
            const std::string device = device_in(one.text);
            if (device.empty() || one.meant.symptom != incident_.finding->symptom) continue;
            const auto [known, fresh] = places.try_emplace(device, devices.size());
            if (fresh) devices.emplace_back(device, 0);
            ++devices[known->second].second;
        }
        int most = 0;
        for (const auto& [device, times] : devices) most = std::max(most, times);
        for (const auto& [device, times] : devices)
            if (times == most && incident_.devices.size() < devices_most) incident_.devices.push_back(device);
    }

    // The line that says most of the accused device's fault, and how often: "20 new uncorrectable hardware
    // errors detected in umc block" before "[Hardware Error]: events logged".
    std::pair<const Complained*, int> line_of_the_device(const Complained& best) const {
        const Complained* line = nullptr;
        int times = 0;
        for (const Complained& one : all_) {
            if (one.meant.symptom != best.meant.symptom || incident_.devices.empty() ||
                device_in(one.text) != incident_.devices.front())
                continue;
            if (!line || one.meant.place < line->meant.place) line = &one, times = 0;
            times += one.meant.place == line->meant.place;
        }
        return {line ? line : &best, times};
    }

    void name_hosts(const Complained& best) {
        std::set<std::string> hosts;
        for (const Event* start : evidence_.each<RankStart>()) {
            const auto& ranks = incident_.finding->blame.ranks;
            const std::string_view host = evidence_.text(start->as<RankStart>()->host);
            if (!host.empty() && std::find(ranks.begin(), ranks.end(), start->rank) != ranks.end())
                hosts.emplace(host);
        }
        const std::size_t kernel = best.text.find(" kernel: ");
        if (kernel != best.text.npos && kernel > 0 && best.text.substr(0, kernel) != "node")
            hosts.emplace(best.text.substr(0, kernel));
        if (!best.host.empty()) hosts.emplace(best.host);
        for (const Complained& one : all_) {
            const auto node = word_behind(one.text, "Node failure on ", " ,");
            if (!node.empty() && best.meant.nearness == Nearness::hardware) hosts.emplace(node);
            // "srun: error: n12: task 3: Out Of Memory"
            const auto task = word_behind(one.text, "srun: error: ", ":");
            if (!task.empty() && one.meant.symptom == best.meant.symptom &&
                one.meant.nearness == best.meant.nearness && one.text.find(": task") != one.text.npos)
                hosts.emplace(task);
        }
        incident_.hosts.assign(hosts.begin(), hosts.end());
    }

    // The first complaint about the same trouble that names a cause: the store that could not listen, not the
    // group then missing.
    const Complained& find_line_of_cause(const Complained& best) const {
        if (best.meant.words.empty()) return best;
        for (const Complained& one : all_) {
            if (!one.mild && one.meant.nearness == best.meant.nearness && !one.meant.words.empty() &&
                one.meant.symptom == best.meant.symptom && one.event->at <= best.event->at &&
                one.meant.cause != Cause::none)
                return one;
        }
        return best;
    }

    void name_cause(Finding& finding, Cause cause, std::string words, std::string line) {
        if (cause == Cause::none || has(finding.causes, id_of(cause))) return;
        finding.causes.emplace_back(id_of(cause));
        incident_.spoken.push_back({id_of(cause), std::move(words), std::move(line)});
    }

    // Without calls a detector has no more than exits: that a rank ended names no trouble by itself.
    const Finding* find_detectors_finding() const {
        const auto told = std::find_if(findings_.begin(), findings_.end(), [](const Finding& one) {
            return one.symptom != Symptom::framework_runtime_exception;
        });
        return told == findings_.end() ? nullptr : &*told;
    }

    void by_detectors(const Complained* best, const Finding& finding) {
        incident_.outcome = IncidentOutcome::found;
        incident_.finding = finding;
        incident_.sure = incident_.finding->blame.ranks.empty() ? 2 : 3;
        if (best) quote(*best);
    }

    void by_words(const Complained& best) {
        incident_.outcome = IncidentOutcome::found;
        Finding finding;
        finding.symptom = id_of(best.meant.symptom);
        finding.detector = log_reading;
        finding.at = best.event->at;
        const Complained& speaks = find_line_of_cause(best);
        const std::string line = analysis::quoted(speaks.text);
        name_cause(finding, speaks.meant.cause,
                   speaks.meant.words.empty() ? analysis::shorten_text(line, words_most)
                                              : std::string(speaks.meant.words),
                   line);
        const bool echo = best.meant.nearness == Nearness::echo;
        std::vector<Rank> ranks = echo ? lost_peers(best) : find_ranks_reporting(best);
        std::string says = analysis::quoted(best.text);
        const auto exits = failed_exits();
        if (best.meant.nearness == Nearness::waiting) {
            Waited waited = find_awaited_rank(evidence_, incident_.reading);
            ranks = waited.blamed;
            // What the words say of a cause comes before what the pattern of the ranks does.
            name_cause(finding, waited.cause, waited.says, waited.says);
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
        name_devices();
        name_hosts(best);
        const auto [accuses, times] = line_of_the_device(best);
        if (accuses != &best) {
            incident_.finding->says = analysis::quoted(accuses->text);
            quote(*accuses);
        }
        if (times > 1) incident_.finding->says += fmt::format(" ({} such lines)", times);
        if (!incident_.devices.empty())
            incident_.finding->blame.component = fmt::format("{}", fmt::join(incident_.devices, ", "));
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
        // The evidence has the first failures, as launchers call them, before others of the same time.
        for (const Event* exit : exits)
            if (exit->at == exits.front()->at) incident_.ended.push_back(exit->rank);
        std::sort(incident_.ended.begin(), incident_.ended.end());
        if (stopped && exits.empty())
            describe_stop();
        else if (finished_ > 0 && !ended && exits.empty() &&
                 (incident_.reading.orphans == 0 || (best && went_on(*best))))
            incident_.outcome = IncidentOutcome::completed;
        else
            incident_.outcome = IncidentOutcome::unknown;
        if (incident_.outcome == IncidentOutcome::completed) {
            for (const Complained& one : all_)
                if (one.place + 1 == finished_) quote(one);
            return;
        }
        for (const Complained& one : all_) {
            if (one.meant.nearness != Nearness::finished && incident_.lines.size() < quotes_unknown)
                quote(one);
        }
        for (auto one = strange_.rbegin(); one != strange_.rend() && incident_.lines.size() < quotes_unknown;
             ++one)
            incident_.lines.push_back(*one);
    }

    // Who or what stopped it, and which ranks had fallen silent long before.
    void describe_stop() {
        incident_.outcome = IncidentOutcome::stopped;
        // The scheduler's own word before what followed from it. The table has them in this order.
        const Complained* said = nullptr;
        for (const Complained& one : all_) {
            if (one.meant.nearness != Nearness::stopped) continue;
            const bool nearer =
                !said || (is_by_scheduler(one.meant.stop) && one.meant.place < said->meant.place);
            if (nearer) said = &one;
        }
        if (!said) return;
        incident_.stop = said->meant.stop;
        incident_.stopped_by = said->meant.stopped_by;
        if (const auto when = word_behind(said->text, "CANCELLED AT ", " *"); !when.empty())
            incident_.stopped_by += fmt::format(" at {}", when);
        quote(*said);
        find_silence(said->event->at);
    }

    // A job whose ranks all printed nothing for ten minutes before it was stopped stood still. Those that
    // fell silent a minute or more before the last one did so first.
    void find_silence(Time stopped) {
        constexpr Time standstill = std::chrono::minutes(10), apart = std::chrono::minutes(1);
        Time last{0};
        for (const auto& [rank, at] : last_line_at_)
            if (at < stopped) last = std::max(last, at);
        if (last_line_at_.size() < 2) last = last_line_;
        if (stopped - last < standstill) return;
        if (last_line_at_.size() < 2) {
            // Its lines name no ranks, so only its usual pace tells a standstill from a rare line.
            if (last < Time{0} || stopped - last < 2 * longest_wait_ || is_zone(stopped - last)) return;
            incident_.silence = stopped - last;
            return;
        }
        incident_.silence = stopped - last;
        incident_.lines_name_ranks = true;
        for (const auto& [rank, at] : last_line_at_)
            if (at + apart <= last) incident_.silent_first.push_back(rank);
    }

    // A program that prints UTC beside a scheduler that prints local time seems silent for whole hours.
    static bool is_zone(Time silence) {
        constexpr Time half_an_hour = std::chrono::minutes(30), few = std::chrono::minutes(2);
        return silence >= 2 * half_an_hour && silence % half_an_hour < few;
    }

    const Evidence& evidence_;
    const std::vector<Finding>& findings_;
    Time last_line_{-1}, longest_wait_{0};  // last_line_ below 0: no line has a time
    std::map<Rank, Time> last_line_at_;     // the last line of each rank
    std::string_view next_host_;  // of the line that comes next
    bool scheduler_ended_it_ = false;
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

std::string_view name_of(Vendor vendor) {
    constexpr std::string_view names[] = {"nvidia", "amd", "ascend", "intel", "habana", "tpu"};
    return names[static_cast<std::size_t>(vendor)];
}

bool is_imported(const Evidence& evidence) {
    const auto starts = evidence.each<JobStart>();
    return !starts.empty() && evidence.text(starts.front()->as<JobStart>()->what) == JobOrigin::imported;
}

Incident read_incident(const Evidence& evidence, const std::vector<Finding>& findings) {
    return Incidents(evidence, findings).done();
}

}  // namespace deadrank::results::diagnosis
