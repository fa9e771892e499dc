// scenarios/program/expression_atoms.cpp — Names, numbers and texts, and what stands between brackets.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "scenarios/program/expression_parser.h"

namespace deadrank::scenarios::program {

namespace {

constexpr std::array<std::string_view, 31> keywords = {
    "and",  "or",     "not",   "in",       "is",    "if",    "elif",   "else",    "for",  "while",  "def",
    "pass", "return", "break", "continue", "raise", "try",   "except", "finally", "as",   "assert", "global",
    "True", "False",  "None",  "import",   "from",  "class", "lambda", "with",    "yield"};

}  // namespace

bool is_keyword(std::string_view word) {
    return std::find(keywords.begin(), keywords.end(), word) != keywords.end();
}

std::string shown(const Token& token) {
    switch (token.kind) {
        case TokenKind::newline:
            return "the end of the line";
        case TokenKind::end:
            return "the end of the program";
        case TokenKind::indent:
            return "a deeper line";
        case TokenKind::dedent:
            return "the end of a block";
        case TokenKind::whole:
        case TokenKind::decimal:
            return "a number";
        case TokenKind::text:
        case TokenKind::joined:
            return "a text";
        default:
            return fmt::format("'{}'", token.text);
    }
}

void ExpressionParser::arguments(Expr& call) {
    expect("(", "before arguments");
    while (!is(")")) {
        if (is("*") || is("**")) fail("arguments cannot be spread out of a list", "write them one by one");
        if (now().kind == TokenKind::name && next().kind == TokenKind::sign && next().text == "=") {
            call.keywords.push_back(take().text);
            take();
        } else if (!call.keywords.empty()) {
            fail("positional argument follows keyword argument",
                 "name it, or write it before the named ones");
        }
        call.parts.push_back(expression());
        call.depth = std::max(call.depth, call.parts.back().depth + 1);
        if (!accept(",")) break;
    }
    if (call.depth > deepest_expression) fail("this is nested too deeply", "cut it into several statements");
    expect(")", "after the last argument");
}

Expr ExpressionParser::subscript(Expr object) {
    const Spot spot = now().spot;
    std::vector<Expr> parts;
    parts.push_back(std::move(object));
    if (!is(":")) parts.push_back(expressions());
    if (accept("]")) return made(ExprKind::index, spot, std::move(parts));
    if (parts.size() == 1) parts.emplace_back();
    expect(":", "or ] here");
    parts.push_back(is("]") ? Expr{} : expression());
    if (is(":")) fail("a slice with a step", "walk over range(first, end, step) instead");
    expect("]", "after the slice");
    return made(ExprKind::slice, spot, std::move(parts));
}

Expr ExpressionParser::list(std::string_view close) {
    const Spot spot = now().spot;
    std::vector<Expr> parts;
    while (!is(close)) {
        parts.push_back(expression());
        if (parts.size() == 1 && close == "]" && accept("for")) {
            parts.push_back(with_trailers());
            if (is(",")) {
                std::vector<Expr> targets;
                targets.push_back(std::move(parts.back()));
                while (accept(",")) targets.push_back(with_trailers());
                parts.back() = made(ExprKind::list, spot, std::move(targets));
            }
            expect("in", "and what it walks over");
            parts.push_back(either());
            if (accept("if")) parts.push_back(either());
            expect("]", "after the list");
            return made(ExprKind::each, spot, std::move(parts));
        }
        if (!accept(",")) break;
    }
    expect(close, "after the last one");
    return made(ExprKind::list, spot, std::move(parts));
}

Expr ExpressionParser::dict() {
    const Spot spot = now().spot;
    std::vector<Expr> parts;
    while (!is("}")) {
        parts.push_back(expression());
        expect(":", "between a key and its value");
        parts.push_back(expression());
        if (!accept(",")) break;
    }
    expect("}", "after the last one");
    return made(ExprKind::dict, spot, std::move(parts));
}

// "{{" is a brace; what stands between braces is an expression with places of its own.
Expr ExpressionParser::joined(const Token& token) {
    std::vector<Expr> parts;
    std::string plain;
    const auto end_plain = [&] {
        if (plain.empty()) return;
        parts.push_back(Expr{.kind = ExprKind::text, .spot = token.spot, .text = plain});
        plain.clear();
    };
    const std::string& text = token.text;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool twice = i + 1 < text.size() && text[i + 1] == text[i];
        if ((text[i] == '{' || text[i] == '}') && twice) {
            plain += text[i++];
            continue;
        }
        if (text[i] == '}')
            fail_at(token.spot, "f-string: single '}' is not allowed", "write }} for a brace");
        if (text[i] != '{') {
            plain += text[i];
            continue;
        }
        end_plain();
        const std::size_t close = text.find('}', i);
        if (close == std::string::npos)
            fail_at(token.spot, "f-string: '{' was never closed", "close it with }");
        Spot spot = token.spot;
        spot.column += static_cast<int>(i) + 2;
        std::vector<Mistake> mistakes;
        auto words = words_of(text.substr(i + 1, close - i - 1), spot, mistakes);
        if (!mistakes.empty()) throw Stop{mistakes.front()};
        ExpressionParser inner(std::move(words));
        parts.push_back(inner.expression());
        if (inner.now().kind != TokenKind::newline)
            fail_at(inner.now().spot, "a format in a text",
                    "write {name} alone; str() and // shorten numbers");
        i = close;
    }
    end_plain();
    return made(ExprKind::joined, token.spot, std::move(parts));
}

Expr ExpressionParser::bracketed() {
    if (++depth_ > deepest_expression) fail("this is nested too deeply", "cut it into several statements");
    Expr value;
    if (accept("[")) {
        value = list("]");
    } else if (accept("{")) {
        value = dict();
    } else {
        take();
        if (is(")")) fail("an empty tuple", "write []");
        value = list(")");
        if (value.parts.size() == 1) value = Expr(std::move(value.parts.front()));  // no tuple
    }
    --depth_;
    return value;
}

Expr ExpressionParser::atom() {
    const Token token = now();
    const auto simple = [&](ExprKind kind) {
        take();
        return Expr{.kind = kind, .spot = token.spot, .text = token.text, .number = token.number};
    };
    switch (token.kind) {
        case TokenKind::whole:
            return simple(ExprKind::whole);
        case TokenKind::decimal:
            return simple(ExprKind::decimal);
        case TokenKind::joined:
            take();
            return joined(token);
        case TokenKind::text: {
            Expr text = simple(ExprKind::text);
            while (now().kind == TokenKind::text) text.text += take().text;
            return text;
        }
        default:
            break;
    }
    if (is("True") || is("False")) {
        Expr flag = simple(ExprKind::boolean);
        flag.number = flag.text == "True";
        return flag;
    }
    if (is("None")) return simple(ExprKind::none);
    if (is("lambda")) fail("a lambda", "write a def");
    if (token.kind == TokenKind::name && !is_keyword(token.text)) return simple(ExprKind::name);
    if (is("[") || is("{") || is("(")) return bracketed();
    fail(fmt::format("here is {}, where a value is wanted", shown(now())),
         "write a name, a number or a text");
}

}  // namespace deadrank::scenarios::program
