// scenarios/program/expression_parser.cpp — From the weakest operator to the strongest, and what may follow a
// name: arguments, an index, an attribute.
#include "scenarios/program/expression_parser.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace deadrank::scenarios::program {

namespace {

constexpr int deepest = 40;  // of one expression

constexpr std::array<std::string_view, 31> keywords = {
    "and",  "or",     "not",    "in",     "is",     "if",     "elif",   "else",  "for",  "while", "def",
    "pass", "return", "break",  "continue", "raise", "try",   "except", "finally", "as", "assert", "global",
    "True", "False",  "None",   "import", "from",   "class",  "lambda", "with",  "yield"};

bool is_keyword(std::string_view word) {
    return std::find(keywords.begin(), keywords.end(), word) != keywords.end();
}

struct Level {
    std::string_view sign;
    Operator op;
    int level;
};
constexpr std::array<Level, 6> chained = {{{"+", Operator::add, 0},
                                           {"-", Operator::subtract, 0},
                                           {"*", Operator::multiply, 1},
                                           {"/", Operator::divide, 1},
                                           {"//", Operator::floor_divide, 1},
                                           {"%", Operator::modulo, 1}}};
constexpr int strongest = 2;

}  // namespace

void ExpressionParser::fail_at(const Spot& spot, std::string what, std::string remedy) const {
    throw Stop{{spot, std::move(what), std::move(remedy)}};
}

void ExpressionParser::fail(std::string what, std::string remedy) const {
    fail_at(now().spot, std::move(what), std::move(remedy));
}

Token ExpressionParser::take() {
    Token token = now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
}

bool ExpressionParser::is(std::string_view word) const {
    return (now().kind == TokenKind::sign || now().kind == TokenKind::name) && now().text == word;
}

bool ExpressionParser::accept(std::string_view word) {
    if (!is(word)) return false;
    take();
    return true;
}

namespace {

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

}  // namespace

void ExpressionParser::expect(std::string_view word, std::string_view after) {
    if (accept(word)) return;
    fail(fmt::format("here is {}, not '{}'", shown(now()), word), fmt::format("write {} {}", word, after));
}

std::string ExpressionParser::expect_name(std::string_view what) {
    if (now().kind == TokenKind::name && !is_keyword(now().text)) return take().text;
    fail(fmt::format("here is {}, not {}", shown(now()), what), "write a name");
}

Expr ExpressionParser::made(ExprKind kind, const Spot& spot, std::vector<Expr> parts) const {
    Expr expr{.kind = kind, .spot = spot};
    for (const Expr& part : parts) expr.depth = std::max(expr.depth, part.depth + 1);
    if (expr.depth > deepest) fail_at(spot, "this is nested too deeply", "cut it into several statements");
    expr.parts = std::move(parts);
    return expr;
}

Expr ExpressionParser::expressions() {
    const Spot spot = now().spot;
    Expr first = expression();
    if (!is(",")) return first;
    std::vector<Expr> parts;
    parts.push_back(std::move(first));
    while (accept(",")) {
        if (now().kind == TokenKind::newline || is("=")) break;
        parts.push_back(expression());
    }
    return made(ExprKind::list, spot, std::move(parts));
}

Expr ExpressionParser::expression() {
    if (++depth_ > deepest) fail("this is nested too deeply", "cut it into several statements");
    const Spot spot = now().spot;
    Expr value = either();
    if (accept("if")) {
        Expr condition = either();
        expect("else", "and the value otherwise");
        Expr otherwise = expression();
        std::vector<Expr> parts;
        parts.push_back(std::move(value));
        parts.push_back(std::move(condition));
        parts.push_back(std::move(otherwise));
        value = made(ExprKind::choice, spot, std::move(parts));
    }
    --depth_;
    return value;
}

Expr ExpressionParser::either() {
    const Spot spot = now().spot;
    std::vector<Expr> parts;
    parts.push_back(both());
    while (accept("or")) parts.push_back(both());
    return parts.size() == 1 ? std::move(parts.front()) : made(ExprKind::either, spot, std::move(parts));
}

Expr ExpressionParser::both() {
    const Spot spot = now().spot;
    std::vector<Expr> parts;
    parts.push_back(inverted());
    while (accept("and")) parts.push_back(inverted());
    return parts.size() == 1 ? std::move(parts.front()) : made(ExprKind::both, spot, std::move(parts));
}

Expr ExpressionParser::inverted() {
    int times = 0;
    const Spot spot = now().spot;
    while (accept("not")) ++times;
    Expr value = comparison();
    for (; times > 0; --times) {
        std::vector<Expr> parts;
        parts.push_back(std::move(value));
        value = made(ExprKind::invert, spot, std::move(parts));
    }
    return value;
}

std::optional<Operator> ExpressionParser::comparing() {
    static constexpr std::array<std::pair<std::string_view, Operator>, 6> signs = {
        {{"==", Operator::equal},
         {"!=", Operator::unequal},
         {"<", Operator::less},
         {"<=", Operator::less_equal},
         {">", Operator::greater},
         {">=", Operator::greater_equal}}};
    for (const auto& [sign, op] : signs) {
        if (accept(sign)) return op;
    }
    if (accept("in")) return Operator::in;
    if (accept("is")) return accept("not") ? Operator::is_not : Operator::is;
    if (is("not") && next().text == "in") return take(), take(), Operator::not_in;
    return std::nullopt;
}

Expr ExpressionParser::comparison() {
    const Spot spot = now().spot;
    std::vector<Expr> parts;
    parts.push_back(chain(0));
    std::vector<Operator> operators;
    while (const auto op = comparing()) {
        operators.push_back(*op);
        parts.push_back(chain(0));
    }
    if (operators.empty()) return std::move(parts.front());
    Expr expr = made(ExprKind::compare, spot, std::move(parts));
    expr.operators = std::move(operators);
    return expr;
}

Expr ExpressionParser::chain(int level) {
    if (level == strongest) return signed_one();
    Expr left = chain(level + 1);
    for (;;) {
        const auto found = std::find_if(chained.begin(), chained.end(), [&](const Level& one) {
            return one.level == level && is(one.sign);
        });
        if (found == chained.end()) return left;
        const Spot spot = take().spot;
        std::vector<Expr> parts;
        parts.push_back(std::move(left));
        parts.push_back(chain(level + 1));
        left = made(ExprKind::binary, spot, std::move(parts));
        left.operators = {found->op};
    }
}

Expr ExpressionParser::signed_one() {
    const Spot spot = now().spot;
    if (accept("+")) return signed_one();
    if (!accept("-")) return raised();
    if (++depth_ > deepest) fail("this is nested too deeply", "leave some of the signs out");
    std::vector<Expr> parts;
    parts.push_back(signed_one());
    --depth_;
    return made(ExprKind::negate, spot, std::move(parts));
}

Expr ExpressionParser::raised() {
    Expr base = with_trailers();
    if (!is("**")) return base;
    const Spot spot = take().spot;
    std::vector<Expr> parts;
    parts.push_back(std::move(base));
    parts.push_back(signed_one());
    Expr expr = made(ExprKind::binary, spot, std::move(parts));
    expr.operators = {Operator::power};
    return expr;
}

Expr ExpressionParser::with_trailers() {
    Expr value = atom();
    for (;;) {
        const Spot spot = now().spot;
        if (is("(")) {
            if (value.kind != ExprKind::name && value.kind != ExprKind::attribute)
                fail("this cannot be called", "call a function by its name");
            value.kind = value.kind == ExprKind::name ? ExprKind::call : ExprKind::method;
            arguments(value);
        } else if (accept(".")) {
            std::vector<Expr> parts;
            parts.push_back(std::move(value));
            Expr attribute = made(ExprKind::attribute, now().spot, std::move(parts));
            attribute.text = expect_name("the name of an attribute");
            value = std::move(attribute);
        } else if (accept("[")) {
            value = subscript(std::move(value));
            value.spot = spot;
        } else {
            return value;
        }
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
            fail("positional argument follows keyword argument", "name it, or write it before the named ones");
        }
        call.parts.push_back(expression());
        call.depth = std::max(call.depth, call.parts.back().depth + 1);
        if (!accept(",")) break;
    }
    if (call.depth > deepest) fail("this is nested too deeply", "cut it into several statements");
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
        if (text[i] == '}') fail_at(token.spot, "f-string: single '}' is not allowed", "write }} for a brace");
        if (text[i] != '{') {
            plain += text[i];
            continue;
        }
        end_plain();
        const std::size_t close = text.find('}', i);
        if (close == std::string::npos) fail_at(token.spot, "f-string: '{' was never closed", "close it with }");
        Spot spot = token.spot;
        spot.column += static_cast<int>(i) + 2;
        std::vector<Mistake> mistakes;
        auto words = words_of(text.substr(i + 1, close - i - 1), spot, mistakes);
        if (!mistakes.empty()) throw Stop{mistakes.front()};
        ExpressionParser inner(std::move(words));
        parts.push_back(inner.expression());
        if (inner.now().kind != TokenKind::newline)
            fail_at(inner.now().spot, "a format in a text", "write {name} alone; str() and // shorten numbers");
        i = close;
    }
    end_plain();
    return made(ExprKind::joined, token.spot, std::move(parts));
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
    if (accept("[")) return list("]");
    if (accept("{")) return dict();
    if (accept("(")) {
        if (is(")")) fail("an empty tuple", "write []");
        Expr value = list(")");
        const bool tuple = value.parts.size() != 1;
        return tuple ? std::move(value) : Expr(std::move(value.parts.front()));
    }
    fail(fmt::format("here is {}, where a value is wanted", shown(now())), "write a name, a number or a text");
}

}  // namespace deadrank::scenarios::program
