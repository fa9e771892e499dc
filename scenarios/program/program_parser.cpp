// scenarios/program/program_parser.cpp — Statements, and blocks of them.
#include "scenarios/program/program_parser.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "scenarios/program/expression_parser.h"
#include "scenarios/program/statement_words.h"

namespace deadrank::scenarios::program {

namespace {

using Block = std::vector<Stmt>;

class Parser : public ExpressionParser {
public:
    Parser(std::vector<Token> tokens, Program& program) : ExpressionParser(std::move(tokens), &program) {}

    Block all() {
        Block block;
        while (!at_end()) statement(block);
        return block;
    }

private:
    Stmt begun(StmtKind kind) { return {.kind = kind, .spot = now().spot}; }

    void end_of_line() {
        if (now().kind == TokenKind::newline) {
            take();
            return;
        }
        if (at_end()) return;
        if (is(":=")) fail("':=' is not known here", "assign in a statement of its own");
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
        ++blocks_;
        while (now().kind != TokenKind::dedent && !at_end()) statement(inner);
        --blocks_;
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
        if (is("with")) return into.push_back(within());
        if (is("def")) return define(into);
        if (is("class")) return define_class(into);
        if (is("@")) fail("a decorator is not known here", "call the function on what it shall change");
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
        return looped(std::move(stmt), "for");
    }

    Stmt loop() {
        Stmt stmt = begun(StmtKind::loop);
        take();
        stmt.parts.push_back(expression());
        return looped(std::move(stmt), "its condition");
    }

    // An else runs where no break ended the loop.
    Stmt looped(Stmt stmt, std::string_view after) {
        ++loops_;
        stmt.blocks.push_back(block(after));
        --loops_;
        if (accept("else")) stmt.blocks.push_back(block("else"));
        return stmt;
    }

    // except A, except (A, B) or except alone.
    std::string caught() {
        const bool several = accept("(");
        std::string words;
        do {
            std::string word = expect_name("the name of an exception");
            while (accept(".")) word = expect_name("the name of an exception");
            words += (words.empty() ? "" : "|") + word;
        } while (several && accept(",") && !is(")"));
        if (several) expect(")", "after the last exception");
        return words;
    }

    Stmt guard() {
        Stmt stmt = begun(StmtKind::guard);
        take();
        stmt.blocks.push_back(block("try"));
        while (accept("except")) {
            stmt.words.push_back(is(":") ? "" : caught());
            Expr& bound = stmt.parts.emplace_back();
            if (accept("as")) {
                bound = {.kind = ExprKind::name, .spot = now().spot};
                bound.text = expect_name("a name for it");
            }
            stmt.blocks.push_back(block("except"));
        }
        const bool otherwise = !stmt.words.empty() && accept("else");
        stmt.blocks.push_back(otherwise ? block("else") : Block{});
        const bool last = accept("finally");
        stmt.blocks.push_back(last ? block("finally") : Block{});
        if (!last && stmt.words.empty())
            fail("a try without except or finally", "add except RuntimeError as error:");
        return stmt;
    }

    Stmt within() {
        Stmt stmt = begun(StmtKind::within);
        take();
        stmt.parts.push_back(expression());
        stmt.parts.push_back(accept("as") ? targets() : Expr{});
        if (is(",")) fail("a with of several values", "write one with inside the other");
        stmt.blocks.push_back(block("with"));
        return stmt;
    }

    // At the beginning of a line a def is known by its name, wherever it stands; elsewhere it is a value that
    // is assigned when its line is reached.
    void define(Block& into) {
        const Spot spot = take().spot;
        const std::string name = expect_name("the name of the function");
        const bool outermost = within_ < 0 && blocks_ == 0;
        for (const Function& known : program_->functions)
            if (outermost && known.named && known.name == name)
                fail_at(spot, fmt::format("'{}' is defined twice", name), "give one another name");
        const int place = function(spot, name, outermost);
        if (outermost) return keep_defaults(place, into);
        Stmt stmt{.kind = StmtKind::assign, .spot = spot};
        stmt.parts.push_back({.kind = ExprKind::name, .spot = spot, .text = name});
        stmt.parts.push_back({.kind = ExprKind::function, .spot = spot, .slot = place});
        into.push_back(std::move(stmt));
    }

    // What a parameter is otherwise is found once, where the def stands, as in Python.
    void keep_defaults(int place, Block& into) {
        const Function& of = program_->functions[static_cast<std::size_t>(place)];
        if (std::all_of(of.defaults.begin(), of.defaults.end(), never_changes)) return;
        Stmt& stmt = into.emplace_back(Stmt{.kind = StmtKind::define, .spot = of.spot});
        stmt.parts.push_back({.kind = ExprKind::function, .spot = of.spot, .slot = place});
    }

    int function(const Spot& spot, const std::string& name, bool named) {
        const int outer = within_, loops = std::exchange(loops_, 0);
        const int place = begin_function();
        Function made_here{.name = name, .spot = spot, .within = outer, .named = named};
        expect("(", "before its parameters");
        parameters(made_here, ")");
        if (accept("->")) expression();
        Block body = block("def");
        Function& there = program_->functions[static_cast<std::size_t>(place)];
        made_here.keeps = there.keeps;
        made_here.globals = std::move(there.globals);
        made_here.nonlocals = std::move(there.nonlocals);
        made_here.body = std::move(body);
        there = std::move(made_here);
        within_ = outer;
        loops_ = loops;
        return place;
    }

    // Methods, and values of the class itself; what belongs to each object is set in __init__.
    void define_class(Block& into) {
        Class made_here{.name = {}, .spot = take().spot};
        made_here.name = expect_name("the name of the class");
        if (within_ >= 0 || blocks_ > 0)
            fail_at(made_here.spot, "a class within another block", "write it at the beginning of a line");
        if (accept("(")) {
            if (!is(")")) made_here.base = expect_name("the class that it goes on from");
            while (accept(".")) made_here.base = expect_name("a name");
            if (is(",")) fail("a class with several bases", "choose one");
            expect(")", "after its base");
        }
        expect(":", "after the class");
        if (now().kind != TokenKind::newline) {
            expect("pass", "or a line for each method");
            end_of_line();
        } else {
            take();
            if (now().kind != TokenKind::indent) fail("expected an indented block after class", "write pass");
            take();
            while (now().kind != TokenKind::dedent && !at_end()) member(made_here, into);
            if (!at_end()) take();
        }
        program_->classes.push_back(std::move(made_here));
    }

    void member(Class& of, Block& into) {
        if (now().kind == TokenKind::text || is("pass")) {
            take();
            return end_of_line();
        }
        if (is("@")) fail("a decorator is not known here", "write a plain method");
        if (!is("def")) return own_value(of, into);
        const Spot spot = take().spot;
        const std::string name = expect_name("the name of the method");
        if (name.starts_with("__") && name.ends_with("__") && !is_special_method(name))
            fail_at(spot, fmt::format("{}() of a class is not called here", name),
                    "give it a plain name, and call it");
        ++blocks_;
        const int place = function(spot, of.name + "." + name, false);
        --blocks_;
        if (program_->functions[static_cast<std::size_t>(place)].locals.empty())
            fail_at(spot, fmt::format("{}() has no self", name), "write self as its first parameter");
        of.methods.emplace_back(name, place);
        keep_defaults(place, into);
    }

    // What a class itself has is set where the class stands: Name.x = …
    void own_value(const Class& of, Block& into) {
        Stmt stmt = begun(StmtKind::assign);
        Expr name{.kind = ExprKind::attribute, .spot = now().spot};
        if (now().kind != TokenKind::name || (next().text != "=" && next().text != ":"))
            fail("a class holds methods and values alone here", "write def name(self): or name = …");
        name.text = expect_name("a name");
        name.parts.push_back({.kind = ExprKind::name, .spot = stmt.spot, .text = of.name});
        if (accept(":")) expression();  // a type, which says nothing
        const bool stated = accept("=");
        stmt.parts.push_back(std::move(name));
        if (stated) stmt.parts.push_back(expressions());
        if (stated) into.push_back(std::move(stmt));
        end_of_line();
    }

    // Several in one line stand between semicolons.
    void simple(Block& into) {
        do one_of_line(into);
        while (accept(";") && now().kind != TokenKind::newline && !at_end());
        end_of_line();
    }

    void one_of_line(Block& into) {
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
            names_of_def("global", &Function::globals);
        } else if (accept("nonlocal")) {
            names_of_def("nonlocal", &Function::nonlocals);
        } else if (is("del")) {
            Stmt stmt = begun(StmtKind::remove);
            take();
            const Expr gone = targets();
            if (gone.kind == ExprKind::list)
                stmt.parts = gone.parts;
            else
                stmt.parts.push_back(gone);
            into.push_back(std::move(stmt));
        } else {
            into.push_back(assignment());
        }
    }

    void names_of_def(std::string_view word, std::vector<std::string> Function::*names) {
        if (within_ < 0) fail(fmt::format("{} outside of a def", word), "leave it out");
        do {
            const std::string name = expect_name("a name");
            (program_->functions[static_cast<std::size_t>(within_)].*names).push_back(name);
        } while (accept(","));
    }

    Stmt give() {
        Stmt stmt = begun(StmtKind::give);
        take();
        if (within_ < 0)
            fail_at(stmt.spot, "'return' outside function", "use if and else, or make a def of it");
        if (now().kind != TokenKind::newline && !is(";")) stmt.parts.push_back(expressions());
        return stmt;
    }

    // raise Name("…"), raise Name, or raise alone.
    Stmt raise() {
        Stmt stmt = begun(StmtKind::raise);
        take();
        if (now().kind == TokenKind::newline || is(";")) return stmt;
        stmt.text = expect_name("the name of an exception");
        while (accept(".")) stmt.text += "." + expect_name("a name");
        if (accept("(")) {
            if (!is(")")) stmt.parts.push_back(expressions());
            expect(")", "after what it says");
        }
        if (accept("from")) expression();
        return stmt;
    }

    Stmt assignment() {
        Stmt stmt = begun(StmtKind::expression);
        Expr left = expressions();
        if (left.kind != ExprKind::list && accept(":")) {
            expression();  // a type, which says nothing
            if (!is("=")) return {.kind = StmtKind::pass, .spot = stmt.spot};
        }
        if (accept("=")) {
            check_target(left);
            stmt.kind = StmtKind::assign;
            stmt.parts.push_back(std::move(left));
            stmt.parts.push_back(expressions());
            while (accept("=")) {  // a = b = value: the value comes second, and further targets follow
                check_target(stmt.parts[1]);
                stmt.parts.push_back(std::move(stmt.parts[1]));
                stmt.parts[1] = expressions();
            }
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

    int loops_ = 0, blocks_ = 0;
};

}  // namespace

void parse_part(std::string_view text, Part part, Program& program, std::vector<Mistake>& mistakes) {
    const std::size_t before = mistakes.size();
    auto tokens = words_of(text, {part, 1, 1}, mistakes);
    if (mistakes.size() > before) return;
    try {
        Parser parser(std::move(tokens), program);
        Block& into = part == Part::setup    ? program.setup
                      : part == Part::step   ? program.step
                      : part == Part::finish ? program.finish
                                             : program.earlier;
        into = parser.all();
    } catch (Stop& stop) {
        mistakes.push_back(std::move(stop.mistake));
    }
}

}  // namespace deadrank::scenarios::program
