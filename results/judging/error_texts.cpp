// results/judging/error_texts.cpp — Matches whole words only; what a sentence about trouble means depends on
// who says it.
#include "results/judging/error_texts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>

#include "results/record/words.h"

namespace deadrank::results {

bool contains_word(const std::string& text, const std::string& word) {
    if (word.empty()) return false;
    const auto joins = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        const bool apart_before = at == 0 || !joins(text[at - 1]) || !joins(word.front());
        const bool apart_after = end == text.size() || !joins(text[end]) || !joins(word.back());
        if (apart_before && apart_after) return true;
    }
    return false;
}

bool names_part(const std::string& text, const std::string& part) {
    if (part.empty()) return false;
    const auto joins = [&](std::size_t at) {
        return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                                    std::string_view("_/").find(text[at]) != std::string_view::npos);
    };
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        const std::size_t end = at + part.size();
        const bool in_module = end + 1 < text.size() && text[end] == '.' && std::isalpha(text[end + 1]) != 0;
        const bool behind_dot = at > 0 && text[at - 1] == '.';
        if ((at == 0 || !joins(at - 1)) && !joins(end) && !in_module && !behind_dot) return true;
    }
    return false;
}

bool names_rank(const std::string& text, Rank rank) {
    for (const char* form :
         {"rank {}", "rank: {}", "rank={}", "ranks {}", "ranks [{}", "rank {{{}", "[rank{}]"}) {
        if (contains_word(text, fmt::format(fmt::runtime(form), rank))) return true;
    }
    // torch.multiprocessing.spawn, whose processes are its ranks.
    return contains_word(text, fmt::format("Process {} terminated", rank)) ||
           contains_word(text, fmt::format("process {} terminated", rank));
}

std::vector<ErrorText> error_texts(const Evidence& evidence) {
    std::vector<ErrorText> texts;
    const auto add = [&](const Event& event, std::string_view words) {
        if (!words.empty()) texts.push_back({event.at, event.rank, std::string(words)});
    };
    for (const Event& event : evidence.events()) {
        if (const auto* log = event.as<RankLog>(); log && log->level >= 2)
            add(event, evidence.text(log->line));
        if (const auto* error = event.as<CommError>()) add(event, evidence.text(error->message));
        if (const auto* package = event.as<PackageLoad>(); package && package->result != Code::ok) {
            add(event, fmt::format("{}: {}", evidence.text(package->name), evidence.text(package->problem)));
        }
        if (const auto* stop = event.as<JobStop>(); stop && stop->code != 0)
            add(event, evidence.text(stop->reason));
    }
    return texts;
}

bool mentions_other_ranks(const std::string& text) {
    static constexpr std::array signs = {"timeout",     "timed out",     "connection", "remote process",
                                         "remote peer", "remote server", "aborted",    "sigterm"};
    return std::any_of(signs.begin(), signs.end(),
                       [&](const char* sign) { return text.find(sign) != std::string::npos; });
}

}  // namespace deadrank::results
