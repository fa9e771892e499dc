// sim/program/interpreter.cpp — Statements. A rank's stack is small, so how deep blocks, calls and
// expressions may nest is counted.
#include "sim/program/interpreter.h"

#include <fmt/format.h>

#include "scenarios/program/program_kind.h"

namespace deadrank::sim::program {

using namespace scenarios::program;

namespace {

constexpr int deepest_call = 96;
constexpr std::int64_t elements_a_statement = 16;

}  // namespace

class Interpreter::Deeper {
public:
    explicit Deeper(Interpreter& of) : of_(of) {
        if (++of_.depth_ <= deepest_call) return;
        --of_.depth_;
        raise("RecursionError", "maximum recursion depth exceeded");
    }
    ~Deeper() { --of_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

private:
    Interpreter& of_;
};

Interpreter::Interpreter(const Program& program, Host& host, std::int64_t most_statements)
    : program_(program), host_(host), globals_(program.globals.size()), most_statements_(most_statements) {}
Interpreter::~Interpreter() = default;

void Interpreter::under_way(const std::shared_ptr<Handle>& collective) {
    auto& calls = streams_[collective->stream];
    std::erase_if(calls, [](const auto& call) { return call.expired(); });
    calls.push_back(collective);
}

void Interpreter::wait(Handle& handle) {
    if (auto stream = streams_.find(handle.stream); handle.stream && handle.work) {
        auto& calls = stream->second;
        while (!calls.empty()) {
            const std::shared_ptr<Handle> first = calls.front().lock();
            calls.erase(calls.begin());
            if (first.get() == &handle) break;
            if (!first || !first->work) continue;
            first->work->wait();
            first->work.reset();
        }
    }
    if (handle.work) handle.work->wait();
    handle.work.reset();
}

void Interpreter::let(const std::string& name, Value value) {
    for (std::size_t i = 0; i < program_.globals.size(); ++i)
        if (program_.globals[i] == name) globals_[i] = std::move(value);
}

void Interpreter::spend(std::int64_t elements) {
    statements_ += elements / elements_a_statement;
    if (statements_ <= most_statements_) return;
    exhausted_ = true;
    raise("RuntimeError",
          fmt::format(
              "the program of this rank went on for {} statements, last in {}; a loop without an end, or "
              "too small a setting `statements`",
              most_statements_, now_ ? place_text(now_->spot) : "its beginning"));
}

// Where an exception left the program is told as Python tells it; the exception itself follows.
void Interpreter::run(Part part, std::int64_t step) {
    step_ = step;
    try {
        run(part == Part::setup ? program_.setup : part == Part::step ? program_.step : program_.finish);
    } catch (const RankFailure&) {
        if (now_) {
            world().log(fmt::format("  File \"{}\", line {}", part_name(now_->spot.part), now_->spot.line));
        }
        throw;
    }
}

Interpreter::Flow Interpreter::run(const std::vector<Stmt>& block) {
    for (const Stmt& stmt : block) {
        now_ = &stmt;
        ++statements_;
        spend(0);
        if (const Flow flow = run(stmt); flow != Flow::on) return flow;
    }
    return Flow::on;
}

Interpreter::Flow Interpreter::run(const Stmt& stmt) {
    const Deeper deeper(*this);
    switch (stmt.kind) {
        case StmtKind::expression:
            eval(stmt.parts[0]);
            return Flow::on;
        case StmtKind::assign:
            assign(stmt.parts[0], eval(stmt.parts[1]));
            return Flow::on;
        case StmtKind::augment:
            augment(stmt);
            return Flow::on;
        case StmtKind::branch:
            return branch(stmt);
        case StmtKind::each:
            return each(stmt);
        case StmtKind::loop:
            return loop(stmt);
        case StmtKind::give:
            given_ = stmt.parts.empty() ? Value::none() : eval(stmt.parts[0]);
            return Flow::give;
        case StmtKind::leave:
            return Flow::leave;
        case StmtKind::next:
            return Flow::next;
        case StmtKind::pass:
            return Flow::on;
        case StmtKind::raise:
            raise_stated(stmt);
            return Flow::on;
        case StmtKind::guard:
            return guard(stmt);
        case StmtKind::assertion:
            check(stmt);
            return Flow::on;
    }
    return Flow::on;
}

Interpreter::Flow Interpreter::branch(const Stmt& stmt) {
    for (std::size_t i = 0; i < stmt.parts.size(); ++i)
        if (truth(eval(stmt.parts[i]))) return run(stmt.blocks[i]);
    return stmt.blocks.size() > stmt.parts.size() ? run(stmt.blocks.back()) : Flow::on;
}

Interpreter::Flow Interpreter::each(const Stmt& stmt) {
    for (Value& value : walked(stmt.parts[1])) {
        assign(stmt.parts[0], std::move(value));
        const Flow flow = run(stmt.blocks[0]);
        if (flow == Flow::leave) break;
        if (flow == Flow::give) return flow;
    }
    return Flow::on;
}

Interpreter::Flow Interpreter::loop(const Stmt& stmt) {
    while (truth(eval(stmt.parts[0]))) {
        ++statements_;
        spend(0);
        const Flow flow = run(stmt.blocks[0]);
        if (flow == Flow::leave) break;
        if (flow == Flow::give) return flow;
        now_ = &stmt;
    }
    return Flow::on;
}

// Nothing of the program runs while a C++ exception is being handled: a rank that waits there would be in the
// way of others.
Interpreter::Flow Interpreter::guarded(const std::vector<Stmt>& block, std::string& raised, int& code) {
    const int depth = depth_;
    Frame* const frame = frame_;
    try {
        return run(block);
    } catch (const RankFailure& failure) {
        if (exhausted_) throw;
        raised = failure.what();
        code = failure.code;
    }
    depth_ = depth;
    frame_ = frame;
    return Flow::on;
}

Interpreter::Flow Interpreter::guard(const Stmt& stmt) {
    std::string raised;
    int code = 1;
    Flow flow = guarded(stmt.blocks[0], raised, code);
    const bool failed = !raised.empty();
    bool caught = false;
    const bool finally = stmt.blocks.size() > stmt.words.size() + 1;
    for (std::size_t i = 0; failed && !caught && i < stmt.words.size(); ++i) {
        if (!catches(stmt.words[i], raised)) continue;
        caught = true;
        const auto colon = raised.find(": ");
        if (stmt.parts[i].kind == ExprKind::name)
            assign(stmt.parts[i],
                   Value::new_text(colon == std::string::npos ? raised : raised.substr(colon + 2)));
        const std::string before = std::exchange(handled_, raised);
        if (!finally) {
            flow = run(stmt.blocks[i + 1]);
        } else {
            std::string again;
            flow = guarded(stmt.blocks[i + 1], again, code);
            if (!again.empty()) {
                raised = again;
                caught = false;
                i = stmt.words.size();
            }
        }
        handled_ = before;
    }
    if (finally) {
        const Value given = given_;
        if (const Flow last = run(stmt.blocks.back()); last != Flow::on) return last;
        given_ = given;
    }
    if (failed && !caught) throw RankFailure(raised, code);
    return flow;
}

void Interpreter::raise_stated(const Stmt& stmt) {
    if (stmt.text.empty()) {
        if (handled_.empty()) raise("RuntimeError", "No active exception to reraise");
        throw RankFailure(handled_);
    }
    const std::string says = stmt.parts.empty() ? "" : shown_text(eval(stmt.parts[0]));
    now_ = &stmt;
    raise(stmt.text, says);
}

void Interpreter::check(const Stmt& stmt) {
    if (truth(eval(stmt.parts[0]))) return;
    raise("AssertionError", stmt.parts.size() > 1 ? shown_text(eval(stmt.parts[1])) : "");
}

namespace {

bool is_kind_of(std::string_view kind, std::string_view family) {
    struct Kin {
        std::string_view kind, family;
    };
    constexpr Kin known[] = {{"FileNotFoundError", "OSError"},     {"DistStoreError", "RuntimeError"},
                             {"DistBackendError", "RuntimeError"}, {"DistNetworkError", "RuntimeError"},
                             {"OutOfMemoryError", "RuntimeError"}, {"AcceleratorError", "RuntimeError"},
                             {"RecursionError", "RuntimeError"},   {"ZeroDivisionError", "ArithmeticError"},
                             {"OverflowError", "ArithmeticError"}, {"KeyError", "LookupError"},
                             {"IndexError", "LookupError"},        {"TimeoutError", "OSError"},
                             {"ConnectionError", "OSError"}};
    for (const Kin& one_of : known)
        if (one_of.kind == kind && one_of.family == family) return true;
    return kind == family;
}

}  // namespace

bool catches(const std::string& name, const std::string& raised) {
    if (name.empty() || name == "Exception" || name == "BaseException") return true;
    std::string_view kind = std::string_view(raised).substr(0, raised.find(": "));
    if (kind.find(' ') != std::string_view::npos) kind = "RuntimeError";  // a library's line
    const auto dot = kind.rfind('.');
    if (dot != std::string_view::npos) kind.remove_prefix(dot + 1);
    return is_kind_of(kind, name) || (name == "IOError" && is_kind_of(kind, "OSError"));
}

}  // namespace deadrank::sim::program
