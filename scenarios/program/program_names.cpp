// scenarios/program/program_names.cpp — Which names a program assigns, and where. A name is local to a def
// that assigns it, as in Python; all else is global to the program's texts.
#include "scenarios/program/program_names.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "scenarios/program/program_resolver.h"

namespace deadrank::scenarios::program {

int place_in(const std::vector<std::string>& names, std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (place_in(names, name) < 0) names.push_back(name);
}

// Names that statements assign, in order.
void collect_targets(const Expr& target, std::vector<std::string>& names) {
    if (target.kind == ExprKind::name) add_once(names, target.text);
    if (target.kind == ExprKind::list)
        for (const Expr& part : target.parts) collect_targets(part, names);
}

void collect_in(const Expr& expr, std::vector<std::string>& names) {
    const bool each = expr.kind == ExprKind::each;
    for (std::size_t i = expr.number == 1 ? 2 : 1; each && i < expr.parts.size(); i += 3)
        collect_targets(expr.parts[i], names);
    for (const Expr& part : expr.parts) collect_in(part, names);
}

// The parts of a statement that it gives a value to.
bool is_target(const Stmt& stmt, std::size_t part) {
    switch (stmt.kind) {
        case StmtKind::assign:
            return part != 1;
        case StmtKind::augment:
        case StmtKind::each:
            return part == 0;
        case StmtKind::within:
            return part == 1;
        case StmtKind::guard:
            return true;
        default:
            return false;
    }
}

void collect(const std::vector<Stmt>& block, std::vector<std::string>& names) {
    for (const Stmt& stmt : block) {
        for (std::size_t i = 0; i < stmt.parts.size(); ++i) {
            if (is_target(stmt, i)) collect_targets(stmt.parts[i], names);
            collect_in(stmt.parts[i], names);
        }
        for (const auto& inner : stmt.blocks) collect(inner, names);
    }
}

// Names that a def changes with += and its kin, and where; `known`: those that it gives a value otherwise.
void collect_augmented(const std::vector<Stmt>& block, std::vector<std::pair<std::string, Spot>>& augmented,
                       std::vector<std::string>& known) {
    for (const Stmt& stmt : block) {
        for (std::size_t i = 0; i < stmt.parts.size(); ++i) {
            collect_in(stmt.parts[i], known);
            if (!is_target(stmt, i)) continue;
            if (stmt.kind != StmtKind::augment)
                collect_targets(stmt.parts[i], known);
            else if (stmt.parts[i].kind == ExprKind::name)
                augmented.emplace_back(stmt.parts[i].text, stmt.parts[i].spot);
        }
        for (const auto& inner : stmt.blocks) collect_augmented(inner, augmented, known);
    }
}

bool is_around(const Program& program, const Function& inner, const std::string& name) {
    for (int at = inner.within; at >= 0;) {
        const Function& function = program.functions[static_cast<std::size_t>(at)];
        if (place_in(function.locals, name) >= 0) return true;
        at = function.within;
    }
    return false;
}

// As Python does: such a name is the def's own, and has no value when it is changed.
void check_augmented(const Program& program, std::vector<Mistake>& mistakes) {
    for (const Function& function : program.functions) {
        std::vector<std::pair<std::string, Spot>> augmented;
        std::vector<std::string> known(function.locals.begin(),
                                       function.locals.begin() + std::ssize(function.defaults));
        known.insert(known.end(), function.globals.begin(), function.globals.end());
        known.insert(known.end(), function.nonlocals.begin(), function.nonlocals.end());
        collect_augmented(function.body, augmented, known);
        for (const auto& [name, spot] : augmented) {
            if (place_in(known, name) >= 0) continue;
            add_once(known, name);
            const bool around = is_around(program, function, name);
            const bool there = around || place_in(program.globals, name) >= 0;
            mistakes.push_back(
                {spot,
                 fmt::format("cannot access local variable '{}' where it is not associated with a value",
                             name),
                 there ? fmt::format("write `{} {}` first in the def: what a def assigns is its own",
                                     around ? "nonlocal" : "global", name)
                       : "assign it first"});
        }
    }
}

// Words behind a dot that the program itself sets: x.name = …, SimpleNamespace(name=…), setattr(x, "name",
// …).
void attributes_of_target(const Expr& target, std::vector<std::string>& names) {
    if (target.kind == ExprKind::attribute) add_once(names, target.text);
    if (target.kind == ExprKind::list)
        for (const Expr& part : target.parts) attributes_of_target(part, names);
}

void attributes_in(const Expr& expr, std::vector<std::string>& names) {
    const bool call = expr.kind == ExprKind::call || expr.kind == ExprKind::method;
    if (call && expr.text == "SimpleNamespace")
        for (const std::string& keyword : expr.keywords) add_once(names, keyword);
    if (call && expr.text == "setattr" && expr.parts.size() > 1 && expr.parts[1].kind == ExprKind::text)
        add_once(names, expr.parts[1].text);
    for (const Expr& part : expr.parts) attributes_in(part, names);
}

void attributes_in(const std::vector<Stmt>& block, std::vector<std::string>& names) {
    for (const Stmt& stmt : block) {
        for (std::size_t i = 0; i < stmt.parts.size(); ++i) {
            if (is_target(stmt, i)) attributes_of_target(stmt.parts[i], names);
            attributes_in(stmt.parts[i], names);
        }
        for (const auto& inner : stmt.blocks) attributes_in(inner, names);
    }
}

constexpr std::vector<Stmt> Program::*all_texts[] = {&Program::setup, &Program::step, &Program::finish,
                                                     &Program::earlier};

bool starts_others(const Expr& expr) {
    static const std::vector<std::string> words = {"Stream",         "Event",          "Popen",
                                                   "current_stream", "default_stream", "record_event"};
    const bool called = expr.kind == ExprKind::call || expr.kind == ExprKind::method;
    return (called && place_in(words, expr.text) >= 0) ||
           std::any_of(expr.parts.begin(), expr.parts.end(),
                       [](const Expr& part) { return starts_others(part); });
}

bool starts_others(const std::vector<Stmt>& block) {
    return std::any_of(block.begin(), block.end(), [](const Stmt& stmt) {
        return std::any_of(stmt.parts.begin(), stmt.parts.end(),
                           [](const Expr& part) { return starts_others(part); }) ||
               std::any_of(stmt.blocks.begin(), stmt.blocks.end(),
                           [](const auto& inner) { return starts_others(inner); });
    });
}

void collect_attributes(Program& program) {
    for (const auto text : all_texts) {
        attributes_in(program.*text, program.attributes);
        program.starts_others |= starts_others(program.*text);
    }
    for (const Function& function : program.functions) program.starts_others |= starts_others(function.body);
    for (const Function& function : program.functions) attributes_in(function.body, program.attributes);
    for (const Class& one : program.classes)
        for (const auto& [name, place] : one.methods) add_once(program.attributes, name);
}

// Every name that is looked up, wherever it stands.
void names_read(const Expr& expr, std::set<std::string>& names) {
    if (expr.kind == ExprKind::name) names.insert(expr.text);
    for (const Expr& part : expr.parts) names_read(part, names);
}

void names_read(const std::vector<Stmt>& block, std::set<std::string>& names) {
    for (const Stmt& stmt : block) {
        for (std::size_t i = 0; i < stmt.parts.size(); ++i) {
            const bool only_set =
                stmt.kind == StmtKind::assign && i != 1 && stmt.parts[i].kind == ExprKind::name;
            if (!only_set) names_read(stmt.parts[i], names);
        }
        for (const auto& inner : stmt.blocks) names_read(inner, names);
    }
}

}  // namespace

Program read_program(const Source& source, std::vector<Mistake>& mistakes) {
    Program program;
    parse_part(source.setup, Part::setup, program, mistakes);
    parse_part(source.step, Part::step, program, mistakes);
    parse_part(source.finish, Part::finish, program, mistakes);
    parse_part(source.earlier, Part::earlier, program, mistakes);
    if (!mistakes.empty()) return program;
    program.globals = source.lets;
    for (const auto text : all_texts) collect(program.*text, program.globals);
    collect_attributes(program);
    for (Function& function : program.functions) {
        std::vector<std::string> assigned;
        collect(function.body, assigned);
        for (const std::string& name : assigned) {
            if (place_in(function.nonlocals, name) >= 0) continue;
            const bool global = place_in(function.globals, name) >= 0;
            add_once(global ? program.globals : function.locals, name);
        }
    }
    check_augmented(program, mistakes);
    resolve_names(program, mistakes);
    return program;
}

std::vector<std::string> unread_lets(const Program& program, const Source& source) {
    std::set<std::string> read;
    for (const auto text : all_texts) names_read(program.*text, read);
    for (const Function& function : program.functions) {
        names_read(function.body, read);
        for (const Expr& usual : function.defaults) names_read(usual, read);
    }
    std::vector<std::string> unread;
    for (const std::string& name : source.lets)
        if (read.count(name) == 0) unread.push_back(name);
    return unread;
}

}  // namespace deadrank::scenarios::program
