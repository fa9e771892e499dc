// results/analysis/complaints.cpp — What ranks complained of in their own words, and whose complaint came
// first.
#include "results/analysis/complaints.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

#include "results/analysis/call_order.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/phrases.h"
#include "results/record/event_names.h"
#include "results/record/log_level.h"

namespace deadrank::results::analysis {

namespace {

// The last line of a traceback, where the exception has a name of another kind: "NothingToTrain: rank 3".
bool ends_a_traceback(std::string_view text, std::string_view last) {
    return text.starts_with("Traceback") && !last.starts_with("Traceback") && names_exception(last);
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

Trouble trouble_of(Topic topic) {
    switch (topic) {
        case Topic::launcher:
            return Trouble::launcher;
        case Topic::mismatch:
            return Trouble::mismatch;
        case Topic::timeout:
            return Trouble::timeout;
        case Topic::setup:
        case Topic::driver:
            return Trouble::setup;
        case Topic::memory:
            return Trouble::memory;
        case Topic::pinned:
        case Topic::host:
        case Topic::disk:
            return Trouble::host;
        case Topic::saving:
            return Trouble::saving;
        case Topic::unreadable:
            return Trouble::unreadable;
        case Topic::reshard:
            return Trouble::reshard;
        case Topic::build:
            return Trouble::build;
        case Topic::import:
            return Trouble::import;
        case Topic::native:
            return Trouble::native;
        case Topic::device:
            return Trouble::device;
        case Topic::placement:
            return Trouble::placement;
        case Topic::shape:
            return Trouble::shape;
        case Topic::connection:
            return Trouble::connection;
        case Topic::loading:
            return Trouble::loading;
        case Topic::none:
            return Trouble::none;
    }
    return Trouble::none;
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
    const Topic topic = match_phrases(text).topic;
    if (topic != Topic::none) return trouble_of(topic);
    return is_exception(text) ? Trouble::exception : Trouble::none;
}

std::vector<KnownWords> list_known_phrases() {
    std::vector<KnownWords> known;
    for (int topic = 0; topic < static_cast<int>(Topic::none); ++topic) {
        for (const Phrase& phrase : all_phrases()) {
            if (phrase.topic != static_cast<Topic>(topic)) continue;
            if (!known.empty() && known.back().words == phrase.words) continue;
            known.push_back({phrase.words, trouble_of(phrase.topic)});
        }
    }
    return known;
}

bool is_store_loss(std::string_view text) { return shows(text, Sign::store_lost); }

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

namespace {

// What Python prints of an exception that nobody can take, of a destructor or a callback at the exit: the
// program goes on. "Exception ignored in: <function A.__del__>", the traceback, and the exception's own line.
class IgnoredExceptions {
public:
    bool takes(Rank rank, std::string_view text) {
        if (text.starts_with("Exception ignored ")) return inside_.insert(rank), true;
        if (!inside_.contains(rank)) return false;
        if (!text.starts_with("Traceback") && !text.starts_with(' ')) inside_.erase(rank);
        return true;
    }

private:
    std::set<Rank> inside_;
};

// The program's own lines in a traceback that is logged line by line. They name exceptions and say nothing of
// what happened: `  File "a.py", line 3, in f`, then `    raise ImportError(`.
class SourceLines {
public:
    bool takes(Rank rank, std::string_view text) {
        if (text.starts_with("[rank")) {
            const auto end = text.find("]: ");
            if (end != text.npos) text.remove_prefix(end + 3);
        }
        const bool indented = text.starts_with("    ");
        const bool follows = behind_frame_.erase(rank) > 0 && indented;
        const auto word = text.find_first_not_of(' ');
        if (word != text.npos && word > 0 && text.substr(word).starts_with("File \""))
            behind_frame_.insert(rank);
        return follows;
    }

private:
    std::set<Rank> behind_frame_;
};

}  // namespace

Complaints::Complaints(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const auto add = [&](const Event& event, Trouble trouble, std::string_view text, CommId comm) {
        if (event.rank < 0 || trouble == Trouble::none || trouble == Trouble::launcher) return;
        all_.push_back({event.at, event.rank, lives.attempt_at(event.at), trouble, text, comm,
                        text.starts_with("Traceback")});
    };
    IgnoredExceptions ignored;
    SourceLines source;
    for (const Event* event : evidence.each<RankLog>()) {
        const auto* log = event->as<RankLog>();
        const std::string_view text = evidence.text(log->line);
        if (ignored.takes(event->rank, text) || source.takes(event->rank, text)) continue;
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
        add(*event, where == MemoryPlace::device || where.empty() ? Trouble::memory : Trouble::host, where,
            0);
    }
    // A program may catch the error and try less, as it finds its batch size, or do without the package.
    std::erase_if(all_, [&](const Complaint& complaint) {
        const bool has_another_way =
            complaint.trouble == Trouble::memory || complaint.trouble == Trouble::import;
        return has_another_way && !complaint.final &&
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

// ── A second apart counts as another event: virtual and real jobs fail within milliseconds.

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

namespace {

// What an indexing kernel prints before the host hears of it.
bool asserts_an_index(std::string_view line) {
    constexpr std::string_view asserted[] = {"index out of bounds", "srcIndex < srcSelectDimSize",
                                             "t >= 0 && t < n_classes",
                                             "cur_target >= 0 && cur_target < n_classes"};
    return line.find("Assertion `") != line.npos &&
           std::any_of(std::begin(asserted), std::end(asserted),
                       [&](std::string_view words) { return line.find(words) != line.npos; });
}

// When each rank first made a communicator, in each attempt. Every rank of a job may complain, so no
// complaint looks for this by itself.
struct FirstCommunicators {
    explicit FirstCommunicators(const Evidence& evidence) {
        const Lives& lives = evidence.facts<Lives>();
        for (const Event* event : evidence.each<CommInitLeave>())
            if (event->as<CommInitLeave>()->result == Code::ok)
                made.try_emplace({lives.attempt_at(event->at), event->rank}, event->at);
    }
    std::map<std::pair<int, Rank>, Time> made;
};

// It has made a communicator, or begun a step.
bool is_set_up(const Evidence& evidence, const Complaint& complaint) {
    const auto& made = evidence.facts<FirstCommunicators>().made;
    const auto first = made.find({complaint.attempt, complaint.process});
    return (first != made.end() && first->second <= complaint.at) ||
           had_begun_step(evidence, complaint.attempt, complaint.process, complaint.at);
}

// When each rank first logged an index out of bounds.
struct FirstIndexAsserts {
    explicit FirstIndexAsserts(const Evidence& evidence) {
        for (const Event* event : evidence.each<RankLog>())
            if (asserts_an_index(evidence.text(event->as<RankLog>()->line)))
                logged.try_emplace(event->rank, event->at);
    }
    std::map<Rank, Time> logged;
};

bool logged_index_assert(const Evidence& evidence, const Complaint& complaint) {
    const auto& logged = evidence.facts<FirstIndexAsserts>().logged;
    const auto first = logged.find(complaint.process);
    return first != logged.end() && first->second <= complaint.at;
}

}  // namespace

Trouble classify_complaint(const Evidence& evidence, const Complaint& complaint) {
    const auto has = [&](Sign sign) { return shows(complaint.text, sign); };
    if (complaint.trouble == Trouble::setup && is_store_loss(complaint.text) &&
        had_begun_step(evidence, complaint.attempt, complaint.process, complaint.at))
        return Trouble::connection;
    if (complaint.trouble == Trouble::setup && has(Sign::driver_error) && !has(Sign::driver_too_old) &&
        is_set_up(evidence, complaint))
        return Trouble::exception;
    if (complaint.trouble == Trouble::native && has(Sign::kernel_assert) &&
        logged_index_assert(evidence, complaint))
        return Trouble::shape;
    return complaint.trouble;
}

namespace {

constexpr std::array<std::string_view, 14> of_meeting = {
    "store",  "filestore", "tcpstore", "hashstore", "rendezvous",  "address",     "port",
    "socket", "endpoint",  "hostname", "master",    "coordinator", "init_method", "ncclUniqueId"};

constexpr std::array<std::string_view, 5> of_setup = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR",
                                                      "MASTER_PORT"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Letters only count: "new_store_test.txt" has the word "store".
bool contains_word(std::string_view text, std::string_view word) {
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    for (auto from = text.begin();;) {
        const auto at = std::search(from, text.end(), word.begin(), word.end(), same);
        if (at == text.end()) return false;
        const auto end = at + static_cast<std::ptrdiff_t>(word.size());
        if ((at == text.begin() || !is_letter(*(at - 1))) && (end == text.end() || !is_letter(*end)))
            return true;
        from = at + 1;
    }
}

// What a store in a file says, "open(/shared/store): No such file or directory"; Python says it otherwise.
bool is_file_store_error(std::string_view words) {
    const auto open = words.find("open(");
    return open != std::string_view::npos && words.find("): ", open) != std::string_view::npos &&
           (open == 0 || !is_letter(words[open - 1]));
}

}  // namespace

std::vector<Time> list_rendezvous_times(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    const auto enters = evidence.each<RendezvousEnter>();
    if (std::none_of(enters.begin(), enters.end(),
                     [&](const Event* event) { return lives.attempt_at(event->at) == attempt; }))
        return {};
    std::vector<Time> met(static_cast<std::size_t>(lives.count()), never);
    for (const Event* event : evidence.each<RendezvousLeave>()) {
        if (event->as<RendezvousLeave>()->result != Code::ok || lives.attempt_at(event->at) != attempt)
            continue;
        if (event->rank < 0 || event->rank >= lives.count()) continue;
        Time& left = met[static_cast<std::size_t>(event->rank)];
        left = std::min(left, event->at);
    }
    return met;
}

std::string find_missing_variable(std::string_view words) {
    constexpr std::string_view before = "KeyError: '";
    const auto at = words.find(before);
    if (at == std::string_view::npos) return {};
    std::string_view name = words.substr(at + before.size());
    name = name.substr(0, name.find('\''));
    const bool known = std::find(of_setup.begin(), of_setup.end(), name) != of_setup.end();
    return known ? std::string(name) : std::string();
}

bool is_rendezvous_failure(const Complaint& complaint, const std::vector<Time>& met) {
    if (complaint.trouble != Trouble::exception || !complaint.final) return false;
    const auto place = static_cast<std::size_t>(complaint.process);
    if (place >= met.size() || met[place] <= complaint.at) return false;
    const std::string_view words = find_key_line(complaint.text);
    return !find_missing_variable(words).empty() || is_file_store_error(words) ||
           std::any_of(of_meeting.begin(), of_meeting.end(),
                       [&](std::string_view word) { return contains_word(words, word); });
}

std::string_view last_error_line(const Evidence& evidence, int attempt, Rank rank, Time by) {
    std::string_view last;
    for (const Event* event : evidence.each<RankLog>()) {
        const auto* log = event->as<RankLog>();
        const bool its_own = event->rank == rank && evidence.facts<Lives>().attempt_at(event->at) == attempt;
        if (its_own && event->at <= by && log->level >= 2) last = evidence.text(log->line);
    }
    return last;
}

}  // namespace deadrank::results::analysis
