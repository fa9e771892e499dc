// scenarios/program/expression_parser.h — Expressions by recursive descent, each as deep as a rank's small
// stack bears.
#pragma once

#include <optional>

#include "scenarios/program/program_lexer.h"

namespace deadrank::scenarios::program {

// Stops a parse; caught where it began.
struct Stop {
    Mistake mistake;
};

inline constexpr int deepest_expression = 40;

bool is_keyword(std::string_view word);
std::string shown(const Token& token);  // for messages: "the end of the line"

class ExpressionParser {
public:
    // Lambdas go to `program`, if there is one; `within` is the def around them, or -1.
    explicit ExpressionParser(std::vector<Token> tokens, Program* program = nullptr, int within = -1)
        : program_(program), within_(within), tokens_(std::move(tokens)) {}

    Expr expression();   // one, with its `if` and `else`
    Expr expressions();  // several between commas are a list
    bool at_end() const { return now().kind == TokenKind::end; }

protected:
    const Token& now() const { return tokens_[at_]; }
    const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    Token take();
    bool is(std::string_view word) const;  // a sign or a keyword
    bool accept(std::string_view word);
    void expect(std::string_view word, std::string_view after);
    std::string expect_name(std::string_view what);
    Expr targets();        // names, or what else may be assigned, between commas
    int begin_function();  // its place in the program; what is parsed next belongs to it
    void parameters(Function& function, std::string_view close);
    [[noreturn]] void fail(std::string what, std::string remedy) const;
    [[noreturn]] void fail_at(const Spot& spot, std::string what, std::string remedy) const;
    void check_target(const Expr& target) const;
    Expr made(ExprKind kind, const Spot& spot, std::vector<Expr> parts) const;

    Program* program_;
    int within_;  // the def under way, or -1

private:
    Expr either();
    Expr both();
    Expr inverted();
    Expr comparison();
    Expr chain(int least);
    Expr signed_one();
    Expr raised();
    Expr with_trailers();
    Expr atom();
    Expr item();
    Expr bracketed();
    Expr list(std::string_view close);
    Expr dict();
    Expr comprehension(const Spot& spot, std::vector<Expr> given);
    Expr lambda();
    Expr joined(const Token& token);
    Expr hole(std::string text, Spot spot);
    Expr subscript(Expr object);
    Expr piece();
    void arguments(Expr& call);
    std::optional<Operator> comparing();

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

bool is_special_method(std::string_view name);  // that the interpreter itself calls: __init__, __eq__
bool never_changes(const Expr& expr);           // a number or a text that stands there

}  // namespace deadrank::scenarios::program
