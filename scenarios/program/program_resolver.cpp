// scenarios/program/program_resolver.cpp — Names are looked up as Python does: in the def, in those around
// it, among all that is global, among what is given. `torch.`, `dist.` and `math.` before a word are read and
// mean nothing.
#include "scenarios/program/program_resolver.h"

#include <algorithm>
#include <fmt/format.h>

#include "scenarios/model/vocabulary.h"
#include "scenarios/program/call_binder.h"
#include "scenarios/program/program_words.h"

namespace deadrank::scenarios::program {

namespace {

bool is_constant(std::string_view name) {
    const auto words = constant_words();
    return std::any_of(words.begin(), words.end(), [&](const auto& word) { return word.name == name; });
}

class Resolver {
public:
    Resolver(Program& program, std::vector<Mistake>& mistakes)
        : program_(program), mistakes_(mistakes), binder_(program, mistakes) {}

    void run() {
        check_definitions();
        for (std::size_t i = 0; i < program_.functions.size(); ++i) {
            Function& function = program_.functions[i];
            function_ = function.named ? -1 : function.within;
            for (Expr& usual : function.defaults) visit(usual);
            function_ = static_cast<int>(i);
            for (Stmt& stmt : function.body) visit(stmt);
        }
        function_ = -1;
        for (auto* block : {&program_.setup, &program_.step, &program_.finish, &program_.earlier})
            for (Stmt& stmt : *block) visit(stmt);
        program_.places_tensors |= program_.moves_tensors && program_.names_device;
    }

private:
    void complain(const Spot& spot, std::string what, std::string remedy) {
        mistakes_.push_back({spot, std::move(what), std::move(remedy)});
    }

    const Function& function_at(int place) const {
        return program_.functions[static_cast<std::size_t>(place)];
    }

    // A def may hide what is there, as in Python, but for the words by which faults reach the program.
    void check_definitions() {
        for (const Function& function : program_.functions) {
            if (function.named && is_for_faults(function.name))
                complain(function.spot, fmt::format("'{}' is there already", function.name),
                         "give the function another name");
        }
        for (Class& one : program_.classes) {
            if (is_for_faults(one.name) || binder_.function_named(one.name) >= 0)
                complain(one.spot, fmt::format("'{}' is there already", one.name), "choose another name");
            one.parent = one.base.empty() ? -1 : binder_.class_named(one.base);
            const bool known = one.base.empty() || one.base == "object" || one.parent >= 0 ||
                               one.base.ends_with("Error") || one.base.ends_with("Exception");
            if (!known ||
                (one.parent >= 0 && &program_.classes[static_cast<std::size_t>(one.parent)] >= &one))
                complain(one.spot, fmt::format("'{}' is no class", one.base),
                         "go on from a class above it, or from one of Python's exceptions");
        }
    }

    void visit(Stmt& stmt) {
        const bool assigns = stmt.kind == StmtKind::assign;
        if (assigns || stmt.kind == StmtKind::augment || stmt.kind == StmtKind::each)
            check_target(stmt.parts[0]);
        for (std::size_t i = 2; assigns && i < stmt.parts.size(); ++i) check_target(stmt.parts[i]);
        for (Expr& part : stmt.parts) visit(part);
        if (stmt.kind == StmtKind::expression && stmt.parts[0].kind == ExprKind::function &&
            !stmt.parts[0].text.empty())
            complain(stmt.spot, fmt::format("'{}' is a function", stmt.parts[0].text),
                     fmt::format("call it: {}(…)", stmt.parts[0].text));
        if (stmt.kind == StmtKind::raise && !stmt.text.empty() && is_variable(stmt.text))
            complain(stmt.spot, fmt::format("'{}' is a text here, as all that was caught", stmt.text),
                     "write raise alone to let it go on, or raise RuntimeError(…)");
        for (auto& block : stmt.blocks)
            for (Stmt& inner : block) visit(inner);
    }

    void check_target(const Expr& target) {
        for (const Expr& part : target.parts)
            if (target.kind == ExprKind::list) check_target(part);
        if (target.kind != ExprKind::name || !is_constant(target.text)) return;
        if (function_ >= 0 && place_in(function_at(function_).locals, target.text) >= 0) return;
        complain(target.spot, fmt::format("'{}' cannot be assigned: its value is given", target.text),
                 "choose another name");
    }

    static std::string of_os(const Expr& expr) {
        const bool called = expr.kind == ExprKind::method;
        if (called && expr.text == "listdir")
            return "write listdir(prefix): it gives whole paths, all that begin so";
        const bool environment = !called && (expr.kind != ExprKind::attribute || expr.text == "environ");
        if (called && !environment && expr.text != "putenv" && expr.text != "setdefault")
            return "known are os.path.join, exists and isdir, os.makedirs, rename, remove, getenv, kill, "
                   "getpid, "
                   "abort and _exit";
        return "os.environ[\"NAME\"] reads and sets a variable of the process, env(\"NAME\") reads it";
    }

    // Of os.environ["X"], the expression that says os; nullptr where it says no module of Python's.
    const Expr* module_in(const Expr& expr) const {
        static const std::vector<std::string> modules = {"os",    "time",   "sys",        "np",
                                                         "numpy", "signal", "subprocess", "atexit"};
        if (expr.kind == ExprKind::attribute || expr.kind == ExprKind::method)
            return module_in(expr.parts[0]);
        const bool says = expr.kind == ExprKind::name && place_in(modules, expr.text) >= 0;
        return says && !is_variable(expr.text) ? &expr : nullptr;
    }

    void visit(Expr& expr) {
        leave_module_out(expr);
        if (expr.kind == ExprKind::whole) return;
        if (const Expr* module = module_in(expr))
            return complain(module->spot, fmt::format("name '{}' is not defined", module->text),
                            module->text == "os" ? of_os(expr) : hint_for(module->text));
        switch (expr.kind) {
            case ExprKind::name:
                return look_up(expr);
            case ExprKind::call:
                call(expr);
                break;
            case ExprKind::method:
            case ExprKind::attribute:
                binder_.check_method(expr);
                break;
            default:
                break;
        }
        const bool of_tensors = !takes_other_devices(expr);
        of_others_ += !of_tensors;
        if (of_others_ == 0 && !program_.names_device && says_device(expr)) {
            program_.names_device = true;
            if (!program_.places_tensors) program_.places_since = expr.spot;
        }
        mark_values(expr);
        for (Expr& part : expr.parts) visit(part);
        of_others_ -= !of_tensors;
        binder_.check_words(expr);
    }

    // What stands among arguments or in a list may be a method as a value: stream.launch(handle.wait).
    // Elsewhere its () have been forgotten.
    static void mark_values(Expr& expr) {
        const bool called =
            expr.kind == ExprKind::call || expr.kind == ExprKind::method || expr.kind == ExprKind::invoke;
        if (!called && expr.kind != ExprKind::list && expr.kind != ExprKind::dict) return;
        const bool of_object = expr.kind == ExprKind::method || expr.kind == ExprKind::invoke;
        for (std::size_t i = of_object ? 1 : 0; i < expr.parts.size(); ++i)
            if (expr.parts[i].kind == ExprKind::attribute) expr.parts[i].number = as_a_value;
    }

    // A device that is named there says nothing of tensors.
    static bool takes_other_devices(const Expr& expr) {
        static const std::vector<std::string> calls = {"allocate", "set_device", "init_device_mesh"};
        return expr.kind == ExprKind::call && place_in(calls, expr.text) >= 0;
    }

    // A variable is called as a value, where no function has its name; a parameter in any case.
    void call(Expr& expr) {
        if (is_parameter(expr.text) || (!binder_.knows(expr.text) && is_variable(expr.text))) {
            Expr callee{.kind = ExprKind::name, .spot = expr.spot, .text = expr.text};
            return binder_.as_invocation(expr, std::move(callee));
        }
        binder_.bind(expr);
    }

    bool is_parameter(std::string_view name) const {
        for (int at = function_; at >= 0; at = function_at(at).within) {
            const int place = place_in(function_at(at).locals, name);
            if (place >= 0 && place < static_cast<int>(function_at(at).defaults.size())) return true;
        }
        return false;
    }

    bool is_variable(std::string_view name) const {
        for (int at = function_; at >= 0; at = function_at(at).within)
            if (place_in(function_at(at).locals, name) >= 0) return true;
        return place_in(program_.globals, name) >= 0;
    }

    bool found_in_defs(Expr& expr) const {
        int up = 0;
        for (int at = function_; at >= 0; at = function_at(at).within, ++up) {
            const Function& function = function_at(at);
            if (place_in(function.globals, expr.text) >= 0) return false;
            if (place_in(function.nonlocals, expr.text) >= 0) continue;
            expr.slot = place_in(function.locals, expr.text);
            if (expr.slot < 0) continue;
            expr.where = up == 0 ? Where::local : Where::outer;
            expr.number = up;
            if (up > 0) tell_read(program_.functions[static_cast<std::size_t>(at)], expr.slot);
            return true;
        }
        return false;
    }

    static void tell_read(Function& function, int slot) {
        function.read.resize(function.locals.size());
        function.read[static_cast<std::size_t>(slot)] = true;
    }

    static std::optional<int> signal_number(std::string_view name) {
        static constexpr std::pair<std::string_view, int> known[] = {
            {"SIGHUP", 1},   {"SIGINT", 2},   {"SIGQUIT", 3},  {"SIGABRT", 6},  {"SIGKILL", 9},
            {"SIGUSR1", 10}, {"SIGSEGV", 11}, {"SIGUSR2", 12}, {"SIGALRM", 14}, {"SIGTERM", 15},
            {"SIGCONT", 18}, {"SIGSTOP", 19}, {"SIG_DFL", 0},  {"SIG_IGN", 1}};
        for (const auto& [word, number] : known)
            if (word == name) return number;
        return std::nullopt;
    }

    // signal.SIGTERM, SIGTERM
    bool as_signal(Expr& expr) const {
        const bool behind = expr.kind == ExprKind::attribute && path_of(expr.parts[0]) == "signal";
        const auto number = behind || expr.kind == ExprKind::name ? signal_number(expr.text) : std::nullopt;
        if (!number) return false;
        expr.kind = ExprKind::whole;
        expr.number = *number;
        expr.parts.clear();
        program_.interrupts |= *number == 2;
        return true;
    }

    // os.environ
    void as_environment(Expr& expr) const {
        if (expr.kind == ExprKind::method) as_environment(expr.parts[0]);
        if (expr.kind != ExprKind::attribute || path_of(expr) != "os.environ") return;
        expr.kind = ExprKind::name;
        expr.text = "os.environ";  // no variable has such a name
        expr.parts.clear();
    }

    void look_up(Expr& expr) {
        if (found_in_defs(expr)) return;
        expr.where = Where::global;
        expr.slot = place_in(program_.globals, expr.text);
        if (expr.slot >= 0 || as_signal(expr)) return;
        const auto constants = constant_words();
        for (std::size_t i = 0; i < constants.size(); ++i) {
            if (constants[i].name != expr.text) continue;
            expr.where = Where::constant;
            expr.slot = static_cast<int>(i);
            return;
        }
        if (binder_.as_value(expr)) return;
        complain(expr.spot, fmt::format("name '{}' is not defined", expr.text), hint_for(expr.text));
    }

    std::string hint_for(const std::string& name) const {
        if (name == "time") return "now() is the time in seconds, and sleep(seconds) waits";
        if (name == "sys") return "exit(code) ends the process";
        if (name == "np" || name == "numpy")
            return "tensors do what arrays do: zeros(4), arange(4), x.tolist()";
        return suggestion_for(name, names(), "assign it first, or state it in [workload.let]");
    }

    std::vector<std::string> names() const {
        std::vector<std::string> known = program_.globals;
        for (int at = function_; at >= 0; at = function_at(at).within)
            known.insert(known.end(), function_at(at).locals.begin(), function_at(at).locals.end());
        for (const auto& word : constant_words()) known.emplace_back(word.name);
        return known;
    }

    // torch, dist, torch.distributed, math, … where no variable has that name.
    bool is_module(const Expr& expr) const {
        static const std::vector<std::string> modules = {"torch", "dist", "math", "F", "nn", "datetime"};
        static const std::vector<std::string> parts = {
            "distributed", "nn", "functional", "cuda", "device_mesh", "distributed_c10d", "utils"};
        if (expr.kind == ExprKind::name) return place_in(modules, expr.text) >= 0 && !is_variable(expr.text);
        return expr.kind == ExprKind::attribute && place_in(parts, expr.text) >= 0 &&
               is_module(expr.parts[0]);
    }

    // time.sleep, os.path.join: names with dots between them, the first of which is no variable.
    std::string path_of(const Expr& expr) const {
        if (expr.kind == ExprKind::name) return is_variable(expr.text) ? "" : expr.text;
        if (expr.kind != ExprKind::attribute && expr.kind != ExprKind::method) return {};
        const std::string before = path_of(expr.parts[0]);
        return before.empty() ? before : before + "." + expr.text;
    }

    // Of Python's modules, what has a function here that does the same.
    bool as_function(Expr& expr) const {
        static constexpr std::pair<std::string_view, std::string_view> known[] = {
            {"time.time", "now"},          {"time.perf_counter", "now"},
            {"time.monotonic", "now"},     {"time.sleep", "sleep"},
            {"sys.exit", "exit"},          {"os.getenv", "env"},
            {"os.environ.get", "env"},     {"os.path.join", "path_join"},
            {"os.path.exists", "exists"},  {"os.path.isdir", "isdir"},
            {"os.makedirs", "makedirs"},   {"os.rename", "rename"},
            {"os.replace", "rename"},      {"os.remove", "remove"},
            {"os.unlink", "remove"},       {"os.rmdir", "rmdir"},
            {"shutil.rmtree", "rmtree"},   {"os.kill", "kill"},
            {"os.getpid", "getpid"},       {"os.abort", "abort"},
            {"os._exit", "_exit"},         {"signal.signal", "on_signal"},
            {"subprocess.Popen", "Popen"}, {"functools.reduce", "functools_reduce"},
            {"gc.collect", "gc_collect"},  {"atexit.register", "atexit_register"}};
        if (expr.kind != ExprKind::method) return false;
        const std::string path = path_of(expr);
        const auto found = std::find_if(std::begin(known), std::end(known),
                                        [&](const auto& one) { return one.first == path; });
        if (found == std::end(known)) return false;
        expr.kind = ExprKind::call;
        expr.text = found->second;
        expr.parts.erase(expr.parts.begin());
        if (path == "sys.exit" && expr.parts.empty())
            expr.parts.push_back({.kind = ExprKind::whole, .spot = expr.spot});
        return true;
    }

    bool is_reduction(const Expr& expr) const {
        const bool bare = expr.kind == ExprKind::name && !is_variable("ReduceOp");
        const bool behind = expr.kind == ExprKind::attribute && is_module(expr.parts[0]);
        return (bare || behind) && expr.text == "ReduceOp";
    }

    // math.pi, in 65536ths: a program may have a pi of its own.
    static bool as_number(Expr& expr) {
        if (expr.kind != ExprKind::attribute || expr.parts[0].text != "math") return false;
        if (expr.text != "pi" && expr.text != "e" && expr.text != "tau") return false;
        expr.number = expr.text == "pi" ? 205'887 : expr.text == "tau" ? 411'775 : 178'145;
        expr.kind = ExprKind::decimal;
        expr.parts.clear();
        return true;
    }

    void leave_module_out(Expr& expr) {
        if (expr.kind != ExprKind::method && expr.kind != ExprKind::attribute) return;
        const std::string whole = expr.text == "WORLD" ? path_of(expr) : std::string();
        if (whole == "group.WORLD" || whole.ends_with(".group.WORLD")) {
            expr.kind = ExprKind::call;
            expr.text = "_get_default_group";
            expr.parts.clear();
            return;
        }
        if (expr.kind == ExprKind::attribute && is_reduction(expr.parts[0])) {
            expr.kind = ExprKind::text;
            std::transform(expr.text.begin(), expr.text.end(), expr.text.begin(), [](char c) {
                return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            });
            if (expr.text == "product") expr.text = "prod";
            expr.parts.clear();
            return;
        }
        if (as_function(expr) || as_signal(expr)) return;
        as_environment(expr);
        if (expr.parts.empty() || !is_module(expr.parts[0])) return;
        if (as_number(expr)) return;
        const bool mathematics = expr.parts[0].text == "math", of_cuda = expr.parts[0].text == "cuda";
        const bool of_ranks = expr.parts[0].text == "dist" || expr.parts[0].text == "distributed";
        const bool of_tensor = !mathematics && !of_ranks && is_tensor_method(expr.text);
        if (expr.kind == ExprKind::attribute) {
            const bool word = expr.text == "Tensor" || place_in(type_names(), expr.text) >= 0;
            expr.kind = word ? ExprKind::text : ExprKind::name;
            expr.parts.clear();
        } else if (of_tensor && expr.parts.size() > 1 && expr.keywords.size() + 1 < expr.parts.size()) {
            expr.parts.erase(expr.parts.begin());  // torch.exp(x) is x.exp()
        } else {
            expr.kind = ExprKind::call;
            expr.parts.erase(expr.parts.begin());
            if (mathematics && expr.text == "log") expr.text = "natural_log";
            if (of_cuda && expr.text == "device") expr.text = "cuda_device";
        }
    }

    static bool is_tensor_method(std::string_view name) {
        const auto words = method_words();
        return std::any_of(words.begin(), words.end(), [&](const MethodWord& word) {
            return word.of == "tensor" && word.called() && word.name() == name;
        });
    }

    Program& program_;
    std::vector<Mistake>& mistakes_;
    CallBinder binder_;
    int function_ = -1;
    int of_others_ = 0;  // calls around the expression at hand that take devices of other things
};

}  // namespace

void resolve_names(Program& program, std::vector<Mistake>& mistakes) { Resolver(program, mistakes).run(); }

}  // namespace deadrank::scenarios::program
