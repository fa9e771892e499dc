// scenarios/program/expression_parser.cpp — From the weakest operator to the strongest, and what may follow a
// name: arguments, an index, an attribute.
#include "scenarios/program/expression_parser.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace deadrank::scenarios::program {

namespace {

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
    if (expr.depth > deepest_expression)
        fail_at(spot, "this is nested too deeply", "cut it into several statements");
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
    if (++depth_ > deepest_expression) fail("this is nested too deeply", "cut it into several statements");
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
        const auto found = std::find_if(chained.begin(), chained.end(),
                                        [&](const Level& one) { return one.level == level && is(one.sign); });
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
    while (accept("+")) continue;
    if (!accept("-")) return raised();
    if (++depth_ > deepest_expression) fail("this is nested too deeply", "leave some of the signs out");
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
    if (++depth_ > deepest_expression) fail("this is nested too deeply", "cut it into several statements");
    parts.push_back(signed_one());
    --depth_;
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

}  // namespace deadrank::scenarios::program
