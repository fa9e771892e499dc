// sim/program/interpreter.cpp — Statements. A rank's stack is small, so how deep blocks, calls and
// expressions may nest is counted.
#include "sim/program/interpreter.h"

#include <algorithm>
#include <fmt/format.h>

#include "scenarios/program/program_kind.h"
#include "sim/framework_parts/storage_memory.h"
#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"
#include "sim/program/queues.h"

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
    : program_(program), host_(host), globals_(program.globals.size()), most_statements_(most_statements) {
    handles_signals_ = program.interrupts;
    counts_ = host.element_size() > 0 && !host.over();
}

Interpreter::~Interpreter() {
    if (seldom_ && seldom_->memory) seldom_->memory->close();
    for (const auto& known : tracked_) {
        const auto object = known.lock();
        if (auto* instance = dynamic_cast<Instance*>(object.get()))
            std::exchange(instance->fields, {}).clear();
        if (auto* env = dynamic_cast<Env*>(object.get())) std::exchange(env->slots, {}).clear();
        if (auto* tensor = dynamic_cast<Tensor*>(object.get())) std::exchange(tensor->attributes, {}).clear();
    }
}

void Interpreter::track(const std::shared_ptr<Object>& object) {
    if (tracked_.size() >= tracked_most_) {
        std::erase_if(tracked_, [](const auto& known) { return known.expired(); });
        tracked_most_ = std::max<std::size_t>(1024, 2 * tracked_.size());
    }
    tracked_.push_back(object);
}

void Interpreter::under_way(const std::shared_ptr<Handle>& collective) {
    auto& calls = streams_[collective->stream];
    std::erase_if(calls, [](const auto& call) { return call.expired(); });
    calls.push_back(collective);
}

namespace {

// What came has the bits that its type has.
void finish(Handle& handle) {
    if (!handle.work) return;
    handle.work->wait();
    handle.work.reset();
    for (const auto& tensor : handle.held) fit(*tensor);
}

}  // namespace

void Interpreter::wait(Handle& handle) {
    if (handle.entry) return queues()->wait(handle);
    if (auto stream = streams_.find(handle.stream); handle.stream && handle.work) {
        auto& calls = stream->second;
        while (!calls.empty()) {
            const std::shared_ptr<Handle> first = calls.front().lock();
            calls.erase(calls.begin());
            if (first.get() == &handle) break;
            if (first) finish(*first);
        }
    }
    finish(handle);
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
    frame_ = nullptr;  // a text that was left by stop_training() may have been in a def
    own_ = around_ = nullptr;
    try {
        run(part == Part::setup    ? program_.setup
            : part == Part::step   ? program_.step
            : part == Part::finish ? program_.finish
                                   : program_.earlier);
        if (program_.has_streams) come_to_an_end(part);
        if (const std::string line = printed(); !line.empty()) world().log(line);
    } catch (const RankFailure& failure) {
        if (now_ && failure.code != 0) {  // exit(0) says nothing
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
        if (handles_signals_) take_signals();
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
            for (std::size_t i = 2; i < stmt.parts.size(); ++i) assign(stmt.parts[i], eval(stmt.parts[0]));
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
        case StmtKind::within:
            return within(stmt);
        case StmtKind::remove:
            for (const Expr& target : stmt.parts) remove(target);
            return Flow::on;
        case StmtKind::define:
            define(stmt.parts[0].slot);
            return Flow::on;
    }
    return Flow::on;
}

Interpreter::Flow Interpreter::branch(const Stmt& stmt) {
    for (std::size_t i = 0; i < stmt.parts.size(); ++i)
        if (is_true(eval(stmt.parts[i]))) return run(stmt.blocks[i]);
    return stmt.blocks.size() > stmt.parts.size() ? run(stmt.blocks.back()) : Flow::on;
}

// The block behind a loop's else runs where no break ended it.
Interpreter::Flow Interpreter::each(const Stmt& stmt) {
    const Value over = eval(stmt.parts[1]);
    if (over.is(Type::object)) return each_of(stmt, iterator_of(over));
    std::vector<Value> items = items_of(over);
    spend(std::ssize(items));
    for (Value& value : items) {
        assign(stmt.parts[0], std::move(value));
        const Flow flow = run(stmt.blocks[0]);
        if (flow == Flow::leave) return Flow::on;
        if (flow == Flow::give) return flow;
    }
    return stmt.blocks.size() > 1 ? run(stmt.blocks[1]) : Flow::on;
}

Interpreter::Flow Interpreter::loop(const Stmt& stmt) {
    while (is_true(eval(stmt.parts[0]))) {
        ++statements_;
        spend(0);
        const Flow flow = run(stmt.blocks[0]);
        if (flow == Flow::leave) return Flow::on;
        if (flow == Flow::give) return flow;
        now_ = &stmt;
    }
    return stmt.blocks.size() > 1 ? run(stmt.blocks[1]) : Flow::on;
}

// Nothing of the program runs while a C++ exception is being handled: a rank that waits there would be in the
// way of others.
Interpreter::Flow Interpreter::guarded(const std::vector<Stmt>& block, std::string& raised, int& code) {
    const int depth = depth_;
    Frame* const frame = frame_;
    std::shared_ptr<Env> own = own_, around = around_;
    try {
        return run(block);
    } catch (const RankFailure& failure) {
        if (exhausted_) throw;
        raised = failure.what();
        code = failure.code;
    }
    depth_ = depth;
    frame_ = frame;
    own_ = std::move(own);
    around_ = std::move(around);
    return Flow::on;
}

std::optional<std::size_t> Interpreter::catching(const Stmt& stmt, const std::string& raised) const {
    for (std::size_t i = 0; i < stmt.words.size() && raised != stop_word; ++i) {
        std::string_view left = stmt.words[i];
        if (left.empty()) return i;
        while (!left.empty()) {
            const std::string_view name = left.substr(0, left.find('|'));
            if (catches(name, raised)) return i;
            left.remove_prefix(std::min(name.size() + 1, left.size()));
        }
    }
    return std::nullopt;
}

// The except block of that place. `raised` and `caught` say afterwards what is still to be raised.
Interpreter::Flow Interpreter::handle(const Stmt& stmt, std::size_t place, std::string& raised, int& code,
                                      bool& caught) {
    caught = true;
    const auto colon = raised.find(": ");
    if (stmt.parts[place].kind == ExprKind::name)
        assign(stmt.parts[place],
               Value::new_text(colon == std::string::npos ? raised : raised.substr(colon + 2)));
    const std::string before = std::exchange(handled_, raised);
    Flow flow = Flow::on;
    if (stmt.blocks.back().empty()) {
        flow = run(stmt.blocks[place + 1]);
    } else {
        std::string again;
        flow = guarded(stmt.blocks[place + 1], again, code);
        if (!again.empty()) {
            raised = again;
            caught = false;
        }
    }
    handled_ = before;
    return flow;
}

Interpreter::Flow Interpreter::guard(const Stmt& stmt) {
    std::string raised;
    int code = 1;
    Flow flow = guarded(stmt.blocks[0], raised, code);
    bool caught = false;
    const auto& otherwise = stmt.blocks[stmt.blocks.size() - 2];
    if (raised.empty() && flow == Flow::on && !otherwise.empty()) {
        flow = stmt.blocks.back().empty() ? run(otherwise) : guarded(otherwise, raised, code);
    } else if (!raised.empty()) {
        if (const auto place = catching(stmt, raised)) flow = handle(stmt, *place, raised, code, caught);
    }
    if (!stmt.blocks.back().empty()) {
        const Value given = given_;
        if (const Flow last = run(stmt.blocks.back()); last != Flow::on) return last;
        given_ = given;
    }
    if (!raised.empty() && !caught) throw RankFailure(raised, code);
    return flow;
}

// What __exit__ says is true is not raised any further.
Interpreter::Flow Interpreter::within(const Stmt& stmt) {
    const Value manager = eval(stmt.parts[0]);
    if (manager.is(Type::object) && manager.instance().kind == context_kind) return run(stmt.blocks[0]);
    if (manager.is(Type::object) && manager.instance().kind == device_kind) {
        const OnDevice on(*this, manager.instance().fields.front().second);
        return run(stmt.blocks[0]);
    }
    if (manager.is(Type::object) && manager.instance().kind == stream_kind) {
        const OnStream on(*this, manager);
        return run(stmt.blocks[0]);
    }
    const auto enters = attribute(manager, "__enter__"), leaves = attribute(manager, "__exit__");
    if (!enters || !leaves)
        raise("TypeError",
              fmt::format("{} object does not support the context manager protocol", type_word(manager)));
    Value entered = call(*enters, {});
    if (stmt.parts[1].kind != ExprKind::absent) assign(stmt.parts[1], std::move(entered));
    std::string raised;
    int code = 1;
    const Flow flow = guarded(stmt.blocks[0], raised, code);
    const Value given = given_;
    const auto colon = std::min(raised.find(": "), raised.size());
    Value kind = Value::none(), says = Value::none();
    if (!raised.empty()) {
        kind = Value::new_text(raised.substr(0, colon));
        says = Value::new_text(raised.substr(std::min(colon + 2, raised.size())));
    }
    const bool swallowed = truth(call(*leaves, {kind, says, Value::none()}));
    given_ = given;
    if (!raised.empty() && !swallowed) throw RankFailure(raised, code);
    return flow;
}

void Interpreter::raise_stated(const Stmt& stmt) {
    if (stmt.text.empty()) {
        if (handled_.empty()) raise("RuntimeError", "No active exception to reraise");
        throw RankFailure(handled_);
    }
    std::string says;
    if (!stmt.parts.empty()) {
        const Value words = eval(stmt.parts[0]);
        const bool several = stmt.parts[0].kind == ExprKind::list && !words.list().items.empty();
        says = several ? shown_text(words.list().items.front()) : shown_text(words);
    }
    now_ = &stmt;
    raise(stmt.text, says);
}

void Interpreter::check(const Stmt& stmt) {
    if (is_true(eval(stmt.parts[0]))) return;
    raise("AssertionError", stmt.parts.size() > 1 ? shown_text(eval(stmt.parts[1])) : "");
}

namespace {

bool is_kind_of(std::string_view kind, std::string_view family) {
    struct Kin {
        std::string_view kind, family;
    };
    constexpr Kin known[] = {{"FileNotFoundError", "OSError"},     {"DistStoreError", "RuntimeError"},
                             {"FileExistsError", "OSError"},       {"IsADirectoryError", "OSError"},
                             {"DistBackendError", "RuntimeError"}, {"DistNetworkError", "RuntimeError"},
                             {"DistStoreError", "DistError"},      {"DistBackendError", "DistError"},
                             {"DistNetworkError", "DistError"},    {"NotImplementedError", "RuntimeError"},
                             {"OutOfMemoryError", "RuntimeError"}, {"AcceleratorError", "RuntimeError"},
                             {"RecursionError", "RuntimeError"},   {"ZeroDivisionError", "ArithmeticError"},
                             {"OverflowError", "ArithmeticError"}, {"KeyError", "LookupError"},
                             {"IndexError", "LookupError"},        {"TimeoutError", "OSError"},
                             {"ConnectionError", "OSError"},       {"ProcessLookupError", "OSError"}};
    for (const Kin& one_of : known)
        if (one_of.kind == kind && one_of.family == family) return true;
    return kind == family;
}

}  // namespace

// Whether `except NAME` catches what was raised as "Kind: says". A class of the program is also what its
// bases are.
bool Interpreter::catches(std::string_view name, const std::string& raised) const {
    std::string_view kind = std::string_view(raised).substr(0, raised.find(": "));
    if (name == "BaseException") return true;
    if (name == "Exception") return kind != "SystemExit" && kind != "KeyboardInterrupt";
    if (kind.find(' ') != std::string_view::npos) kind = "RuntimeError";  // a library's line
    const auto dot = kind.rfind('.');
    if (dot != std::string_view::npos) kind.remove_prefix(dot + 1);
    for (std::size_t left = program_.classes.size() + 1; left > 0; --left) {
        if (is_kind_of(kind, name) || (name == "IOError" && is_kind_of(kind, "OSError"))) return true;
        const auto own = std::find_if(program_.classes.begin(), program_.classes.end(),
                                      [&](const Class& one_of) { return one_of.name == kind; });
        if (own == program_.classes.end() || own->base.empty()) return false;
        kind = own->base;
    }
    return false;
}

}  // namespace deadrank::sim::program
