// sim/program/interpreter.h — Runs a rank's program: statements one after the other, so many at most, and
// Python's exceptions as the rank's own. What it calls of the cluster goes through the host.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/program/program_tree.h"
#include "sim/program/program_value.h"

namespace deadrank::sim::program {

using scenarios::program::Expr;
using scenarios::program::Part;
using scenarios::program::Program;
using scenarios::program::Stmt;

// What init_process_group was told.
struct StartRequest {
    std::optional<Rank> rank, size;
    std::string method;      // env://, tcp://node0:29500, file:///shared/meeting; of a store, its name
    Store* store = nullptr;  // that ranks meet at instead
    Time timeout{0};
    CommLibrary library = CommLibrary::usual;
    bool with_first_call = false;  // NCCL is told no device: it takes that of the first tensor
};

class ProgramStore;

// What a program has beside the world: the job that runs it.
class Host {
public:
    virtual ~Host() = default;
    virtual World& world() = 0;
    virtual Rank rank() const = 0;
    virtual Rank size() const = 0;
    virtual std::int64_t steps() const = 0;
    virtual void begin_at(std::int64_t step) = 0;         // the first step to make
    virtual void stop() = 0;                              // no further step
    virtual void start(const StartRequest& request) = 0;  // what init_process_group does
    virtual bool started() const = 0;                     // whether there is a default group
    virtual bool unconnected() const { return false; }    // it is there, and has no device yet
    virtual void leave(bool waits) = 0;                   // what destroy_process_group does
    virtual Comm& comm() = 0;                             // throws what torch does where there is none
    // Played for a job that came before: what it does is not seen, only its files are left.
    virtual bool over() const { return false; }
    virtual std::int64_t context_size() const { return 0; }       // device memory of a process's context
    virtual std::int64_t element_size() const { return 0; }       // … of an element of float32; 0: none
    virtual std::int64_t communicator_size() const { return 0; }  // … of a communicator
    virtual std::unique_ptr<Comm> new_group(const std::string& name, const std::vector<Rank>& ranks,
                                            Time timeout, CommLibrary library) = 0;
    virtual Store& store() = 0;
};

class Queues;

class Interpreter {
public:
    // `program` outlives it. `most_statements`: of this rank, in all.
    Interpreter(const Program& program, Host& host, std::int64_t most_statements);
    ~Interpreter();

    void let(const std::string& name, Value value);
    void run(Part part, std::int64_t step);  // throws RankFailure
    bool runs_at_exit() const { return seldom_ && !seldom_->at_exit.empty(); }
    void run_at_exit();

    Host& host() { return host_; }
    World& world() { return host_.world(); }
    std::int64_t step() const { return step_; }
    std::int64_t statements() const { return statements_; }

    // A function, a class or a method as a value; the last arguments are named by `keywords`.
    Value call(const Value& callee, std::vector<Value> arguments,
               const std::vector<std::string>& keywords = {});
    // The value behind a dot, or nothing; of a method, bound to its object.
    std::optional<Value> attribute(const Value& object, const std::string& name);
    void set_attribute(const Value& object, const std::string& name, Value value);
    const Program& program() const { return program_; }
    const scenarios::program::Spot* spot_now() const { return now_ ? &now_->spot : nullptr; }
    std::int64_t local_rank() const;
    StorageMemory& memory();
    // Tensors that the program gets to see take memory from then on, where a setting says so.
    Value counted(Value value) {
        if (counts_) count(value);
        return value;
    }
    // A kernel was stopped on a device: all that reaches it from now on raises that.
    void stop(Kernel kernel) {
        if (asserted_ == Kernel::none) asserted_ = kernel;
    }
    void reach_device() {
        if (asserted_ != Kernel::none) tell_assert();
    }
    std::int64_t collect_cycles();  // how many objects only held each other
    // What may come to hold itself is emptied at the end.
    void track(const std::shared_ptr<Object>& object);

    // iter(x), and the next of it; nothing where it has come to its end.
    Value iterator_of(const Value& value);
    std::optional<Value> next_of(const Value& iterator);
    std::vector<Value> all_of(const Value& iterable);  // of a class with __iter__, and of an iterator

    // What built-ins leave behind.
    Number loss = 0, gradient_norm = 0;
    struct Allocated {
        std::int64_t bytes = 0;
        int device = -1;  // of the node; -1: the node's own memory
    };
    std::map<std::int64_t, Allocated> sizes_of_handles;  // of device memory
    std::map<int, bool> contexts;                        // by device used; true: told, as not its own
    std::shared_ptr<Group> whole;                        // the world, once it is used
    std::int64_t groups_made = 0;
    Value default_device;              // of new tensors, where the program has set one
    Place world_place = 0;             // the device of the world's group
    bool world_bound = true;           // … which it was told, or had to take
    bool device_chosen = false;        // by set_device
    int bound_device = -1;             // that observers were told of last; -1: by the start itself
    std::shared_ptr<Instance> chance;  // the rank's own generator, once it is used
    std::uint64_t garbage_drawn = 0;   // numbers that empty() gave
    std::map<std::string, std::int64_t> barriers;  // monitored ones, by group
    std::string told_replica;                      // that samples() named last

    // What few programs use takes no room of a rank that does not.
    struct Seldom {
        std::map<int, std::vector<Value>> usual;  // of parameters, once their def was reached
        std::string printed;                      // a line that print() has not ended
        std::map<int, Value> handlers;            // of signals
        std::map<int, Fields> kinds;              // what classes themselves hold
        std::vector<std::shared_ptr<ProgramStore>> stores;
        std::shared_ptr<Queues> queues;  // of a program with streams
        std::shared_ptr<StorageMemory> memory;
        std::vector<std::int64_t> buffers;  // handles of the communicators' device memory
        std::int64_t world_buffers = 0;
        std::vector<std::weak_ptr<Group>> groups;  // in the order in which they were made
        std::vector<Value> at_exit;                // what atexit.register was given
    };
    Seldom& seldom() {
        if (!seldom_) seldom_ = std::make_unique<Seldom>();
        return *seldom_;
    }
    std::string printed() { return seldom_ ? std::exchange(seldom_->printed, {}) : std::string(); }

    // The handler that the signal had before; None: it did what it does. It is called between two statements.
    Value handle_signal(int number, Value handler);

    // A group's collectives follow each other: a rank that waits for one has waited for those before it.
    void under_way(const std::shared_ptr<Handle>& collective);
    void wait(Handle& handle);
    bool is_over(Handle& handle);  // of a program with streams

    // nullptr where the program has no streams: then all is done when it is called.
    Queues* queues() { return program_.has_streams ? queues_made() : nullptr; }
    // The host looks at it.
    void look_at(const Value& value);
    bool is_true(const Value& value) {
        look_at(value);
        return truth(value);
    }

    // An operation on many elements is as long as so many statements.
    void spend(std::int64_t elements);

private:
    enum class Flow { on, leave, next, give };
    using Frame = std::vector<Value>;
    class Deeper;

    Queues* queues_made();
    void count(const Value& value, int depth = 0);
    void count(Tensor& tensor);
    [[noreturn]] void tell_assert();
    Value noticed(Value made);
    void come_to_an_end(Part part);
    Value call_word(int place, std::vector<Value>& arguments);
    Value operated(scenarios::program::Operator op, const Value& a, const Value& b);
    Value calculated_now(scenarios::program::Operator op, const Value& a, const Value& b);
    Value operated_in_place(scenarios::program::Operator op, const Value& a, const Value& b);
    void take_signals();
    Flow run(const std::vector<Stmt>& block);
    Flow run(const Stmt& stmt);
    Flow branch(const Stmt& stmt);
    Flow each(const Stmt& stmt);
    Flow each_of(const Stmt& stmt, const Value& iterator);
    Flow loop(const Stmt& stmt);
    Flow guard(const Stmt& stmt);
    Flow guarded(const std::vector<Stmt>& block, std::string& raised, int& code);
    std::optional<std::size_t> catching(const Stmt& stmt, const std::string& raised) const;
    Flow handle(const Stmt& stmt, std::size_t place, std::string& raised, int& code, bool& caught);
    Flow within(const Stmt& stmt);
    void remove(const Expr& target);
    bool catches(std::string_view name, const std::string& raised) const;
    void raise_stated(const Stmt& stmt);
    void check(const Stmt& stmt);

    Value eval(const Expr& expr);
    Value unusual(const Expr& expr);
    Value name(const Expr& expr);
    Value constant(int place);
    Value joined(const Expr& expr);
    Value listed(const Expr& expr);
    Value mapped(const Expr& expr);
    Value logical(const Expr& expr);
    Value compared(const Expr& expr);
    Value called(const Expr& expr);
    Value called_function(const Expr& expr);
    void give(std::vector<Value>& arguments, const Expr& expr);
    Value invoked(const Expr& expr);
    Value enter(const scenarios::program::Function& function, Frame frame, std::shared_ptr<Env> around);
    Value function_value(const Expr& expr);
    std::vector<Value>& define(int function);
    Value usual_of(int function, std::size_t parameter);
    Value constructed(int kind, std::vector<Value> arguments, const std::vector<std::string>& keywords);
    Value call_function(const Callable& callee, std::vector<Value> arguments,
                        const std::vector<std::string>& keywords);
    Value call_builtin(int place, std::vector<Value> arguments, const std::vector<std::string>& keywords);
    int method_of_kind(int kind, std::string_view name) const;
    const Value* field_of_kind(int kind, std::string_view name);
    Value method(const Expr& expr);
    Value built_in_method(const Expr& expr, const Value& object, std::vector<Value> arguments);
    Value formatted(const Expr& expr);
    Value indexed(const Expr& expr);
    Value sliced(const Expr& expr);
    Value comprehended(const Expr& expr);
    void keep(const Expr& target, std::vector<std::pair<Value*, Value>>& kept);
    void comprehend(const Expr& expr, std::size_t clause, std::vector<Value>& items, const Value& dict);
    std::vector<Value> walked(const Expr& expr);

    void assign(const Expr& target, Value value);
    void assign_index(const Expr& target, Value value);
    void assign_queued(const Expr& target, const Value& object, const Value& value);
    void augment(const Stmt& stmt);
    Value& slot(const Expr& expr);

    const Program& program_;
    Host& host_;
    std::vector<Value> globals_;
    Frame* frame_ = nullptr;
    std::shared_ptr<Env> own_, around_;  // the names of the def under way, if kept; of the def around it
    std::vector<std::weak_ptr<Object>> tracked_;
    std::size_t tracked_most_ = 1024;
    Value given_;  // by a return
    std::unique_ptr<Seldom> seldom_;
    const Stmt* now_ = nullptr;
    std::string handled_;  // the exception of the except block under way
    std::int64_t step_ = 0;
    std::int64_t statements_ = 0, most_statements_;
    int depth_ = 0;
    bool exhausted_ = false;
    bool counts_ = false;  // tensors take memory
    Kernel asserted_ = Kernel::none;
    bool assert_told_ = false;
    bool handles_signals_ = false;
    std::map<const Comm*, std::vector<std::weak_ptr<Handle>>> streams_;  // what nobody has waited for yet
};

// Of a program with streams: a method of a tensor, what stands between brackets, and a block of a stream.
Value queued_method(Interpreter& rank, const Value& object, const std::string& name,
                    std::vector<Value> given);
Value queued_element(Interpreter& rank, const Value& object, const Value& index);
class OnStream {
public:
    OnStream(Interpreter& rank, const Value& stream);
    ~OnStream();
    OnStream(const OnStream&) = delete;
    OnStream& operator=(const OnStream&) = delete;

private:
    Interpreter& rank_;
    int before_;
};

// Operators on any values; raises TypeError.
Value operate(scenarios::program::Operator op, const Value& a, const Value& b);
bool relate(scenarios::program::Operator op, const Value& a, const Value& b);

// x[index] and x[from:to:by]; unset ends are those of x. Raise what Python and torch do.
Value element_of(const Value& object, const Value& index);
Value slice_of(const Value& object, const Value& from, const Value& to, const Value& by = {});

inline constexpr std::string_view stop_word = "StopTraining";  // leaves a text: no exception of Python's
inline constexpr int interrupt_signal = 2;  // that Python itself handles: it raises KeyboardInterrupt
inline constexpr std::size_t most_values = 1 << 20;  // of a list, or letters of a text

// Whether an object of this type takes so many arguments in this order; raises TypeError.
void check_given(const Expr& call, const Value& object, std::size_t given);
bool has_method(const Value& object, std::string_view name);  // of the table of words
// Of a name that a class of the program has too: named arguments go where the built-in method takes them.
std::vector<Value> arranged(const Expr& call, const Value& object, std::vector<Value> given);

// A literal of a text: [1, "a", -2.5].
Value literal(const Expr& expr);

}  // namespace deadrank::sim::program
