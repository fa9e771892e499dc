// results/alerts/promql_tree.cpp — PromQL by recursive descent: one function per level of precedence, as the
// reference lists them.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "results/alerts/promql.h"
#include "results/exporters/toml_file.h"
#include "results/record/words.h"

namespace deadrank::results::alerts {

namespace {

using Tree = std::unique_ptr<Expression>;

class Parser {
public:
    explicit Parser(std::string_view expr) : tokens_(tokens_of(expr)) {}

    // Deeper and longer than any rule written by hand. A chain of operators is as deep as it is long.
    static constexpr std::size_t tokens_most = 4'000;
    static constexpr int depth_most = 200;

    Tree whole() {
        if (tokens_.size() > tokens_most) return nullptr;
        Tree tree = either();
        return failed_ || at_ < tokens_.size() ? nullptr : std::move(tree);
    }

private:
    std::string word(std::size_t ahead = 0) const {
        return at_ + ahead < tokens_.size() ? lowered(tokens_[at_ + ahead].text) : std::string();
    }
    bool is_sign(std::string_view text) const {
        return at_ < tokens_.size() && tokens_[at_].kind == Token::Kind::sign && tokens_[at_].text == text;
    }
    bool take(std::string_view text) {
        if (at_ >= tokens_.size() || tokens_[at_].kind == Token::Kind::text || word() != text) return false;
        return ++at_, true;
    }
    Tree fail() { return failed_ = true, nullptr; }

    Tree either() {
        Tree left = both();
        while (!failed_ && take("or")) left = joined("or", std::move(left), &Parser::both);
        return left;
    }
    Tree both() {
        Tree left = compared();
        while (!failed_ && one_of(word(), {"and", "unless"})) {
            const std::string op = word();
            ++at_;
            left = joined(op, std::move(left), &Parser::compared);
        }
        return left;
    }
    Tree compared() {
        Tree left = added();
        while (!failed_ && at_ < tokens_.size() && tokens_[at_].kind == Token::Kind::sign &&
               one_of(word(), {"==", "!=", ">", "<", ">=", "<="})) {
            const std::string op = word();
            ++at_;
            left = joined(op, std::move(left), &Parser::added);
        }
        return left;
    }
    Tree added() {
        Tree left = multiplied();
        while (!failed_ && (is_sign("+") || is_sign("-"))) {
            const std::string op = word();
            ++at_;
            left = joined(op, std::move(left), &Parser::multiplied);
        }
        return left;
    }
    Tree multiplied() {
        Tree left = signed_one();
        while (!failed_ && (is_sign("*") || is_sign("/") || is_sign("%") || word() == "atan2")) {
            const std::string op = word();
            ++at_;
            left = joined(op, std::move(left), &Parser::signed_one);
        }
        return left;
    }
    // Each level of parentheses, calls and signs passes here.
    Tree signed_one() {
        if (++depth_ > depth_most) return fail();
        Tree tree = signed_or_not();
        --depth_;
        return tree;
    }

    Tree signed_or_not() {
        if (is_sign("-") || is_sign("+")) {
            const bool negative = is_sign("-");
            ++at_;
            Tree inner = signed_one();
            if (!inner || !negative) return inner;
            auto tree = std::make_unique<Expression>(Expression{.kind = Expression::Kind::negative});
            if (inner->kind == Expression::Kind::number) {
                inner->number = -inner->number;
                return inner;
            }
            tree->args.push_back(std::move(inner));
            return tree;
        }
        Tree base = followed();
        if (!failed_ && is_sign("^")) {
            ++at_;
            return joined("^", std::move(base), &Parser::signed_one);
        }
        return base;
    }

    Tree joined(const std::string& op, Tree left, Tree (Parser::*right)()) {
        auto tree = std::make_unique<Expression>(Expression{.kind = Expression::Kind::binary, .op = op});
        if (take("bool")) tree->boolean = true;
        if (one_of(word(), {"on", "ignoring"}) && word(1) == "(") {
            tree->matched = true;
            tree->without = word() == "ignoring";
            ++at_;
            tree->labels = names();
            if (one_of(word(), {"group_left", "group_right"})) {
                tree->group = word();
                ++at_;
                if (is_sign("(")) tree->carried = names();
            }
        }
        Tree other = failed_ ? nullptr : (this->*right)();
        if (!left || !other) return fail();
        tree->args.push_back(std::move(left));
        tree->args.push_back(std::move(other));
        return tree;
    }

    // ( a, b )
    std::vector<std::string> names() {
        std::vector<std::string> all;
        if (!take("(")) return failed_ = true, all;
        for (; at_ < tokens_.size() && !is_sign(")"); ++at_) {
            if (tokens_[at_].kind == Token::Kind::word) all.push_back(tokens_[at_].text);
        }
        if (!take(")")) failed_ = true;
        return all;
    }

    // A primary with its range, subquery, offset and @.
    Tree followed() {
        Tree tree = primary();
        while (!failed_ && tree && at_ < tokens_.size()) {
            if (is_sign("[")) {
                tree = ranged(std::move(tree));
            } else if (word() == "offset") {
                ++at_;
                if (is_sign("-")) ++at_;
                ++at_;
            } else if (is_sign("@")) {
                ++at_;
                if (!primary()) return fail();
            } else {
                break;
            }
        }
        return tree;
    }

    Tree ranged(Tree inner) {
        ++at_;
        const double range = std::max(0.0, exporters::seconds_of(word()));
        bool subquery = inner->kind != Expression::Kind::selector || inner->selector.range > 0;
        for (; at_ < tokens_.size() && !is_sign("]"); ++at_) {
            subquery = subquery || tokens_[at_].text.starts_with(':');
        }
        if (!take("]")) return fail();
        if (!subquery) {
            inner->selector.range = range;
            return inner;
        }
        auto tree =
            std::make_unique<Expression>(Expression{.kind = Expression::Kind::subquery, .number = range});
        tree->args.push_back(std::move(inner));
        return tree;
    }

    Tree primary() {
        if (at_ >= tokens_.size()) return fail();
        const Token& token = tokens_[at_];
        if (token.kind == Token::Kind::number) {
            ++at_;
            return std::make_unique<Expression>(
                Expression{.number = std::strtod(token.text.c_str(), nullptr)});
        }
        if (token.kind == Token::Kind::text) {
            ++at_;
            return std::make_unique<Expression>(
                Expression{.kind = Expression::Kind::text, .op = unquoted(token.text)});
        }
        if (is_sign("(")) {
            ++at_;
            Tree inner = either();
            return take(")") ? std::move(inner) : fail();
        }
        if (is_sign("{")) return selector("");
        if (token.kind != Token::Kind::word) return fail();
        const std::string name = word();
        if (one_of(name, {"inf", "nan"})) {
            ++at_;
            return std::make_unique<Expression>(Expression{.number = std::strtod(name.c_str(), nullptr)});
        }
        if (is_function(name) && one_of(word(1), {"(", "by", "without"})) return aggregate(name);
        if (word(1) == "(") return call(name);
        ++at_;
        return selector(token.text);
    }

    Tree aggregate(const std::string& name) {
        auto tree = std::make_unique<Expression>(Expression{.kind = Expression::Kind::aggregate, .op = name});
        ++at_;
        group(*tree);
        arguments(*tree);
        group(*tree);
        return failed_ ? nullptr : std::move(tree);
    }
    void group(Expression& tree) {
        if (!one_of(word(), {"by", "without"}) || word(1) != "(") return;
        tree.without = word() == "without";
        tree.matched = true;
        ++at_;
        tree.labels = names();
    }
    Tree call(const std::string& name) {
        auto tree = std::make_unique<Expression>(Expression{.kind = Expression::Kind::call, .op = name});
        ++at_;
        arguments(*tree);
        return failed_ ? nullptr : std::move(tree);
    }
    void arguments(Expression& tree) {
        if (!take("(")) return failed_ = true, void();
        while (!failed_ && !is_sign(")")) {
            if (Tree one = either()) tree.args.push_back(std::move(one));
            if (!take(",") && !is_sign(")")) failed_ = true;
        }
        ++at_;
    }

    Tree selector(const std::string& name) {
        auto tree = std::make_unique<Expression>(Expression{.kind = Expression::Kind::selector});
        tree->selector.metric = name;
        if (!is_sign("{")) return tree;
        for (++at_; at_ < tokens_.size() && !is_sign("}"); ++at_) {
            if (tokens_[at_].kind != Token::Kind::word || at_ + 2 >= tokens_.size()) continue;
            Matcher matcher{tokens_[at_].text, tokens_[at_ + 1].text, unquoted(tokens_[at_ + 2].text)};
            if (matcher.label == "__name__" && matcher.op == "=" && name.empty())
                tree->selector.metric = matcher.value;
            else
                tree->selector.matchers.push_back(std::move(matcher));
            at_ += 2;
        }
        return take("}") ? std::move(tree) : fail();
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int depth_ = 0;
    bool failed_ = false;
};

}  // namespace

std::unique_ptr<Expression> parse_expression(std::string_view expr) { return Parser(expr).whole(); }

}  // namespace deadrank::results::alerts
