// tests/sentences_test.cpp — Goal: what findings say is English, and true on its face. Reads the sentences of
// all goldens: nobody waits for himself, one rank differs and two differ, a value that is not set is called
// so.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace deadrank {
namespace {

// "0-2,5" → 0, 1, 2, 5
std::set<int> numbers_in(const std::string& text) {
    std::set<int> all;
    static const std::regex part(R"((\d+)(?:-(\d+))?)");
    for (std::sregex_iterator it(text.begin(), text.end(), part), end; it != end; ++it) {
        const int first = std::stoi((*it)[1]), last = (*it)[2].matched ? std::stoi((*it)[2]) : first;
        for (int number = first; number <= last; ++number) all.insert(number);
    }
    return all;
}

// Why the sentence is none; empty if nothing is wrong with it.
std::string fault_of(const std::string& sentence) {
    static const std::pair<std::regex, const char*> never[] = {
        {std::regex(R"(\S  \S)"), "something was left out between two spaces"},
        {std::regex(R"('' elsewhere|is '' |\bthere and\b)"), "an unset value, or a place that is not named"},
        {std::regex(R"(\branks \S+ (?:never entered|waits?\b)[^;]*: it (?:was|had))"),
         "many ranks are no it"},
        {std::regex(R"(\brank \d+ differ\b)"), "one rank differs"},
        {std::regex(R"(\bnode \d+[,-]\d)"), "these are nodes"},
        {std::regex(R"(\bnobody was\b|\b0 others\b|\bno rank \w+ed\b)"), "nobody did something"},
        {std::regex(R"((?:^|\s)(?!two )[\w.]+ of ranks? \S+ (?:are|lie)\b)"), "one value lies or is"},
    };
    for (const auto& [form, why] : never)
        if (std::regex_search(sentence, form)) return why;
    static const std::regex waits(R"(\branks? ([\d,-]+) waited [^;\[]*? for ranks? ([\d,-]+))");
    std::smatch found;
    if (!std::regex_search(sentence, found, waits)) return {};
    const std::set<int> awaited = numbers_in(found[2]);
    for (const int rank : numbers_in(found[1]))
        if (awaited.count(rank) > 0) return "a rank waits for itself";
    return {};
}

TEST(Sentences, OfAllGoldensMakeSense) {
    int read = 0;
    const std::filesystem::path goldens = DEADRANK_SOURCE_DIRECTORY "/tests/golden";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(goldens)) {
        if (entry.path().extension() != ".txt") continue;
        std::ifstream file(entry.path());
        bool noticed = false;
        for (std::string line; std::getline(file, line);) {
            if (noticed && line.size() > 2) {
                ++read;
                EXPECT_EQ(fault_of(line.substr(2, line.rfind(" [") - 2)), "")
                    << entry.path().stem() << ": " << line;
            }
            noticed |= line == "noticed:";
        }
    }
    EXPECT_GE(read, 200);
}

// Goal: the test above can fail.
TEST(Sentences, WithoutSenseAreToldApart) {
    for (const char* one :
         {"ranks 1-3 waited 60.0 s and longer in rendezvous for ranks 1-3", "request 4: rank 2 differ",
          "ranks 0-15 waited 60.0 s and longer in rendezvous for ranks 12-15",
          "cpu_adam  could not be loaded", "NCCL_ALGO is 'Tree' there and '' elsewhere on ranks 4-7",
          "ports of node 1,2 sent 60 messages",
          "ranks 1-15 never entered barrier (operation 53 of world): it had ended by itself",
          "ranks 0,1 from the 0 others", "weights of ranks 1-3 lie on device 0"}) {
        EXPECT_NE(fault_of(one), "") << one;
    }
    for (const char* one : {"ranks 0-11 waited 60.0 s and longer in rendezvous for ranks 12-15",
                            "rank 0 never entered all_reduce (operation 38 of world): it was gone; ranks 1-7 "
                            "waited for 60.0 s and longer",
                            "the ports of nodes 1,2 sent 60 messages again", "rank 3 from the 7 others"}) {
        EXPECT_EQ(fault_of(one), "") << one;
    }
}

}  // namespace
}  // namespace deadrank
