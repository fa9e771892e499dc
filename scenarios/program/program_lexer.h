// scenarios/program/program_lexer.h — A program's text as words, with lines that begin deeper or less deep as
// words of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"
#include "scenarios/program/program_tree.h"

namespace deadrank::scenarios::program {

enum class TokenKind : std::uint8_t {
    name,
    whole,
    decimal,
    text,
    joined,
    sign,
    newline,
    indent,
    dedent,
    end
};

struct Token {
    TokenKind kind = TokenKind::end;
    Spot spot = {};
    std::string text = {};    // of a text: what it says; of a joined text: what stands between its quotes
    std::int64_t number = 0;  // whole, or a decimal in 65536ths
};

// What is wrong with a program, in one of its texts.
struct Mistake {
    Spot spot;
    std::string what;
    std::string remedy;
};

// Stops at the first mistake, which the list then holds. `first`: where the text begins, if it is a part of
// another one.
std::vector<Token> words_of(std::string_view text, Spot first, std::vector<Mistake>& mistakes);

// What a backslash and this letter stand for in a text; a letter that it does not know keeps the backslash.
void add_escaped(std::string& text, char letter);

}  // namespace deadrank::scenarios::program
