// scenarios/program/expression_atoms.cpp — Names, numbers and texts, and what stands between brackets.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "scenarios/program/expression_parser.h"

namespace deadrank::scenarios::program {

namespace {

constexpr std::array<std::string_view, 33> keywords = {
    "and",     "or",     "not",    "in",     "is",       "if",       "elif",  "else",   "for",
    "while",   "def",    "pass",   "return", "break",    "continue", "raise", "try",    "except",
    "finally", "as",     "assert", "global", "True",     "False",    "None",  "import", "from",
    "class",   "lambda", "with",   "yield",  "nonlocal", "del"};

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

// Also *values, which stands for so many.
Expr ExpressionParser::item() {
    if (!is("*")) return expression();
    std::vector<Expr> parts;
    const Spot spot = take().spot;
    parts.push_back(expression());
    if (is("for")) fail("a spread list cannot be walked over here", "leave the * out");
    return made(ExprKind::spread, spot, std::move(parts));
}

void ExpressionParser::arguments(Expr& call) {
    expect("(", "before arguments");
    while (!is(")")) {
        if (is("**")) fail("named arguments cannot be spread out of a dict", "write them one by one");
        if (now().kind == TokenKind::name && next().kind == TokenKind::sign && next().text == "=") {
            call.keywords.push_back(take().text);
            take();
        } else if (!call.keywords.empty()) {
            fail("positional argument follows keyword argument",
                 "name it, or write it before the named ones");
        }
        const Spot spot = now().spot;
        call.parts.push_back(item());
        if (is("for") && call.keywords.empty()) {  // sum(x for x in …): a list, made at once
            std::vector<Expr> given;
            given.push_back(std::move(call.parts.back()));
            call.parts.back() = comprehension(spot, std::move(given));
        }
        call.depth = std::max(call.depth, call.parts.back().depth + 1);
        if (!accept(",")) break;
    }
    if (call.depth > deepest_expression) fail("this is nested too deeply", "cut it into several statements");
    expect(")", "after the last argument");
}

// One index, or a slice with its ends and its step.
Expr ExpressionParser::piece() {
    const Spot spot = now().spot;
    Expr from;
    if (!is(":")) from = expression();
    if (!accept(":")) return from;
    std::vector<Expr> parts;
    parts.push_back(std::move(from));
    const auto ends = [&] { return is("]") || is(",") || is(":"); };
    parts.push_back(ends() ? Expr{} : expression());
    if (accept(":") && !ends()) parts.push_back(expression());
    return made(ExprKind::range, spot, std::move(parts));
}

Expr ExpressionParser::subscript(Expr object) {
    const Spot spot = now().spot;
    if (is("]")) fail("an index is missing", "write x[i]");
    std::vector<Expr> pieces;
    bool several = false;
    do {
        pieces.push_back(piece());
        several |= is(",");
    } while (accept(",") && !is("]"));
    expect("]", "after the index");
    std::vector<Expr> parts;
    parts.push_back(std::move(object));
    if (!several && pieces.front().kind == ExprKind::range) {
        for (Expr& end : pieces.front().parts) parts.push_back(std::move(end));
        return made(ExprKind::slice, spot, std::move(parts));
    }
    parts.push_back(several ? made(ExprKind::list, spot, std::move(pieces)) : std::move(pieces.front()));
    if (several) parts.back().number = tuple_number;
    return made(ExprKind::index, spot, std::move(parts));
}

// Behind `given`, a value or a key and a value, and before `for`.
Expr ExpressionParser::comprehension(const Spot& spot, std::vector<Expr> given) {
    const bool dict = given.size() == 2;
    while (accept("for")) {
        given.push_back(targets());
        expect("in", "and what it walks over");
        given.push_back(either());
        Expr& condition = given.emplace_back();
        while (accept("if")) {
            Expr more = either();
            if (condition.kind != ExprKind::absent) {
                std::vector<Expr> both_of;
                both_of.push_back(std::move(condition));
                both_of.push_back(std::move(more));
                more = made(ExprKind::both, spot, std::move(both_of));
            }
            condition = std::move(more);
        }
    }
    Expr expr = made(ExprKind::each, spot, std::move(given));
    expr.number = dict;
    return expr;
}

Expr ExpressionParser::list(std::string_view close) {
    const Spot spot = now().spot;
    std::vector<Expr> parts;
    bool ends_in_comma = false;
    while (!is(close)) {
        parts.push_back(item());
        if (parts.size() == 1 && is("for")) {
            Expr each = comprehension(spot, std::move(parts));
            expect(close, "after the list");
            return each;
        }
        ends_in_comma = is(",");
        if (!accept(",")) break;
    }
    expect(close, "after the last one");
    Expr made_list = made(ExprKind::list, spot, std::move(parts));
    made_list.number = ends_in_comma;  // (a,) is a tuple, (a) is not
    return made_list;
}

Expr ExpressionParser::dict() {
    const Spot spot = now().spot;
    std::vector<Expr> parts;
    while (!is("}")) {
        if (is("**")) fail("a dict cannot be spread into another one", "write a | b");
        parts.push_back(expression());
        if (is(",") || is("}")) fail("a set is not known here", "use a list: `in` and sorted() know it");
        expect(":", "between a key and its value");
        parts.push_back(expression());
        if (parts.size() == 2 && is("for")) {
            Expr each = comprehension(spot, std::move(parts));
            expect("}", "after the dict");
            return each;
        }
        if (!accept(",")) break;
    }
    expect("}", "after the last one");
    return made(ExprKind::dict, spot, std::move(parts));
}

namespace {

// Where a format, a conversion or an = begins, outside of brackets and texts; the length if none does.
std::size_t end_of_expression(std::string_view text) {
    int open = 0;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i], after = i + 1 < text.size() ? text[i + 1] : '\0';
        if (quote) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '(' || c == '[' || c == '{') {
            ++open;
        } else if (c == ')' || c == ']' || c == '}') {
            --open;
        } else if (open == 0 && (c == ':' || (c == '!' && after != '='))) {
            return i;
        }
    }
    return text.size();
}

bool is_format(std::string_view format) {
    static constexpr std::string_view letters = "dfeg%sxX";
    if (!format.empty() && letters.find(format.back()) != std::string_view::npos) format.remove_suffix(1);
    return format.find_first_not_of("0123456789.,<>^+ _-=*#") == std::string_view::npos;
}

}  // namespace

// What stands between the braces of an f-string: an expression with a place of its own, and what follows it.
Expr ExpressionParser::hole(std::string text, Spot spot) {
    const std::size_t end = end_of_expression(text);
    std::string format = text.substr(end);
    text.resize(end);
    std::vector<Expr> parts;
    while (format.empty() && text.ends_with(' ')) text.pop_back();
    const bool named = format.empty() && text.ends_with('=');
    if (named) {
        parts.push_back({.kind = ExprKind::text, .spot = spot, .text = text});
        text.pop_back();
        format = "!r";
    }
    std::vector<Mistake> mistakes;
    auto words = words_of(text, spot, mistakes);
    if (!mistakes.empty()) throw Stop{mistakes.front()};
    ExpressionParser inner(std::move(words), program_, within_);
    Expr value = inner.expression();
    if (inner.now().kind != TokenKind::newline)
        fail_at(inner.now().spot, fmt::format("here is {} within a text", shown(inner.now())),
                "write {value} or {value:.3f}");
    if (format.empty()) return value;
    std::vector<Expr> formatted;
    formatted.push_back(std::move(value));
    Expr made_one = made(ExprKind::formatted, spot, std::move(formatted));
    if (format.size() >= 2 && format[0] == '!') {
        made_one.number = format[1];
        format.erase(0, 2);
    }
    if (format.starts_with(':')) format.erase(0, 1);
    if (!is_format(format))
        fail_at(spot, fmt::format("'{}' is not a format", format),
                "known are widths, <, >, ^, +, 0, ',' and .3f, d, e, g, x, s, %");
    made_one.text = std::move(format);
    if (!named) return made_one;
    parts.push_back(std::move(made_one));
    return made(ExprKind::joined, spot, std::move(parts));
}

namespace {

// The one that belongs to the brace at `from`; npos if there is none.
std::size_t closing_brace(std::string_view text, std::size_t from) {
    int open = 0;
    for (std::size_t i = from; i < text.size(); ++i) {
        open += text[i] == '{';
        open -= text[i] == '}';
        if (open == 0) return i;
    }
    return std::string_view::npos;
}

}  // namespace

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
        if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] != '{' && text[i + 1] != '}') {
            add_escaped(plain, text[++i]);
            continue;
        }
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
        const std::size_t close = closing_brace(text, i);
        if (close == std::string::npos)
            fail_at(token.spot, "f-string: '{' was never closed", "close it with }");
        Spot spot = token.spot;
        spot.column += static_cast<int>(i) + 2;
        parts.push_back(hole(text.substr(i + 1, close - i - 1), spot));
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
        value = list(")");
        if (value.kind == ExprKind::list && value.parts.size() == 1 && value.number == 0)
            value = Expr(std::move(value.parts.front()));  // no tuple
        else if (value.kind == ExprKind::list)
            value.number = tuple_number;
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
            if (now().kind == TokenKind::joined) fail("a text beside an f-string", "join them with +");
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
    if (token.kind == TokenKind::name && !is_keyword(token.text)) return simple(ExprKind::name);
    if (is("[") || is("{") || is("(")) return bracketed();
    fail(fmt::format("here is {}, where a value is wanted", shown(now())),
         "write a name, a number or a text");
}

}  // namespace deadrank::scenarios::program
