// tests/runners/learn/story_claims.cpp — Claims are found by their words, and looked for in what is shown.
#include "tests/runners/learn/story_claims.h"

#include <fmt/format.h>
#include <map>
#include <regex>
#include <set>

#include "results/record/words.h"

namespace deadrank::tests {

namespace {

using runners::learn::Lesson;

std::string shown_by(const Lesson& lesson) {
    std::string text = lesson.job + "\n" + lesson.watched + "\n";
    for (const std::string& one : lesson.seen) text += one + "\n";
    for (const auto& clue : lesson.clues) {
        text += clue.title + "\n";
        for (const std::string& line : clue.lines) text += line + "\n";
    }
    return results::lowered(text);
}

std::vector<std::string> sentences_of(const std::string& text) {
    std::vector<std::string> sentences;
    std::size_t from = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool ends = (text[i] == '.' || text[i] == '!' || text[i] == '?') &&
                          (i + 1 == text.size() || (text[i + 1] == ' ' && i + 2 < text.size() && !std::islower(text[i + 2])));
        if (!ends) continue;
        sentences.push_back(text.substr(from, i + 1 - from));
        from = std::min(i + 2, text.size());
    }
    if (from < text.size()) sentences.push_back(text.substr(from));
    return sentences;
}

bool finds(const std::string& text, const char* pattern) { return std::regex_search(text, std::regex(pattern)); }

// Words of a claim, and what must be shown for it; an empty `shown` cannot be shown at all.
struct Claim {
    const char* words;
    const char* shown;
};

constexpr Claim claims[] = {
    {R"(nvidia-smi|dmesg|utili[sz]|% ?load|full load|gpus? (is|are) busy|at 100|ping\b|cables? and cards)", ""},
    {R"(yesterday|last week|tuesday|afternoon|\bhours?\b|\bdays?\b|\bweeks?\b|\bago\b|ticket|maintenance|upgrade|refactoring)",
     ""},
    {R"(from run to run|each time|every time|on every run|some allocations|restarted,|in its place|it works\b|works (alone|with|on)|(is|are) fine)",
     ""},
    {R"(on (one|four|two|eight|sixteen|single) gpus?|with (one|two|four|six|eight|half|several|more) |without (tensor|the|it,|fp8|offload|prefetch)|switched off|world sizes|number of gpus|tensor-parallel size|degree of)",
     ""},
    {R"(\bhang|\bhung\b|does not end|never ends?|stands? still|nothing moves|no rank moves|stuck|stop moving)",
     R"(did not end|never ended|ended after [0-9]+ (min|h))"},
    {R"(\bwaits?\b|waiting|\bis in it\b|in a barrier|\bsits?\b|\bstays?\b|\bin an? (all_|all-|broadcast|sum|reduc|send|gather)|\bin (all_|send|destroy))",
     R"(never ended|████████|did not end)"},
    {R"(silence|nothing at all|says nothing|no log line)", R"(did not end|nothing\n|(ended after [0-9]+ (min|h)))"},
    {R"(\bdie[sd]?\b|crash|killed|exit|ended\b|ends with|ends in|raise[sd]?\b|fail|abort|signal)",
     R"(exited with code [1-9]|died of signal|traceback|error|failed)"},
    {R"(\berrors?\b|exception|\w+error\b|traceback|assert)", R"(error|exception|traceback|assert)"},
    {R"(time-?outs?\b|timed out|time out|watchdog)", R"(timed? ?out|timeout|watchdog caught)"},
    {R"(slow|as long|takes? longer|throughput|step time|steps? takes?|pace\b)", R"(a step took|slow)"},
    {R"(\bloss\b|losses|curve|learns?\b|converge|overshoot|accuracy|validation|regulari)",
     R"(last loss|differs between ranks|what the job says of its numbers|\*)"},
    {R"(\bnan\b|\binf\b|not a number)", R"(\bnan\b|\binf\b|not a number)"},
    {R"(grad_norm|gradient norm|digest|replica|differ|drift)",
     R"(differs between ranks|what the job says of its numbers|last loss|norm)"},
    {R"(memory\b|fills? up|\boom\b)", R"(memory)"},
    {R"(restart|resum|preempt|started again|goes on from)", R"(started all ranks again|attempt|what was loaded|load)"},
    {R"(checkpoint|\bsave[sd]?\b|saving|the files?\b|shard)", R"(checkpoint|save|\.pt|load|shard|open\()"},
    {R"(\bgroup|\bjoin|\bcommunicator|\bcomm\b|rendezvous|\bstore\b|connect)",
     R"(comm_init|rendezvous|which rank joined|join|connect|group|communicator)"},
    {R"(sample|batch)", R"(sample|batch)"},
    {R"(\bprints?\b|\blogs?\b|\bsays?\b|\breport)", R"(what was printed)"},
    {R"(token|answer|garbage|request)", R"(what was served|request|token)"},
    {R"(import|symbol|compiler)", R"(import|symbol|compil|error)"},
    {R"(device|gpu\b|ecc|xid)", R"(device|gpu|ecc|xid)"},
};

const std::map<std::string, int> number_words = {
    {"two", 2}, {"three", 3}, {"four", 4}, {"five", 5}, {"six", 6}, {"seven", 7}, {"eight", 8},
    {"nine", 9}, {"ten", 10}, {"twelve", 12}, {"fifteen", 15}, {"sixteen", 16}, {"half", -1}};

// Sizes of rows, of nodes and of the job.
std::set<int> counts_in(const std::string& shown) {
    std::set<int> counts;
    static const std::regex ranks("ranks? ([0-9]+(?:[-,][0-9]+)*)"), noted("([0-9]+) (?:ranks?|nodes?|process)");
    for (std::sregex_iterator at(shown.begin(), shown.end(), ranks), end; at != end; ++at) {
        int count = 0;
        const std::string list = (*at)[1];
        std::size_t from = 0;
        while (from < list.size()) {
            const std::size_t to = std::min(list.find(',', from), list.size());
            const std::string part = list.substr(from, to - from);
            const std::size_t dash = part.find('-');
            if (part.size() < 12)
                count += dash == std::string::npos
                             ? 1
                             : std::atoi(part.c_str() + dash + 1) - std::atoi(part.c_str()) + 1;
            from = to + 1;
        }
        counts.insert(count);
    }
    for (std::sregex_iterator at(shown.begin(), shown.end(), noted), end; at != end; ++at)
        counts.insert(std::atoi((*at)[1].str().c_str()));
    return counts;
}

// "…" in a quotation stands for anything.
bool was_printed(const std::string& quoted, const std::string& shown) {
    std::size_t at = 0, from = 0;
    while (from <= quoted.size()) {
        const std::size_t dots = std::min(quoted.find("…", from), quoted.size());
        std::string part = quoted.substr(from, dots - from);
        while (!part.empty() && part.back() == ' ') part.pop_back();
        while (!part.empty() && part.front() == ' ') part.erase(0, 1);
        const std::size_t found = shown.find(part, at);
        if (found == std::string::npos) return false;
        at = found + part.size();
        from = dots + std::string("…").size();
    }
    return true;
}

std::string unseen_in(const std::string& sentence, const std::string& shown, const std::set<int>& counts) {
    std::string words = results::lowered(sentence);
    bool claimed = false;
    static const std::regex quotation(R"((?:^|[ (,])['"`]([^'"`]{3,})['"`])");
    for (std::sregex_iterator at(words.begin(), words.end(), quotation), end; at != end; ++at) {
        claimed = true;
        if (!was_printed((*at)[1], shown)) return fmt::format("'{}' was not printed", (*at)[1].str());
    }
    words = std::regex_replace(words, quotation, " ");
    for (const Claim& claim : claims) {
        if (!finds(words, claim.words)) continue;
        claimed = true;
        if (*claim.shown == '\0') return fmt::format("no run shows /{}/", claim.words);
        const bool denied = finds(words, R"(\bno (error|rank has an error|rank reports an error|warning|complaint)|without an? error|nothing (has )?(crashed|fails)|not crashed|no call fails)");
        if (denied) {
            if (finds(shown, "traceback|died of signal")) return "there are errors";
            continue;
        }
        if (!finds(shown, claim.shown)) return fmt::format("/{}/ is not shown", claim.words);
    }
    static const std::regex counted(R"(\b(two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|sixteen|[0-9]+) (ranks?|processes|nodes?|workers|watchdogs|time-outs|machines))");
    for (std::sregex_iterator at(words.begin(), words.end(), counted), end; at != end; ++at) {
        claimed = true;
        const auto known = number_words.find((*at)[1]);
        const int count = known == number_words.end() ? std::atoi((*at)[1].str().c_str()) : known->second;
        if (counts.count(count) == 0) return fmt::format("nothing is {}", at->str());
    }
    return claimed ? "" : "no claim that a test knows";
}

}  // namespace

std::vector<Unseen> find_unseen(const Lesson& lesson) {
    const std::string shown = shown_by(lesson);
    const std::set<int> counts = counts_in(shown);
    std::vector<Unseen> unseen;
    for (const std::string& sentence : sentences_of(lesson.sees)) {
        if (const std::string why = unseen_in(sentence, shown, counts); !why.empty()) unseen.push_back({sentence, why});
    }
    return unseen;
}

}  // namespace deadrank::tests
