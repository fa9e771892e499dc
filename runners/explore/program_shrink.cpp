// runners/explore/program_shrink.cpp — Greedy: the first smaller case that ends alike is the next to begin with.
#include "runners/explore/program_shrink.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <tuple>

#include "scenarios/model/text.h"

namespace deadrank::runners::explore {

namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    for (const std::string_view word : scenarios::parts_of(line, ' '))
        if (!word.empty()) words.emplace_back(word);
    return words;
}

// A number with what stands around it: "7", "x4", "30s", "step=12".
struct NumberWord {
    std::string before, behind;
    std::int64_t number = 0;
};

bool read_number_word(const std::string& word, NumberWord& read) {
    const std::size_t begin = word.find_first_of("0123456789");
    if (begin == std::string::npos) return false;
    const std::size_t end = std::min(word.find_first_not_of("0123456789", begin), word.size());
    const auto [rest, error] = std::from_chars(word.data() + begin, word.data() + end, read.number);
    read.before = word.substr(0, begin);
    read.behind = word.substr(end);
    // "1,3", "node0-node1", "1.5x": not one whole number.
    return error == std::errc() && rest == word.data() + end &&
           read.behind.find_first_of("0123456789") == std::string::npos;
}

// The largest step down comes first.
std::vector<std::int64_t> smaller_numbers(std::int64_t number) {
    std::vector<std::int64_t> smaller;
    for (const std::int64_t next : {std::int64_t{0}, std::int64_t{1}, number / 2, number - 1})
        if (next >= 0 && next < number && std::find(smaller.begin(), smaller.end(), next) == smaller.end())
            smaller.push_back(next);
    return smaller;
}

std::vector<std::string> smaller_lines(const std::string& line) {
    const std::vector<std::string> words = words_of(line);
    std::vector<std::string> lines;
    for (const std::size_t count : {2, 3, 1}) {  // "until step 9", "at step 3", "always"
        for (std::size_t at = 1; at + count <= words.size(); ++at) {
            std::vector<std::string> fewer = words;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                        fewer.begin() + static_cast<std::ptrdiff_t>(at + count));
            lines.push_back(fmt::format("{}", fmt::join(fewer, " ")));
        }
    }
    for (std::size_t at = 1; at < words.size(); ++at) {
        NumberWord word;
        if (!read_number_word(words[at], word)) continue;
        for (const std::int64_t number : smaller_numbers(word.number)) {
            std::vector<std::string> changed = words;
            changed[at] = fmt::format("{}{}{}", word.before, number, word.behind);
            lines.push_back(fmt::format("{}", fmt::join(changed, " ")));
        }
    }
    return lines;
}

// "rank 5" of 8 is rank 1 of 2.
std::string on_fewer_ranks(const std::string& line, std::int64_t ranks) {
    std::vector<std::string> words = words_of(line);
    for (std::size_t at = 1; at < words.size(); ++at) {
        NumberWord word;
        if (words[at - 1] == "rank" && read_number_word(words[at], word) && word.number >= ranks)
            words[at] = std::to_string(word.number % ranks);
    }
    return fmt::format("{}", fmt::join(words, " "));
}

// 4 ranks of 3 nodes are spread over 2 of them.
std::int64_t nodes_that_fit(std::int64_t ranks, std::int64_t nodes) {
    nodes = std::min(nodes, ranks);
    while (ranks % nodes != 0) --nodes;
    return nodes;
}

std::vector<ProgramCase> smaller_cases(const ProgramCase& from) {
    std::vector<ProgramCase> cases;
    for (const std::int64_t ranks : {std::int64_t{1}, std::int64_t{2}, from.ranks / 2, from.ranks - 1}) {
        if (ranks < 1 || ranks >= from.ranks) continue;
        ProgramCase fewer{{}, ranks, nodes_that_fit(ranks, from.nodes)};
        for (const std::string& line : from.faults) fewer.faults.push_back(on_fewer_ranks(line, ranks));
        cases.push_back(std::move(fewer));
    }
    for (const std::int64_t nodes : smaller_numbers(from.nodes)) {
        if (nodes < 1 || from.ranks % nodes != 0) continue;
        ProgramCase fewer = from;
        fewer.nodes = nodes;
        cases.push_back(std::move(fewer));
    }
    for (std::size_t i = 0; i < from.faults.size() && from.faults.size() > 1; ++i) {
        ProgramCase fewer = from;
        fewer.faults.erase(fewer.faults.begin() + static_cast<std::ptrdiff_t>(i));
        cases.push_back(std::move(fewer));
    }
    for (std::size_t i = 0; i < from.faults.size(); ++i) {
        for (std::string& line : smaller_lines(from.faults[i])) {
            ProgramCase less = from;
            less.faults[i] = std::move(line);
            cases.push_back(std::move(less));
        }
    }
    return cases;
}

}  // namespace

ShrunkProgram shrink_program(const ProgramCase& from, const std::function<bool(const ProgramCase&)>& ends_alike,
                             std::size_t tries_max, const std::function<bool()>& stopped) {
    ShrunkProgram shrunk{.least = from};
    std::set<std::tuple<std::int64_t, std::int64_t, std::vector<std::string>>> tried;
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (const ProgramCase& next : smaller_cases(shrunk.least)) {
            if (!tried.insert({next.ranks, next.nodes, next.faults}).second) continue;
            if (stopped() || shrunk.tries >= tries_max) return shrunk;
            ++shrunk.tries;
            smaller = ends_alike(next);
            if (!smaller) continue;
            shrunk.least = next;
            break;
        }
    }
    shrunk.finished = true;
    return shrunk;
}

}  // namespace deadrank::runners::explore
