// tests/runners/learn/story_claims.cpp — Claims are found by their words, and looked for in what is shown.
#include "tests/runners/learn/story_claims.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <set>

#include "results/record/words.h"

namespace deadrank::tests {

namespace {

using runners::learn::Lesson;

// A line of a lesson, and the part that it stands in.
struct ShownLine {
    std::string part, text;
};
using Shown = std::vector<ShownLine>;

// A clue's part, by words of its title.
constexpr std::pair<const char*, const char*> parts[] = {
    {"░ work", "picture"},
    {"what each rank did last", "did"},
    {"what was printed", "printed"},
    {"loss by step", "loss"},
    {"what the job says", "numbers"},
    {"what was loaded", "loaded"},
    {"which rank joined", "joined"},
    {"the first samples", "samples"},
    {"devices,", "devices"},
    {"memory,", "memory"},
    {"settings that", "settings"},
    {"where work", "landed"},
    {"which part of", "shards"},
    {"links,", "links"},
    {"what was served", "served"},
    {"the first that differs", "replicas"},
    {"the program", "program"},
};

std::string part_of(const std::string& title) {
    for (const auto& [words, part] : parts) {
        if (title.find(words) != std::string::npos) return part;
    }
    return title;
}

// What follows from a whole clue: silence, and losses that part from those of the last good run.
void add_derived(Shown& shown, const std::string& part, const results::reports::Clue& clue) {
    static const std::regex late(R"(^ *[0-9]+ (min|h)\b.*)");
    const std::string& first = clue.lines.front();
    if (part == "picture" && clue.title.find("of silence") != std::string::npos)
        shown.push_back({"silence", clue.title});
    if (part == "printed" && (first == "nothing" || std::regex_match(first, late)))
        shown.push_back({"silence", first});
    const std::size_t values = 18;  // behind "this run" and "the last good run"
    if (part == "loss" && clue.lines.size() == 2 && clue.lines[1].size() > values &&
        first.substr(values) != clue.lines[1].substr(values))
        shown.push_back({"losses part", first});
}

// Neither the job's description nor the titles of clues are evidence of anything.
Shown shown_by(const Lesson& lesson) {
    Shown shown;
    for (const std::string& one : lesson.seen) shown.push_back({"run", results::lowered(one)});
    for (const auto& clue : lesson.clues) {
        if (clue.lines.empty()) continue;
        const std::string part = part_of(clue.title);
        add_derived(shown, part, clue);
        for (const std::string& line : clue.lines) {
            if (part != "printed" || line != "nothing") shown.push_back({part, results::lowered(line)});
        }
    }
    return shown;
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

// A line that bears a claim out: its part, and what it must contain.
struct Proof {
    const char* part;
    const char* line;
};

struct Claim {
    const char* words;
    std::vector<Proof> proofs;  // empty: no run of a few minutes can show it
    ClaimExample example;
};

const std::vector<Claim>& claims() {
    static const std::vector<Claim> all = {
        {R"(nvidia-smi|dmesg|utili[sz]|% ?load|full load|gpus? (is|are) busy|at 100|ping\b|cables? and cards)",
         {},
         {"nvidia-smi shows nothing.", "", ""}},
        {R"(yesterday|last week|tuesday|afternoon|\bhours?\b|\bdays?\b|\bweeks?\b|\bago\b|ticket|maintenance|upgrade|refactoring)",
         {},
         {"It began yesterday.", "", ""}},
        {R"(from run to run|each time|every time|on every run|some allocations|restarted,|in its place|it works\b|works (alone|with|on)|(is|are) fine)",
         {},
         {"It comes back each time.", "", ""}},
        {R"(on (one|four|two|eight|sixteen|single) gpus?|with (one|two|four|six|eight|half|several|more) |without (tensor|the|it,|fp8|offload|prefetch)|switched off|world sizes|number of gpus|tensor-parallel size|degree of)",
         {},
         {"With more nodes it goes away.", "", ""}},
        {R"(\bhang|\bhung\b|does not end|never ends?|stands? still|nothing moves|no rank moves|stuck|stop moving)",
         {{"run", "^the job did not end"},
          {"run", "^the job ended after [0-9]+ (min|h)"},
          {"did", "never ended"}},
         {"The job hangs.", "what each rank did last",
          "ranks 0-7  step 3  all_reduce 11 of world (1 f32, sum), never ended"}},
        {R"(\bwaits?\b|waiting|\bis in it\b|in a barrier|\bsits?\b|\bstays?\b|\bin an? (all_|all-|broadcast|sum|reduc|send|gather)|\bin (all_|send))",
         {{"did", "never ended|cut off"}, {"picture", "████████"}},
         {"Some ranks wait.", "what each rank did last",
          "rank 3  step 3  barrier 4 of world (1 i32), cut off"}},
        {R"(destroy_process_group)",
         {{"printed", "destroy_process_group"}},
         {"Some ranks are in destroy_process_group.", "what was printed", "  dist.destroy_process_group()"}},
        {R"(silence|nothing at all|says nothing|no log line|nothing is (wrong in any log|reported|printed))",
         {{"silence", "."}},
         {"Nothing is printed.", "what was printed", "    10 min  rank 0  an end"}},
        {R"(\bdie[sd]?\b|crash|killed|exit|ended\b|ends with|ends in|abort|signal)",
         {{"run", "exited with code [0-9]|died of signal"}},
         {"One process crashes.", "run", "Processes: 1 process died of signal 11."}},
        {R"(\braise[sd]?\b|fail)",
         {{"run", "exited with code [1-9]|died of signal"}, {"printed", "error|failed|exception"}},
         {"One call fails.", "what was printed", "RuntimeError: no"}},
        {R"(\berrors?\b|exception|\w+error\b|traceback|assert)",
         {{"printed", "error|exception|traceback|assert"}},
         {"There is an error.", "what was printed", "Traceback (most recent call last):"}},
        {R"(time-?outs?\b|timed out|time out|watchdog)",
         {{"printed", "timed? ?out|timeout|watchdog caught"}},
         {"A time-out comes.", "what was printed", "[Rank 1] Watchdog caught collective operation timeout"}},
        {R"(slow|as long|takes? longer|throughput|step time|steps? takes?|pace\b)",
         {{"run", "^a step took"}},
         {"The job is slow.", "run",
          "A step took 445 ms, the longest 510 ms; in the last good run 330 ms, the longest 330 ms."}},
        {R"(\bloss\b|losses|curve|learns?\b|converge|overshoot|accuracy|validation|regulari)",
         {{"run", "^the last loss"},
          {"losses part", "."},
          {"loss", R"(^this run .*[0-9]\*)"},
          {"numbers", "loss|accuracy"}},
         {"The loss is wrong.", "run", "The last loss is 0.2; in the last good run it was 0.1."}},
        {R"(\bnan\b|\binf\b|not a number)",
         {{"run", "^the last loss is not a number"},
          {"loss", R"(^this run .*\bnan\b)"},
          {"numbers", R"(\b(nan|inf)\b)"},
          {"printed", R"(\b(nan|inf)\b)"}},
         {"A gradient is inf.", "what the job says of its numbers", "rank 0  step 1  gradient = inf"}},
        {R"(grad_norm|gradient norm|digest|replica|differ|drift)",
         {{"replicas", "."},
          {"numbers", "."},
          {"run", "^the last loss"},
          {"losses part", "."},
          {"loss", R"(^this run .*[0-9]\*)"}},
         {"Replicas drift apart.", "weights of group 0-7 after step 0, the first that differs between ranks",
          "rank 0  00ff"}},
        {R"(memory\b|fills? up|\boom\b)",
         {{"memory", "."}, {"printed", "out of memory|memory.*(bytes|gib)|\\boom\\b"}},
         {"Memory fills up.", "memory, the most of each rank", "rank 0  device 3.0 GiB of 80.0 GiB"}},
        {R"(restart|resum|preempt|started again|goes on from)",
         {{"run", "^the launcher started all ranks again"},
          {"loaded", "."},
          {"printed", "preempt|starts again"}},
         {"The job restarts.", "run", "The launcher started all ranks again 1 time."}},
        {R"(checkpoint|\bsave[sd]?\b|saving|the files?\b|shard)",
         {{"loaded", "."},
          {"shards", "."},
          {"did", "save|load|checkpoint"},
          {"printed", R"(checkpoint|saving|saved|\.pt\b|shard)"},
          {"program", R"(save\(|[ .]load\(|open\()"}},
         {"A checkpoint is whole.", "what was loaded", "ranks 0-7  checkpoint.pt  step 2, 56 bytes, ok"}},
        {R"(\bgroup|\bjoin|\bcommunicator|\bcomm\b|rendezvous|\bstore\b|connect)",
         {{"did", "comm_init|rendezvous|join|connect|group|store"},
          {"joined", "."},
          {"printed", "rendezvous|tcpstore|connect|communicator|groups?\\b(?!, flushing)"}},
         {"Some ranks join another group.", "which rank joined which group, as each rank saw it",
          "rank 0  world: place 0 of 1"}},
        {R"(sample|batch)",
         {{"samples", "."}, {"printed", "sample|batch"}, {"numbers", "sample|batch"}},
         {"Batches are alike.", "the first samples of each rank", "rank 0  step 0  samples 1,2"}},
        {R"(^(?!.*nothing is (wrong|reported|printed)).*\b(prints?|logs?|says?|report))",
         {{"printed", "."}},
         {"Each rank prints the same.", "what was printed", "rank 0  begin"}},
        {R"(token|answer|garbage|request)",
         {{"served", "."},
          {"printed", "token|answer|request"},
          {"numbers", "token|request"},
          {"program", "token|request"}},
         {"Answers are garbage.", "what was served", "rank 0  request 1  tokens 3"}},
        {R"(import|symbol|compiler)",
         {{"printed", "import|symbol|compil"}},
         {"An import is odd.", "what was printed", "ImportError: undefined symbol"}},
        {R"(device|gpu\b|ecc|xid)",
         {{"devices", "."}, {"landed", "."}, {"memory", "device"}, {"printed", "device|gpu|cuda|ecc|xid"}},
         {"One device is odd.", "where work landed", "rank 0  model on device 3"}},
    };
    return all;
}

bool is_shown(const Shown& shown, const Proof& proof) {
    const std::regex pattern(proof.line);
    return std::any_of(shown.begin(), shown.end(), [&](const ShownLine& line) {
        return line.part == proof.part && std::regex_search(line.text, pattern);
    });
}

const std::map<std::string, int> number_words = {
    {"two", 2}, {"three", 3}, {"four", 4}, {"five", 5}, {"six", 6}, {"seven", 7}, {"eight", 8},
    {"nine", 9}, {"ten", 10}, {"twelve", 12}, {"fifteen", 15}, {"sixteen", 16}, {"half", -1}};

// Sizes of rows, of nodes and of the job.
std::set<int> counts_in(const Lesson& lesson) {
    std::string shown = lesson.job + "\n";
    for (const ShownLine& line : shown_by(lesson)) shown += line.text + "\n";
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

// Words that a program prints, or that stand in it. "…" in a quotation stands for anything.
bool was_printed(const std::string& quoted, const Shown& lines) {
    std::string shown;
    for (const ShownLine& line : lines) {
        if (line.part == "printed" || line.part == "program" || line.part == "served" ||
            line.part == "loaded")
            shown += line.text + "\n";
    }
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

std::string unseen_in(const std::string& sentence, const Shown& shown, const std::set<int>& counts) {
    std::string words = results::lowered(sentence);
    bool claimed = false;
    static const std::regex quotation(R"((?:^|[ (,])['"`]([^'"`]{3,})['"`])");
    for (std::sregex_iterator at(words.begin(), words.end(), quotation), end; at != end; ++at) {
        claimed = true;
        if (!was_printed((*at)[1], shown)) return fmt::format("'{}' was not printed", (*at)[1].str());
    }
    words = std::regex_replace(words, quotation, " ");
    for (const Claim& claim : claims()) {
        if (!finds(words, claim.words)) continue;
        claimed = true;
        if (claim.proofs.empty()) return fmt::format("no run shows /{}/", claim.words);
        const bool denied = finds(words, R"(\bno (error|rank has an error|rank reports an error|warning|complaint)|without an? error|nothing (has )?(crashed|fails)|not crashed|no call fails)");
        if (denied) {
            if (is_shown(shown, {"printed", "traceback"}) || is_shown(shown, {"run", "died of signal"}))
                return "there are errors";
            continue;
        }
        const auto shows = [&](const Proof& proof) { return is_shown(shown, proof); };
        if (std::none_of(claim.proofs.begin(), claim.proofs.end(), shows))
            return fmt::format("/{}/ is not shown", claim.words);
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
    const Shown shown = shown_by(lesson);
    const std::set<int> counts = counts_in(lesson);
    std::vector<Unseen> unseen;
    for (const std::string& sentence : sentences_of(lesson.sees)) {
        if (const std::string why = unseen_in(sentence, shown, counts); !why.empty()) unseen.push_back({sentence, why});
    }
    return unseen;
}

std::vector<ClaimExample> claim_examples() {
    std::vector<ClaimExample> examples;
    for (const Claim& claim : claims()) examples.push_back(claim.example);
    return examples;
}

}  // namespace deadrank::tests
