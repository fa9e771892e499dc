// scenarios/program/program_lexer.cpp — Letters into words. Blank lines and comments leave no trace; inside
// brackets a line may end anywhere.
#include "scenarios/program/program_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace deadrank::scenarios::program {

namespace {

constexpr int fraction_bits = 16;  // as the simulator's numbers
constexpr std::size_t most_levels = 12;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
public:
    Lexer(std::string_view text, Spot first, std::vector<Mistake>& mistakes)
        : text_(text), spot_(first), mistakes_(mistakes) {}

    std::vector<Token> run() {
        while (!failed_ && at_ < text_.size()) line();
        if (failed_) tokens_.clear();
        for (std::size_t i = 1; i < indents_.size(); ++i) add(TokenKind::dedent);
        add(TokenKind::end);
        return std::move(tokens_);
    }

private:
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    void step(std::size_t count = 1) {
        for (; count > 0 && at_ < text_.size(); --count) {
            if (text_[at_++] == '\n') {
                ++spot_.line;
                spot_.column = 1;
            } else {
                ++spot_.column;
            }
        }
    }
    void add(TokenKind kind, std::string text = {}, std::int64_t number = 0) {
        tokens_.push_back({kind, spot_, std::move(text), number});
    }
    void fail(std::string what, std::string remedy) {
        if (!failed_) mistakes_.push_back({spot_, std::move(what), std::move(remedy)});
        failed_ = true;
    }

    void skip_blanks() {
        for (;;) {
            if (peek() == ' ' || peek() == '\r' || (peek() == '\t' && !at_start_))
                step();
            else if (peek() == '\\' && peek(1) == '\n')
                step(2);
            else if (peek() == '#')
                while (at_ < text_.size() && peek() != '\n') step();
            else if (peek() == '\n' && open_ > 0)
                step();
            else
                return;
        }
    }

    // One line with its indentation.
    void line() {
        at_start_ = true;
        skip_blanks();
        if (peek() == '\t') return fail("a tab indents this line", "indent with blanks");
        if (at_ >= text_.size()) return;
        if (peek() == '\n') return step();
        indent(spot_.column);
        at_start_ = false;
        while (!failed_ && at_ < text_.size() && !(peek() == '\n' && open_ == 0)) {
            word();
            skip_blanks();
        }
        if (open_ > 0) fail("a bracket is not closed", "close it with ), ] or }");
        add(TokenKind::newline);
        if (peek() == '\n') step();
    }

    // The first line's depth is that of the whole text.
    void indent(int column) {
        if (indents_.empty()) indents_.push_back(column);
        if (column > indents_.back()) {
            indents_.push_back(column);
            if (indents_.size() > most_levels)
                fail(fmt::format("this is more than {} levels deep", most_levels), "make a function of it");
            return add(TokenKind::indent);
        }
        while (column < indents_.back() && indents_.size() > 1) {
            indents_.pop_back();
            add(TokenKind::dedent);
        }
        if (column != indents_.back())
            fail("unindent does not match any outer indentation level",
                 "let this line begin where another one of its block does");
    }

    void word() {
        const char c = peek();
        if ((c == 'f' || c == 'F') && (peek(1) == '"' || peek(1) == '\'')) {
            step();
            return quoted(TokenKind::joined);
        }
        if (text_.substr(at_, 3) == "\"\"\"") return remark();
        if (is_letter(c)) return name();
        if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
        if (c == '"' || c == '\'') return quoted(TokenKind::text);
        sign();
    }

    void name() {
        const Token began{TokenKind::name, spot_};
        const std::size_t from = at_;
        while (is_letter(peek()) || is_digit(peek())) step();
        tokens_.push_back(began);
        tokens_.back().text = std::string(text_.substr(from, at_ - from));
    }

    void number() {
        Token token{TokenKind::whole, spot_};
        if (peek() == '0' && based(token)) return;
        std::string digits, fraction;
        for (; is_digit(peek()) || peek() == '_'; step())
            if (peek() != '_') digits += peek();
        bool decimal = peek() == '.';
        if (decimal) {
            step();
            for (; is_digit(peek()); step()) fraction += peek();
        }
        if (const auto exponent = taken_exponent()) {
            decimal = true;
            move_point(digits, fraction, *exponent);
        }
        if (is_letter(peek()))
            return fail(fmt::format("'{}{}{}' is not a number", digits, decimal ? "." : "", peek()),
                        "write 12, 0.5, 1e-3 or 1/3; durations and sizes are texts: \"10ms\", \"1GiB\"");
        const char* const end = digits.data() + digits.size();
        const bool fits =
            digits.empty() || std::from_chars(digits.data(), end, token.number).ec == std::errc();
        if (!fits || (decimal && token.number >= (std::int64_t{1} << 44)))
            return fail(fmt::format("{} is too large", digits), "write a smaller number");
        if (decimal) {
            const bool zero = token.number == 0 && fraction.find_first_not_of('0') == std::string::npos;
            token.kind = TokenKind::decimal;
            token.number = (token.number << fraction_bits) + sixteenths(fraction);
            if (token.number == 0 && !zero)
                return fail("this decimal is smaller than 1/65536, and would be 0",
                            "decimals have steps of 1/65536: write 1/65536, the smallest one, where it keeps "
                            "a divisor from being 0, as the eps of an optimizer; else count in a smaller "
                            "unit");
        }
        tokens_.push_back(token);
    }

    // 0xff, 0b101, 0o17
    bool based(Token token) {
        const char letter = static_cast<char>(peek(1) | 0x20);
        const int base = letter == 'x' ? 16 : letter == 'b' ? 2 : letter == 'o' ? 8 : 0;
        if (base == 0) return false;
        std::size_t size = 2;
        std::string digits;
        for (; is_letter(peek(size)) || is_digit(peek(size)); ++size)
            if (peek(size) != '_') digits += peek(size);
        const char* const end = digits.data() + digits.size();
        const auto [read, error] = std::from_chars(digits.data(), end, token.number, base);
        if (error != std::errc() || read != end) {
            fail(fmt::format("'{}' is not a number", text_.substr(at_, size)), "write 255 or 0xff");
            return true;
        }
        step(size);
        tokens_.push_back(std::move(token));
        return true;
    }

    // Of 1e-3; nothing where no exponent follows.
    std::optional<int> taken_exponent() {
        if (peek() != 'e' && peek() != 'E') return std::nullopt;
        const bool sign = peek(1) == '-' || peek(1) == '+';
        if (!is_digit(peek(sign ? 2 : 1))) return std::nullopt;
        const bool negative = peek(1) == '-';
        step(sign ? 2 : 1);
        int exponent = 0;
        for (; is_digit(peek()); step()) exponent = std::min(exponent * 10 + (peek() - '0'), 99);
        return negative ? -exponent : exponent;
    }

    static void move_point(std::string& digits, std::string& fraction, int places) {
        for (; places > 0; --places) {
            digits += fraction.empty() ? '0' : fraction.front();
            if (!fraction.empty()) fraction.erase(0, 1);
        }
        for (; places < 0; ++places) {
            fraction.insert(0, 1, digits.empty() ? '0' : digits.back());
            if (!digits.empty()) digits.pop_back();
        }
    }

    // A fraction's digits in 65536ths, rounded to the nearest.
    static std::int64_t sixteenths(std::string digits) {
        constexpr std::size_t most = 12;
        digits.resize(std::min(digits.size(), most));
        std::int64_t value = 0, scale = 1;
        for (const char digit : digits) {
            value = value * 10 + (digit - '0');
            scale *= 10;
        }
        return ((value << fraction_bits) + scale / 2) / scale;
    }

    // """…""", which Python takes for a text and people for a comment.
    void remark() {
        Token token{TokenKind::text, spot_};
        step(3);
        for (; at_ < text_.size() && text_.substr(at_, 3) != "\"\"\""; step()) token.text += peek();
        if (at_ >= text_.size()) return fail("a text is not closed", "close it with \"\"\"");
        step(3);
        tokens_.push_back(std::move(token));
    }

    void quoted(TokenKind kind) {
        Token token{kind, spot_};
        const char quote = peek();
        if (peek(1) == quote && peek(2) == quote)
            return fail("a text of several lines", "write it in one line, between \" and \"");
        step();
        for (; peek() != quote; step()) {
            if (at_ >= text_.size() || peek() == '\n')
                return fail("a text is not closed",
                            fmt::format("close it with {} in the same line; a program between ''' and ''' "
                                        "keeps its backslashes",
                                        quote));
            if (peek() != '\\') {
                token.text += peek();
                continue;
            }
            step();
            // Of an f-string, the parser reads escapes when it has found what stands between braces.
            if (kind == TokenKind::joined)
                token.text += fmt::format("\\{}", peek());
            else
                add_escaped(token.text, peek());
        }
        step();
        tokens_.push_back(std::move(token));
    }

    void sign() {
        static constexpr std::array<std::string_view, 44> signs = {
            "**=", "//=", "**", "//", "+=", "-=", "*=", "/=", "%=", "==", "!=", "<=", "|=", "&=", "<<",
            ">>",  "@=",  ":=", ">=", "->", "+",  "-",  "*",  "/",  "%",  "<",  ">",  "=",  "(",  ")",
            "[",   "]",   "{",  "}",  ",",  ":",  ".",  "|",  "&",  "@",  ";",  "~",  "^",  "!"};
        for (const std::string_view sign : signs) {
            if (text_.substr(at_, sign.size()) != sign) continue;
            open_ += sign == "(" || sign == "[" || sign == "{";
            open_ -= open_ > 0 && (sign == ")" || sign == "]" || sign == "}");
            add(TokenKind::sign, std::string(sign));
            return step(sign.size());
        }
        fail(fmt::format("'{}' has no meaning here", peek()),
             peek() == '\\' ? "leave it out; within { } of an f-string write the other kind of quotes"
                            : "leave it out");
    }

    std::string_view text_;
    Spot spot_;
    std::vector<Mistake>& mistakes_;
    std::vector<Token> tokens_;
    std::vector<int> indents_;
    std::size_t at_ = 0;
    int open_ = 0;
    bool at_start_ = true;
    bool failed_ = false;
};

}  // namespace

void add_escaped(std::string& text, char letter) {
    switch (letter) {
        case '\n':  // the line goes on
            return;
        case 'n':
            text += '\n';
            return;
        case 't':
            text += '\t';
            return;
        case 'r':
            text += '\r';
            return;
        case '\\':
        case '\'':
        case '"':
            text += letter;
            return;
        default:
            text += fmt::format("\\{}", letter);
    }
}

std::vector<Token> words_of(std::string_view text, Spot first, std::vector<Mistake>& mistakes) {
    return Lexer(text, first, mistakes).run();
}

}  // namespace deadrank::scenarios::program
