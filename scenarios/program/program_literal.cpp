// scenarios/program/program_literal.cpp — A value that stands in a text by itself, as a setting of `let` or
// an argument of float() may.
#include <algorithm>
#include <array>

#include "scenarios/program/expression_parser.h"
#include "scenarios/program/program_parser.h"

namespace deadrank::scenarios::program {

namespace {

bool is_literal(const Expr& expr) {
    switch (expr.kind) {
        case ExprKind::none:
        case ExprKind::boolean:
        case ExprKind::whole:
        case ExprKind::decimal:
        case ExprKind::text:
            return true;
        case ExprKind::negate:
        case ExprKind::list:
        case ExprKind::dict:
            return std::all_of(expr.parts.begin(), expr.parts.end(), is_literal);
        default:
            return false;
    }
}

}  // namespace

// Methods that the interpreter itself calls.
bool is_special_method(std::string_view name) {
    static constexpr std::array<std::string_view, 30> known = {
        "__init__",    "__call__",     "__enter__",    "__exit__",     "__getitem__", "__setitem__",
        "__len__",     "__str__",      "__repr__",     "__eq__",       "__bool__",    "__lt__",
        "__le__",      "__gt__",       "__ge__",       "__add__",      "__sub__",     "__mul__",
        "__truediv__", "__floordiv__", "__mod__",      "__pow__",      "__radd__",    "__rsub__",
        "__rmul__",    "__matmul__",   "__rtruediv__", "__contains__", "__iter__",    "__next__"};
    return std::find(known.begin(), known.end(), name) != known.end();
}

// What is the same whenever it is looked at.
bool never_changes(const Expr& expr) {
    if (expr.kind == ExprKind::negate) return never_changes(expr.parts[0]);
    return expr.kind == ExprKind::absent || expr.kind == ExprKind::none || expr.kind == ExprKind::boolean ||
           expr.kind == ExprKind::whole || expr.kind == ExprKind::decimal || expr.kind == ExprKind::text;
}

std::optional<Expr> parse_literal(std::string_view text) {
    std::vector<Mistake> mistakes;
    auto tokens = words_of(text, {}, mistakes);
    if (!mistakes.empty()) return std::nullopt;
    if (tokens.size() < 2) return std::nullopt;
    tokens.erase(tokens.end() - 2);  // the end of its line
    try {
        ExpressionParser parser(std::move(tokens));
        Expr expr = parser.expression();
        if (parser.at_end() && is_literal(expr)) return expr;
    } catch (const Stop&) {
        return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace deadrank::scenarios::program
