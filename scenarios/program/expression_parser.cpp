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
constexpr std::array<Level, 12> chained = {{{"|", Operator::bit_or, 0},
                                            {"^", Operator::bit_xor, 1},
                                            {"&", Operator::bit_and, 2},
                                            {"<<", Operator::shift_left, 3},
                                            {">>", Operator::shift_right, 3},
                                            {"+", Operator::add, 4},
                                            {"-", Operator::subtract, 4},
                                            {"*", Operator::multiply, 5},
                                            {"/", Operator::divide, 5},
                                            {"//", Operator::floor_divide, 5},
                                            {"%", Operator::modulo, 5},
                                            {"@", Operator::matrix, 5}}};

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

void ExpressionParser::check_target(const Expr& target) const {
    if (target.kind == ExprKind::list) {
        for (const Expr& part : target.parts) check_target(part);
        return;
    }
    if (target.kind == ExprKind::name || target.kind == ExprKind::index || target.kind == ExprKind::slice ||
        target.kind == ExprKind::attribute)
        return;
    fail_at(target.spot, "nothing can be assigned to this", "write a name, x[i] or x.name");
}

Expr ExpressionParser::targets() {
    const Spot spot = now().spot;
    std::vector<Expr> all;
    do all.push_back(with_trailers());
    while (accept(",") && !is("in"));
    Expr target = all.size() == 1 ? std::move(all.front()) : made(ExprKind::list, spot, std::move(all));
    check_target(target);
    return target;
}

int ExpressionParser::begin_function() {
    if (!program_) fail("a function where only a value may stand", "leave it out");
    program_->functions.push_back({.name = {}, .spot = now().spot, .within = within_, .named = false});
    if (within_ >= 0) program_->functions[static_cast<std::size_t>(within_)].keeps = true;
    return within_ = static_cast<int>(program_->functions.size()) - 1;
}

// Types behind names are read and mean nothing.
void ExpressionParser::parameters(Function& function, std::string_view close) {
    while (!is(close)) {
        if (is("*") || is("**"))
            fail("a parameter that takes any number of arguments", "give each one a name, or take a list");
        function.locals.push_back(expect_name("the name of a parameter"));
        Expr& usual = function.defaults.emplace_back();
        if (close == ")" && accept(":")) expression();
        if (accept("=")) usual = expression();
        if (!accept(",")) break;
    }
    expect(close, "after its parameters");
}

Expr ExpressionParser::lambda() {
    const Spot spot = take().spot;
    const int outer = within_;
    const int place = begin_function();
    Function function{.name = "<lambda>", .spot = spot};
    parameters(function, ":");
    Stmt give{.kind = StmtKind::give, .spot = now().spot};
    give.parts.push_back(expression());
    function.body.push_back(std::move(give));
    Function& there = program_->functions[static_cast<std::size_t>(place)];
    function.keeps = there.keeps;
    function.within = outer;
    function.named = false;
    there = std::move(function);
    within_ = outer;
    return {.kind = ExprKind::function, .spot = spot, .slot = place};
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
    Expr tuple = made(ExprKind::list, spot, std::move(parts));
    tuple.number = tuple_number;
    return tuple;
}

Expr ExpressionParser::expression() {
    if (++depth_ > deepest_expression) fail("this is nested too deeply", "cut it into several statements");
    const Spot spot = now().spot;
    if (is("lambda")) {
        Expr made_here = lambda();
        --depth_;
        return made_here;
    }
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

// Operators that bind as strongly as `least`, or more, from the left; what follows one binds more strongly.
Expr ExpressionParser::chain(int least) {
    Expr left = signed_one();
    for (;;) {
        const auto found = std::find_if(chained.begin(), chained.end(), [&](const Level& one) {
            return one.level >= least && now().kind == TokenKind::sign && now().text == one.sign;
        });
        if (found == chained.end()) return left;
        const Spot spot = take().spot;
        std::vector<Expr> parts;
        parts.push_back(std::move(left));
        parts.push_back(chain(found->level + 1));
        left = made(ExprKind::binary, spot, std::move(parts));
        left.operators = {found->op};
    }
}

Expr ExpressionParser::signed_one() {
    const Spot spot = now().spot;
    while (accept("+")) continue;
    const bool flips = is("~");
    if (!flips && !is("-")) return raised();
    take();
    if (++depth_ > deepest_expression) fail("this is nested too deeply", "leave some of the signs out");
    std::vector<Expr> parts;
    parts.push_back(signed_one());
    --depth_;
    return made(flips ? ExprKind::flip : ExprKind::negate, spot, std::move(parts));
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
            if (value.kind == ExprKind::name || value.kind == ExprKind::attribute) {
                value.kind = value.kind == ExprKind::name ? ExprKind::call : ExprKind::method;
            } else {
                std::vector<Expr> parts;
                parts.push_back(std::move(value));
                value = made(ExprKind::invoke, spot, std::move(parts));
            }
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
