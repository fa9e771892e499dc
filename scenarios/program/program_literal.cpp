// scenarios/program/program_literal.cpp — A value that stands in a text by itself, as a setting of `let` or
// an argument of float() may.
#include <algorithm>

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
