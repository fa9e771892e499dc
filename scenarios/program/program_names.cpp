// scenarios/program/program_names.cpp — A walk over the tree that fills in places. A name is local to a def
// that assigns it, as in Python; all else is global to the three texts.
#include "scenarios/program/program_names.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "scenarios/model/vocabulary.h"
#include "scenarios/program/program_words.h"

namespace deadrank::scenarios::program {

namespace {

int place_in(const std::vector<std::string>& names, std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

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
    if (expr.kind == ExprKind::each) collect_targets(expr.parts[1], names);
    for (const Expr& part : expr.parts) collect_in(part, names);
}

void collect(const std::vector<Stmt>& block, std::vector<std::string>& names) {
    for (const Stmt& stmt : block) {
        if (stmt.kind == StmtKind::assign || stmt.kind == StmtKind::augment || stmt.kind == StmtKind::each)
            collect_targets(stmt.parts[0], names);
        if (stmt.kind == StmtKind::guard)
            for (const Expr& caught : stmt.parts) collect_targets(caught, names);
        for (const Expr& part : stmt.parts) collect_in(part, names);
        for (const auto& inner : stmt.blocks) collect(inner, names);
    }
}

std::string suggestion_for(std::string_view word, const std::vector<std::string>& known,
                           std::string otherwise) {
    const std::string near = nearest(word, known);
    return near.empty() ? std::move(otherwise) : fmt::format("did you mean '{}'?", near);
}

class Resolver {
public:
    Resolver(Program& program, std::vector<Mistake>& mistakes) : program_(program), mistakes_(mistakes) {}

    void run() {
        check_functions();
        for (Function& function : program_.functions) {
            function_ = nullptr;
            for (Expr& usual : function.defaults) visit(usual);
            function_ = &function;
            for (Stmt& stmt : function.body) visit(stmt);
        }
        function_ = nullptr;
        for (auto* block : {&program_.setup, &program_.step, &program_.finish})
            for (Stmt& stmt : *block) visit(stmt);
    }

private:
    void complain(const Spot& spot, std::string what, std::string remedy) {
        mistakes_.push_back({spot, std::move(what), std::move(remedy)});
    }

    // A def may not hide what is there; a variable may have a function's name, as it is never called.
    void check_functions() {
        for (const Function& function : program_.functions) {
            if (builtin_place(function.name) >= 0)
                complain(function.spot, fmt::format("'{}' is there already", function.name),
                         "give the function another name");
        }
    }

    static bool is_constant(std::string_view name) {
        const auto words = constant_words();
        return std::any_of(words.begin(), words.end(), [&](const auto& word) { return word.name == name; });
    }

    void visit(Stmt& stmt) {
        if (stmt.kind == StmtKind::assign || stmt.kind == StmtKind::augment || stmt.kind == StmtKind::each)
            check_target(stmt.parts[0]);
        for (Expr& part : stmt.parts) visit(part);
        for (auto& block : stmt.blocks)
            for (Stmt& inner : block) visit(inner);
    }

    void check_target(const Expr& target) {
        for (const Expr& part : target.parts)
            if (target.kind == ExprKind::list) check_target(part);
        if (target.kind != ExprKind::name || !is_constant(target.text)) return;
        if (function_ && place_in(function_->locals, target.text) >= 0) return;
        complain(target.spot, fmt::format("'{}' cannot be assigned: its value is given", target.text),
                 "choose another name");
    }

    void visit(Expr& expr) {
        switch (expr.kind) {
            case ExprKind::name:
                return look_up(expr);
            case ExprKind::call:
                bind(expr);
                break;
            case ExprKind::method:
            case ExprKind::attribute:
                check_method(expr);
                break;
            default:
                break;
        }
        for (Expr& part : expr.parts) visit(part);
    }

    void look_up(Expr& expr) {
        if (function_ && place_in(function_->globals, expr.text) < 0) {
            expr.slot = place_in(function_->locals, expr.text);
            expr.where = Where::local;
            if (expr.slot >= 0) return;
        }
        expr.where = Where::global;
        expr.slot = place_in(program_.globals, expr.text);
        if (expr.slot >= 0) return;
        const auto constants = constant_words();
        for (std::size_t i = 0; i < constants.size(); ++i) {
            if (constants[i].name != expr.text) continue;
            expr.where = Where::constant;
            expr.slot = static_cast<int>(i);
            return;
        }
        if (builtin_place(expr.text) >= 0 || is_function(expr.text))
            return complain(expr.spot, fmt::format("'{}' is a function", expr.text),
                            fmt::format("call it: {}(…)", expr.text));
        complain(expr.spot, fmt::format("name '{}' is not defined", expr.text),
                 suggestion_for(expr.text, names(), "assign it first, or state it in [workload.let]"));
    }

    bool is_function(std::string_view name) const {
        return std::any_of(program_.functions.begin(), program_.functions.end(),
                           [&](const Function& function) { return function.name == name; });
    }

    std::vector<std::string> names() const {
        std::vector<std::string> known = program_.globals;
        if (function_) known.insert(known.end(), function_->locals.begin(), function_->locals.end());
        for (const auto& word : constant_words()) known.emplace_back(word.name);
        return known;
    }

    void bind(Expr& call) {
        for (std::size_t i = 0; i < program_.functions.size(); ++i) {
            const Function& function = program_.functions[i];
            if (function.name != call.text) continue;
            std::vector<ParameterWord> parameters;
            for (std::size_t k = 0; k < function.defaults.size(); ++k)
                parameters.push_back({function.locals[k], function.defaults[k].kind == ExprKind::absent});
            call.slot = static_cast<int>(i);
            return order(call, parameters, false);
        }
        const int builtin = builtin_place(call.text);
        if (builtin < 0) {
            std::vector<std::string> known;
            for (const Function& function : program_.functions) known.push_back(function.name);
            for (const BuiltinWord& word : builtin_words()) known.push_back(word.name());
            return complain(
                call.spot, fmt::format("there is no function '{}'", call.text),
                suggestion_for(call.text, known, "`deadrank explain program` lists what a rank may call"));
        }
        call.slot = -1 - builtin;
        const BuiltinWord& word = builtin_words()[static_cast<std::size_t>(builtin)];
        order(call, word.parameters(), word.variadic());
        publish(call);
    }

    // Named arguments go where the function takes them; what is left out is absent. Of a function that takes
    // any number, the first part is a list of those.
    void order(Expr& call, const std::vector<ParameterWord>& parameters, bool variadic) {
        const std::size_t named = call.keywords.size();
        const std::size_t plain = call.parts.size() - named;
        std::vector<Expr> ordered(parameters.size());
        if (variadic) {
            ordered[0] = {.kind = ExprKind::list, .spot = call.spot, .depth = call.depth};
            for (std::size_t i = 0; i < plain; ++i) ordered[0].parts.push_back(std::move(call.parts[i]));
        } else if (plain > parameters.size()) {
            return complain(
                call.spot,
                fmt::format("{}() takes {} arguments but {} were given", call.text, parameters.size(), plain),
                "leave the last ones out");
        } else {
            for (std::size_t i = 0; i < plain; ++i) ordered[i] = std::move(call.parts[i]);
        }
        for (std::size_t i = 0; i < named; ++i) {
            const auto place = std::find_if(parameters.begin(), parameters.end(),
                                            [&](const auto& one) { return one.name == call.keywords[i]; });
            std::vector<std::string> known;
            for (const auto& one : parameters) known.push_back(one.name);
            if (place == parameters.end())
                return complain(
                    call.parts[plain + i].spot,
                    fmt::format("{}() got an unexpected keyword argument '{}'", call.text, call.keywords[i]),
                    suggestion_for(call.keywords[i], known, "leave it out"));
            Expr& taken = ordered[static_cast<std::size_t>(place - parameters.begin())];
            if (taken.kind != ExprKind::absent)
                return complain(
                    call.spot,
                    fmt::format("{}() got multiple values for argument '{}'", call.text, call.keywords[i]),
                    "state it once");
            taken = std::move(call.parts[plain + i]);
        }
        call.keywords.clear();
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (!parameters[i].required || ordered[i].kind != ExprKind::absent) continue;
            complain(call.spot, fmt::format("{}() lacks the argument '{}'", call.text, parameters[i].name),
                     fmt::format("add {} = …", parameters[i].name));
        }
        call.parts = std::move(ordered);
    }

    void publish(const Expr& call) {
        const bool seam = call.text == "seam", block = call.text == "block", phase = call.text == "phase";
        if (!seam && !block && !phase) return;
        const Expr& name = call.parts[0];
        if (name.kind != ExprKind::text)
            return complain(call.spot, fmt::format("the name of this {} is not a text", call.text),
                            "write it between quotes, so that a fault can be held against it");
        if (phase && place_in(phase_names(), name.text) < 0)
            return complain(name.spot, fmt::format("there is no phase '{}'", name.text),
                            suggestion_for(name.text, phase_names(),
                                           "known are data, forward, backward, reduce, optimizer, checkpoint "
                                           "and serve"));
        auto& published = seam ? program_.seams : block ? program_.blocks : program_.phases;
        const bool known = std::any_of(published.begin(), published.end(),
                                       [&](const Published& one) { return one.name == name.text; });
        if (!known) published.push_back({name.text, name.spot});
    }

    void check_method(const Expr& expr) {
        const bool called = expr.kind == ExprKind::method;
        std::vector<std::string> known;
        for (const MethodWord& word : method_words()) {
            if (word.called() == called) known.push_back(word.name());
        }
        if (!expr.keywords.empty())
            complain(expr.spot, fmt::format("{}() takes no named arguments", expr.text),
                     "write it without a name");
        if (place_in(known, expr.text) >= 0) return;
        const auto all = method_words();
        const bool other = std::any_of(all.begin(), all.end(),
                                       [&](const MethodWord& word) { return word.name() == expr.text; });
        complain(expr.spot, fmt::format("there is no {} '{}'", called ? "method" : "attribute", expr.text),
                 other ? (called ? "write it without ()" : "write it with ()")
                       : suggestion_for(expr.text, known, "`deadrank explain program` lists what there is"));
    }

    Program& program_;
    std::vector<Mistake>& mistakes_;
    Function* function_ = nullptr;
};

// Every name that is looked up, wherever it stands.
void names_read(const Expr& expr, std::set<std::string>& names) {
    if (expr.kind == ExprKind::name) names.insert(expr.text);
    for (const Expr& part : expr.parts) names_read(part, names);
}

void names_read(const std::vector<Stmt>& block, std::set<std::string>& names) {
    for (const Stmt& stmt : block) {
        for (std::size_t i = 0; i < stmt.parts.size(); ++i) {
            const bool only_set =
                stmt.kind == StmtKind::assign && i == 0 && stmt.parts[0].kind == ExprKind::name;
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
    if (!mistakes.empty()) return program;
    program.globals = source.lets;
    for (const auto* block : {&program.setup, &program.step, &program.finish})
        collect(*block, program.globals);
    for (Function& function : program.functions) {
        std::vector<std::string> assigned;
        collect(function.body, assigned);
        for (const std::string& name : assigned) {
            const bool global = place_in(function.globals, name) >= 0;
            add_once(global ? program.globals : function.locals, name);
        }
    }
    Resolver(program, mistakes).run();
    return program;
}

std::vector<std::string> unread_lets(const Program& program, const Source& source) {
    std::set<std::string> read;
    for (const auto* block : {&program.setup, &program.step, &program.finish}) names_read(*block, read);
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
