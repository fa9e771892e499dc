// scenarios/model/enum_words.h — An enumeration and the words by which files state it, as one table. Text
// becomes a value where it is read; code behind the reader switches over values.
//
//     enum class Colour { red, green };
//     constexpr auto enum_words(Colour) { return std::to_array<std::string_view>({"red", "green"}); }
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::scenarios {

// An enumeration from 0 on, with `enum_words` beside it: its words in the order of its values.
template <class Enum>
concept WordEnum = requires(Enum value) {
    enum_words(value);
};

template <WordEnum Enum>
constexpr std::string_view enum_name(Enum value) {
    return enum_words(value)[static_cast<std::size_t>(value)];
}

// Nothing if no value has this word.
template <WordEnum Enum>
constexpr std::optional<Enum> read_word(std::string_view word) {
    constexpr auto words = enum_words(Enum{});
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == word) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

// All words, for messages and lists of choices.
template <WordEnum Enum>
const std::vector<std::string>& list_words() {
    static const std::vector<std::string> words = [] {
        constexpr auto all = enum_words(Enum{});
        return std::vector<std::string>(all.begin(), all.end());
    }();
    return words;
}

template <WordEnum Enum>
std::vector<std::string> words_of(const std::vector<Enum>& values) {
    std::vector<std::string> words;
    for (const Enum value : values) words.emplace_back(enum_name(value));
    return words;
}

}  // namespace deadrank::scenarios
