// runners/learn/challenge.cpp — Reads an answer as people type it: "3", "rank 3", "0-2, 5", "b", "clock drift".
#include "runners/learn/challenge.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "results/record/words.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::learn {

namespace {

constexpr std::array<std::string_view, 13> number_words = {
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"};
constexpr std::array<std::string_view, 9> filler = {"rank", "ranks", "node", "nodes", "step",
                                                    "and",  "it",    "is",   "to"};

// Letters, digits, and each other character for itself.
std::vector<std::string> words_in(std::string_view text) {
    std::vector<std::string> words;
    int last = 0;
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        const int kind = std::isdigit(byte) ? 1 : std::isalpha(byte) ? 2 : std::isspace(byte) ? 0 : 3;
        if (kind != 0 && kind == last && kind != 3)
            words.back() += static_cast<char>(std::tolower(byte));
        else if (kind != 0)
            words.emplace_back(1, static_cast<char>(std::tolower(byte)));
        last = kind;
    }
    return words;
}

bool is_number(const std::string& word) { return std::isdigit(static_cast<unsigned char>(word.front())) != 0; }

// "did you mean …?" for the first word that is none of those that an answer has.
std::string nearest_word(const std::string& word) {
    std::vector<std::string> known(filler.begin(), filler.begin() + 5);
    known.insert(known.end(), number_words.begin(), number_words.end());
    const auto spelt = std::find(number_words.begin(), number_words.end(), word);
    if (spelt != number_words.end()) return std::to_string(spelt - number_words.begin());
    const std::string near = scenarios::nearest(word, known);
    const auto digit = std::find(number_words.begin(), number_words.end(), near);
    return digit == number_words.end() ? near : std::to_string(digit - number_words.begin());
}

struct Numbers {
    std::set<std::int32_t> all;
    std::string odd;  // the first word that is no part of an answer
};

Numbers numbers_of(std::string_view answer) {
    Numbers read;
    std::optional<std::int32_t> first;  // of "0-3"
    std::int32_t last = -1;
    bool range = false;
    for (const std::string& word : words_in(answer)) {
        if (is_number(word)) {
            if (word.size() > 7) return {{}, word};
            const std::int32_t number = std::stoi(word);
            if (range && number - *first > 100'000) return {{}, word};
            for (std::int32_t i = range ? *first : number; i <= number; ++i) read.all.insert(i);
            last = number;
            range = false;
        } else if (word == "-" && last >= 0) {
            first = last;
            range = true;
        } else if (word != "," && std::find(filler.begin(), filler.end(), word) == filler.end()) {
            return {{}, word};
        }
    }
    return read;
}

}  // namespace

Reply Challenge::read(std::string_view answer) const {
    const auto words = words_in(answer);
    if (words.empty()) return {Reply::unclear, ""};
    if (choices.empty()) {
        const Numbers read = numbers_of(answer);
        const std::string due = fmt::format("Answer with a number from {} to {}, several as in 0-2,5.", lowest, highest);
        if (!read.odd.empty()) {
            const std::string near = nearest_word(read.odd);
            return {Reply::unclear, fmt::format("'{}' is no number here{}. {}", read.odd,
                                                near.empty() ? "" : fmt::format("; did you mean '{}'?", near), due)};
        }
        if (read.all.empty()) return {Reply::unclear, due};
        if (*read.all.begin() < lowest || *read.all.rbegin() > highest)
            return {Reply::unclear,
                    fmt::format("{} does not exist here. {}",
                                *read.all.begin() < lowest ? *read.all.begin() : *read.all.rbegin(), due)};
        const bool right = std::equal(read.all.begin(), read.all.end(), numbers.begin(), numbers.end());
        return {right ? Reply::right : Reply::wrong, ""};
    }
    const auto judged = [&](std::size_t index) {
        return Reply{index == choice ? Reply::right : Reply::wrong, ""};
    };
    if (words.size() == 1 && words[0].size() == 1) {
        const auto index = static_cast<std::size_t>(words[0][0] - 'a');
        if (words[0][0] >= 'a' && index < choices.size()) return judged(index);
    }
    // The words of one choice alone.
    std::string typed;
    for (const std::string& word : words) typed += (typed.empty() ? "" : " ") + word;
    std::vector<std::string> names;
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        names.push_back(results::lowered(choices[i].substr(0, choices[i].find(':'))));
        if (typed.size() > 2 && names.back().find(typed) != std::string::npos) found.push_back(i);
    }
    if (found.size() == 1) return judged(found.front());
    const std::string near = scenarios::nearest(typed, names);
    const std::string last(1, static_cast<char>('a' + choices.size() - 1));
    std::string help = fmt::format("'{}' is none of the answers. Type a letter from a to {}.", typed, last);
    if (!near.empty()) {
        const auto at = std::find(names.begin(), names.end(), near) - names.begin();
        help += fmt::format(" Did you mean {}: {}?", static_cast<char>('a' + at), near);
    }
    return {Reply::unclear, std::move(help)};
}

std::string Challenge::solution() const {
    if (choices.empty()) return results::ranges_text(numbers);
    return fmt::format("{}: {}", static_cast<char>('a' + choice), choices[choice]);
}

}  // namespace deadrank::runners::learn
