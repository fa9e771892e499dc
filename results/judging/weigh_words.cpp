// results/judging/weigh_words.cpp — What torchrun calls the root cause, what ranks say of themselves and of
// each other.
#include "results/judging/weigh_words.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/judging/error_texts.h"
#include "results/record/words.h"

namespace deadrank::results {

namespace {

std::string shorten_text(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    constexpr std::size_t most = 160;
    return text.size() <= most ? text : text.substr(0, most) + "…";
}

// One text of the launcher, or one traceback, may hold several lines.
void add_lines(std::vector<std::string_view>& lines, std::string_view text) {
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (end > begin) lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
}

// What torchrun calls the root cause: a heading, and some lines below it "rank : 2 (local_rank: 2)" and
// "traceback : Signal 9 (SIGKILL) received by PID 7".
struct RootCause {
    Rank rank = no_rank;
    std::string signal;  // that line, where there is one
};

RootCause root_cause(const Evidence& evidence) {
    std::vector<std::string_view> lines;
    for (const Event* event : evidence.each<RankLog>()) {
        if (event->rank == no_rank) add_lines(lines, evidence.text(event->as<RankLog>()->line));
    }
    // After a restart the last report counts: a kill in the first attempt is not why the second one ended.
    RootCause root;
    bool below = false;
    for (const std::string_view line : lines) {
        if (line.find("Root Cause") != std::string_view::npos) {
            below = true;
            root = {};
        }
        const std::size_t begin = line.find_first_not_of(" \t"), colon = line.find(':');
        if (!below || begin == std::string_view::npos || colon == std::string_view::npos) continue;
        const std::string_view word = line.substr(begin), value = line.substr(colon + 1);
        if (root.rank == no_rank && word.starts_with("rank")) {
            root.rank = std::atoi(std::string(value).c_str());
        } else if (root.rank != no_rank && word.starts_with("traceback")) {
            if (value.starts_with(" Signal ")) root.signal = value.substr(1);
            below = false;
        }
    }
    return root;
}

// "[Rank 0]: Ranks 2 failed to pass monitoredBarrier": the rank said to be missing by one that waited.
Rank missing_rank(const std::vector<ErrorText>& texts) {
    for (const ErrorText& error : texts) {
        const std::string text = lowered(error.text);
        const std::size_t failed = text.find(" failed to pass");
        const std::size_t rank = failed == std::string::npos ? failed : text.rfind("rank", failed);
        if (rank == std::string::npos) continue;
        const std::size_t digit = text.find_first_of("0123456789", rank);
        if (digit < failed) return std::atoi(text.c_str() + digit);
    }
    return no_rank;
}

// A sentence about what happened, not the heading or a frame of a traceback.
bool is_cause(const std::string& text) {
    static constexpr std::array words = {
        "error:", "exception", "what():", "enforce fail", "signal ", "mismatch"};
    if (text.find("traceback") != text.npos || text.find("frame #") != text.npos ||
        mentions_other_ranks(text))
        return false;
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
}

// Words that point to the files: "…/checkpoints/step3", "checkpoint file is corrupted", "No space left on
// device".
bool names_storage(const std::string& text) {
    static constexpr std::array words = {"checkpoint", "no space left on device", "read-only file system"};
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
}

// "[rank1]: ValueError": the prefix names the speaker, not the culprit.
std::string without_prefix(const std::string& text) {
    const std::size_t end = text.starts_with("[rank") ? text.find("]:") : std::string::npos;
    return end == std::string::npos ? text : text.substr(end + 2);
}

bool is_reason_of_stop(const Evidence& evidence, const ErrorText& error) {
    const auto& stops = evidence.each<JobStop>();
    return std::any_of(stops.begin(), stops.end(), [&](const Event* event) {
        return error.rank == event->rank && error.text == evidence.text(event->as<JobStop>()->reason);
    });
}

// A name such as RANK is an everyday word unless it is spelled exactly so.
bool names_variable(const std::string& text, const std::string& variable) {
    return variable.find('_') == std::string::npos ? contains_word(text, variable)
                                                   : contains_word(lowered(text), lowered(variable));
}

class ErrorWords {
public:
    explicit ErrorWords(const Reacting& job) : job_(job) {
        for (const ErrorText& error : error_texts(job.evidence)) {
            // The reason of a job.stop is the observer's own sentence, not the job's.
            if (error.at < job.fault_at || is_reason_of_stop(job.evidence, error)) continue;
            std::vector<std::string_view> lines;
            add_lines(lines, error.text);
            for (const std::string_view line : lines)
                texts_.push_back({error.at, error.rank, std::string(line)});
        }
        find_whole_nodes();
        const RootCause root = root_cause(job.evidence);
        root_ = root.rank != no_rank ? root.rank : missing_rank(texts_);
        signal_ = root.signal;
    }

    Words weigh() const {
        const Blame& culprit = job_.culprit;
        if (culprit == Blame{} && !texts_.empty()) return {Reaction::clear_error, quoted(last_error())};
        if (is_culprit(root_) && !everybody() && !signal_.empty())
            return {Reaction::clear_error, fmt::format("rank {}: {}", root_, signal_)};
        if (const ErrorText* cause = cause_text()) return {Reaction::clear_error, quoted(*cause)};
        const bool one_was_blamed = root_ != no_rank && !culprit.ranks.empty() && !everybody();
        if (one_was_blamed && !is_culprit(root_))
            return {Reaction::wrong_rank,
                    fmt::format("the job's report calls rank {} the root cause; it was rank {}", root_,
                                ranges_text(culprit.ranks))};
        return {Reaction::misleading_error, texts_.empty() ? "no words at all" : quoted(last_error())};
    }

private:
    bool everybody() const {
        return static_cast<std::int32_t>(job_.culprit.ranks.size()) >= job_.evidence.world_size();
    }

    bool is_culprit(Rank rank) const { return culprits_.contains(rank); }

    // A link between all hosts there are: the host of a failed rank, as the launcher's report has it, tells nothing.
    bool is_link_of_all_hosts() const {
        return job_.culprit.component.starts_with("link") &&
               static_cast<std::int32_t>(culprits_.size()) >= job_.evidence.world_size();
    }

    // A rank at one end of the link names the host at the other.
    bool names_link(Rank speaker, const std::string& text) const {
        const Blame& culprit = job_.culprit;
        const auto own = node_of_.find(speaker);
        if (own == node_of_.end() || culprit.nodes.size() != 2 || !culprit.component.starts_with("link")) return false;
        const auto& ends = culprit.nodes;
        const std::int32_t other = ends.front() == own->second ? ends.back() : ends.front();
        return (ends.front() == own->second || ends.back() == own->second) &&
               contains_word(text, fmt::format("node{}", other));
    }

    // A text that leads to the cause: it names the variable, part or file; or a culprit describes itself,
    // unless another rank is called the root cause; or the rank called the root cause names a culprit.
    const ErrorText* cause_text() const {
        for (const ErrorText& error : texts_) {
            const std::string text = lowered(error.text);
            const Blame& culprit = job_.culprit;
            if (names_variable(error.text, culprit.variable) ||
                names_part(text, lowered(culprit.component)) || contains_word(text, lowered(culprit.shard)))
                return &error;
            const bool believed = root_ == no_rank || is_culprit(root_);
            if (culprit.component == "storage" && is_cause(text) && names_storage(text)) return &error;
            // If a part was damaged and all ranks are culprits, a text must say which part.
            const bool own_words = !everybody() || culprit.component.empty();
            if (own_words && believed && is_culprit(error.rank) && is_cause(text)) return &error;
            const std::string words = without_prefix(text);
            if (names_link(error.rank, words)) return &error;
            const bool names = std::any_of(culprit.ranks.begin(), culprit.ranks.end(),
                                           [&](Rank rank) { return names_rank(words, rank); }) ||
                               (!is_link_of_all_hosts() && names_whole_node(words));
            const bool points = root_ == no_rank || error.rank == root_ || is_culprit(root_);
            if (names && points && !is_culprit(error.rank)) return &error;
        }
        return nullptr;
    }

    // Blame of nodes alone means all ranks on them.
    void find_whole_nodes() {
        const Blame& culprit = job_.culprit;
        whole_nodes_.insert(culprit.nodes.begin(), culprit.nodes.end());
        culprits_.insert(culprit.ranks.begin(), culprit.ranks.end());
        for (const Event* event : job_.evidence.each<RankStart>()) {
            const std::int32_t node = event->as<RankStart>()->node;
            node_of_[event->rank] = node;
            if (culprit.ranks.empty() && whole_nodes_.contains(node)) culprits_.insert(event->rank);
            if (!is_culprit(event->rank)) whole_nodes_.erase(node);
        }
    }

    bool names_whole_node(const std::string& text) const {
        return std::any_of(whole_nodes_.begin(), whole_nodes_.end(), [&](std::int32_t node) {
            return contains_word(text, fmt::format("node{}", node));
        });
    }

    const ErrorText& last_error() const {
        for (const ErrorText& error : texts_) {
            const std::string text = lowered(error.text);
            if (text.find("error:") != text.npos && text.find("frame #") == text.npos) return error;
        }
        return texts_.front();
    }

    static std::string quoted(const ErrorText& error) {
        const std::string who = error.rank == no_rank ? "launcher" : fmt::format("rank {}", error.rank);
        return fmt::format("{}: {}", who, shorten_text(error.text));
    }

    const Reacting& job_;
    std::vector<ErrorText> texts_;
    std::set<Rank> culprits_;
    std::map<Rank, std::int32_t> node_of_;
    std::set<std::int32_t> whole_nodes_;  // whose ranks are all culprits
    Rank root_ = no_rank;
    std::string signal_;
};

}  // namespace

Words weigh_words(const Reacting& job) { return ErrorWords(job).weigh(); }

}  // namespace deadrank::results
