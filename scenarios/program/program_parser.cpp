// scenarios/program/program_parser.cpp — Statements, and blocks of them.
#include "scenarios/program/program_parser.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "scenarios/program/expression_parser.h"

namespace deadrank::scenarios::program {

namespace {

using Block = std::vector<Stmt>;

struct Missing {
    std::string_view word, what, remedy;
};
constexpr std::array<Missing, 8> missing = {{
    {"import", "an import", "leave it out: all that a rank may call is there already"},
    {"from", "an import", "leave it out: all that a rank may call is there already"},
    {"class", "a class", "keep what belongs together in a dict"},
    {"with", "a with block", "write its statements alone"},
    {"yield", "a generator", "return a list"},
    {"del", "del", "give the name another value"},
    {"nonlocal", "nonlocal", "return the value"},
    {"match", "match", "write if and elif"},
}};

constexpr std::array<std::pair<std::string_view, Operator>, 7> augments = {{{"+=", Operator::add},
                                                                            {"-=", Operator::subtract},
                                                                            {"*=", Operator::multiply},
                                                                            {"/=", Operator::divide},
                                                                            {"//=", Operator::floor_divide},
                                                                            {"%=", Operator::modulo},
                                                                            {"**=", Operator::power}}};

class Parser : public ExpressionParser {
public:
    Parser(std::vector<Token> tokens, Program& program)
        : ExpressionParser(std::move(tokens)), program_(program) {}

    Block all() {
        Block block;
        while (!at_end()) statement(block);
        return block;
    }

private:
    Stmt begun(StmtKind kind) { return {.kind = kind, .spot = now().spot}; }

    void end_of_line() {
        if (accept(";")) fail("a second statement in one line", "begin a new line");
        if (now().kind == TokenKind::newline) {
            take();
            return;
        }
        if (at_end()) return;
        if (is("|") || is("&") || is("@") || is("~"))
            fail(fmt::format("'{}' is not an operator here", now().text),
                 "use and, or, not, + - * / // % **");
        fail(fmt::format("'{}' is not expected here", now().text), "end the statement before it");
    }

    Block block(std::string_view after) {
        expect(":", fmt::format("after {}", after));
        Block inner;
        if (now().kind != TokenKind::newline) {
            simple(inner);
            return inner;
        }
        take();
        if (now().kind != TokenKind::indent)
            fail(fmt::format("expected an indented block after {}", after),
                 "indent its lines, or write pass");
        take();
        while (now().kind != TokenKind::dedent && !at_end()) statement(inner);
        if (!at_end()) take();
        return inner;
    }

    void statement(Block& into) {
        if (now().kind == TokenKind::indent)
            fail("unexpected indent", "let it begin where the line above does");
        if (is("if")) return into.push_back(branch());
        if (is("for")) return into.push_back(each());
        if (is("while")) return into.push_back(loop());
        if (is("try")) return into.push_back(guard());
        if (is("def")) return define();
        simple(into);
    }

    Stmt branch() {
        Stmt stmt = begun(StmtKind::branch);
        do {
            take();
            stmt.parts.push_back(expression());
            stmt.blocks.push_back(block("its condition"));
        } while (is("elif"));
        if (accept("else")) stmt.blocks.push_back(block("else"));
        return stmt;
    }

    Stmt each() {
        Stmt stmt = begun(StmtKind::each);
        take();
        stmt.parts.push_back(targets());
        expect("in", "and what it walks over");
        stmt.parts.push_back(expressions());
        ++loops_;
        stmt.blocks.push_back(block("for"));
        --loops_;
        refuse_else();
        return stmt;
    }

    Stmt loop() {
        Stmt stmt = begun(StmtKind::loop);
        take();
        stmt.parts.push_back(expression());
        ++loops_;
        stmt.blocks.push_back(block("its condition"));
        --loops_;
        refuse_else();
        return stmt;
    }

    void refuse_else() {
        if (is("else")) fail("an else of a loop", "keep a flag, and ask it after the loop");
    }

    // Names between commas, before `in`.
    Expr targets() {
        Expr first{.kind = ExprKind::name, .spot = now().spot};
        first.text = expect_name("the name that takes each value");
        if (!is(",")) return first;
        Expr all{.kind = ExprKind::list, .spot = first.spot};
        all.parts.push_back(std::move(first));
        while (accept(",")) {
            Expr one{.kind = ExprKind::name, .spot = now().spot};
            one.text = expect_name("a name");
            all.parts.push_back(std::move(one));
        }
        return all;
    }

    Stmt guard() {
        Stmt stmt = begun(StmtKind::guard);
        take();
        stmt.blocks.push_back(block("try"));
        while (accept("except")) {
            stmt.words.push_back(is(":") ? "" : expect_name("the name of an exception"));
            while (accept(".")) stmt.words.back() = expect_name("the name of an exception");
            Expr& caught = stmt.parts.emplace_back();
            if (accept("as")) {
                caught = {.kind = ExprKind::name, .spot = now().spot};
                caught.text = expect_name("a name for it");
            }
            stmt.blocks.push_back(block("except"));
        }
        if (accept("finally"))
            stmt.blocks.push_back(block("finally"));
        else if (stmt.words.empty())
            fail("a try without except or finally", "add except RuntimeError as error:");
        return stmt;
    }

    void define() {
        const Spot spot = take().spot;
        if (defining_ || loops_ > 0)
            fail_at(spot, "a def within another block", "write it at the beginning of a line");
        Function function{.name = expect_name("the name of the function"), .spot = spot};
        for (const Function& known : program_.functions)
            if (known.name == function.name)
                fail_at(spot, fmt::format("'{}' is defined twice", function.name), "give one another name");
        parameters(function);
        defining_ = &function;
        function.body = block("def");
        defining_ = nullptr;
        program_.functions.push_back(std::move(function));
    }

    void parameters(Function& function) {
        expect("(", "before its parameters");
        while (!is(")")) {
            function.locals.push_back(expect_name("the name of a parameter"));
            Expr& usual = function.defaults.emplace_back();
            if (accept("=")) usual = expression();
            if (!accept(",")) break;
        }
        expect(")", "after its parameters");
    }

    void simple(Block& into) {
        for (const Missing& one : missing)
            if (is(one.word) && next().text != "=" && next().text != "(")
                fail(fmt::format("{} is not known here", one.what), std::string(one.remedy));
        if (is("pass") || is("break") || is("continue")) {
            Stmt stmt = begun(is("pass") ? StmtKind::pass : is("break") ? StmtKind::leave : StmtKind::next);
            if (stmt.kind != StmtKind::pass && loops_ == 0)
                fail(fmt::format("'{}' outside loop", now().text), "use it in a for or a while");
            take();
            into.push_back(std::move(stmt));
        } else if (is("return")) {
            into.push_back(give());
        } else if (is("raise")) {
            into.push_back(raise());
        } else if (is("assert")) {
            Stmt stmt = begun(StmtKind::assertion);
            take();
            stmt.parts.push_back(expression());
            if (accept(",")) stmt.parts.push_back(expression());
            into.push_back(std::move(stmt));
        } else if (accept("global")) {
            if (!defining_) fail("global outside of a def", "leave it out");
            do defining_->globals.push_back(expect_name("a name"));
            while (accept(","));
        } else {
            into.push_back(assignment());
        }
        end_of_line();
    }

    Stmt give() {
        Stmt stmt = begun(StmtKind::give);
        take();
        if (!defining_)
            fail_at(stmt.spot, "'return' outside function", "use if and else, or make a def of it");
        if (now().kind != TokenKind::newline) stmt.parts.push_back(expressions());
        return stmt;
    }

    // raise Name("…"), raise Name, or raise alone.
    Stmt raise() {
        Stmt stmt = begun(StmtKind::raise);
        take();
        if (now().kind == TokenKind::newline) return stmt;
        stmt.text = expect_name("the name of an exception");
        while (accept(".")) stmt.text += "." + expect_name("a name");
        if (!accept("(")) return stmt;
        if (!is(")")) stmt.parts.push_back(expression());
        expect(")", "after what it says");
        return stmt;
    }

    void check_target(const Expr& target) {
        if (target.kind == ExprKind::list) {
            for (const Expr& part : target.parts) check_target(part);
            return;
        }
        if (target.kind == ExprKind::name || target.kind == ExprKind::index || target.kind == ExprKind::slice)
            return;
        fail_at(target.spot, "nothing can be assigned to this", "write a name, or x[i]");
    }

    Stmt assignment() {
        Stmt stmt = begun(StmtKind::expression);
        Expr left = expressions();
        if (is(":")) fail("a type of a name", "leave it out: name = value");
        if (accept("=")) {
            check_target(left);
            stmt.kind = StmtKind::assign;
            stmt.parts.push_back(std::move(left));
            stmt.parts.push_back(expressions());
            if (is("=")) fail("two assignments in one statement", "write two statements");
            return stmt;
        }
        for (const auto& [sign, op] : augments) {
            if (!accept(sign)) continue;
            check_target(left);
            if (left.kind == ExprKind::list)
                fail_at(left.spot, "several names cannot be augmented", "one by one");
            stmt.kind = StmtKind::augment;
            stmt.op = op;
            stmt.parts.push_back(std::move(left));
            stmt.parts.push_back(expressions());
            return stmt;
        }
        stmt.parts.push_back(std::move(left));
        return stmt;
    }

    Program& program_;
    Function* defining_ = nullptr;
    int loops_ = 0;
};

}  // namespace

void parse_part(std::string_view text, Part part, Program& program, std::vector<Mistake>& mistakes) {
    const std::size_t before = mistakes.size();
    auto tokens = words_of(text, {part, 1, 1}, mistakes);
    if (mistakes.size() > before) return;
    try {
        Parser parser(std::move(tokens), program);
        Block& into = part == Part::setup  ? program.setup
                      : part == Part::step ? program.step
                                           : program.finish;
        into = parser.all();
    } catch (Stop& stop) {
        mistakes.push_back(std::move(stop.mistake));
    }
}

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
