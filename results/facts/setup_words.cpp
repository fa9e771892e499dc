// results/facts/setup_words.cpp — Words that programs and their stores use of meeting, whole words only:
// "port" is in "import", too.
#include "results/facts/setup_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace deadrank::results::detectors {

namespace {

constexpr std::array<std::string_view, 14> of_meeting = {
    "store",  "filestore", "tcpstore", "hashstore", "rendezvous",  "address",     "port",
    "socket", "endpoint",  "hostname", "master",    "coordinator", "init_method", "ncclUniqueId"};

constexpr std::array<std::string_view, 5> of_setup = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR",
                                                      "MASTER_PORT"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Letters only count: "new_store_test.txt" has the word "store".
bool says_word(std::string_view text, std::string_view word) {
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
bool says_a_file_store(std::string_view words) {
    const auto open = words.find("open(");
    return open != std::string_view::npos && words.find("): ", open) != std::string_view::npos &&
           (open == 0 || !is_letter(words[open - 1]));
}

}  // namespace

std::vector<Time> met_at(const Evidence& evidence, int attempt) {
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

std::string missing_variable(std::string_view words) {
    constexpr std::string_view before = "KeyError: '";
    const auto at = words.find(before);
    if (at == std::string_view::npos) return {};
    std::string_view name = words.substr(at + before.size());
    name = name.substr(0, name.find('\''));
    const bool known = std::find(of_setup.begin(), of_setup.end(), name) != of_setup.end();
    return known ? std::string(name) : std::string();
}

bool failed_to_meet(const Complaint& complaint, const std::vector<Time>& met) {
    if (complaint.trouble != Trouble::exception || !complaint.final) return false;
    const auto place = static_cast<std::size_t>(complaint.process);
    if (place >= met.size() || met[place] <= complaint.at) return false;
    const std::string_view words = heart_of(complaint.text);
    return !missing_variable(words).empty() || says_a_file_store(words) ||
           std::any_of(of_meeting.begin(), of_meeting.end(),
                       [&](std::string_view word) { return says_word(words, word); });
}

}  // namespace deadrank::results::detectors
