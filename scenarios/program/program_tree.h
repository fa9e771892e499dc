// scenarios/program/program_tree.h — A rank's program as a tree: a small strict part of Python. Names are
// already places in tables, and arguments are in the order of the function that takes them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace deadrank::scenarios::program {

// Where a word stands: which of the program's texts, and line and column in it, from 1.
enum class Part : std::uint8_t { setup, step, finish, earlier };

struct Spot {
    Part part = Part::step;
    int line = 1;
    int column = 1;
};

enum class Operator : std::uint8_t {
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    matrix,  // @
    shift_left,
    shift_right,
    bit_and,
    bit_or,
    bit_xor,
    equal,
    unequal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    not_in,
    is,
    is_not,
};

enum class ExprKind : std::uint8_t {
    absent,   // an argument or an end of a slice that is not stated
    none,     // None
    boolean,  // number
    whole,    // number
    decimal,  // number, in 65536ths
    text,
    joined,     // f"…": its parts, one after the other
    list,       // also (a, b); number is 2 where it is a tuple
    dict,       // key, value, key, value, …
    name,       // slot in the table that `where` says
    attribute,  // parts[0].text
    call,       // text(parts…); slot: the function, or -1 - the place in the table of built-ins
    method,     // parts[0].text(parts[1…]); slot: see MethodCheck
    invoke,     // parts[0](parts[1…]), where parts[0] is a value; the last ones named by keywords
    function,   // a lambda, a def within another one, or a name of either; slot as of a call
    kind,       // a class, by its place
    index,      // parts[0][parts[1]]
    slice,      // parts[0][parts[1]:parts[2]]
    range,      // parts[0]:parts[1]:parts[2] between the brackets of an index
    negate,
    invert,     // not
    flip,       // ~
    formatted,  // {parts[0]:text} of an f-string; number is the letter of a conversion, !r
    binary,     // operators[0]
    compare,    // parts[0] operators[0] parts[1] operators[1] parts[2] …
    both,       // and
    either,     // or
    choice,     // parts[0] if parts[1] else parts[2]
    // [parts[0] for parts[1] in parts[2] if parts[3]], or absent; three more for each further `for`. Of a
    // dict, number is 1 and the key stands before all.
    each,
    spread,  // *parts[0], among arguments or in a list
};

// outer: of a def around this one; number says how many levels up.
// Of a method's call, what is left to check when its object is known; a slot of 0 or more is the row of
// method_words() by which named arguments were put in order.
enum MethodCheck : int { nothing_left = -1, how_many = -2 };

enum class Where : std::uint8_t { unknown, local, global, constant, outer };

struct Expr {
    ExprKind kind = ExprKind::absent;
    Where where = Where::unknown;
    Spot spot = {};
    std::string text = {};
    std::int64_t number = 0;
    int slot = -1;
    int depth = 1;  // of the tree below, this one included
    std::vector<Operator> operators = {};
    std::vector<Expr> parts = {};
    std::vector<std::string> keywords = {};  // of the last arguments, before they are put in order
};

inline constexpr std::int64_t as_a_value = 1;    // of an attribute that may be a method
inline constexpr std::int64_t tuple_number = 2;  // of a list that stands between ( and )

enum class StmtKind : std::uint8_t {
    expression,
    assign,   // parts[0] = parts[1]
    augment,  // parts[0] operator= parts[1]
    branch,   // blocks[i] if parts[i]; one more block is the else
    each,     // for parts[0] in parts[1]
    loop,     // while
    give,     // return
    leave,    // break
    next,     // continue
    pass,
    raise,      // text(parts[0]); without a text what is being handled goes on
    guard,      // try blocks[0] except words[i] as parts[i]: blocks[i + 1]; the last two are else and finally
    assertion,  // parts[0], and a message
    within,     // with parts[0] as parts[1]: blocks[0]
    remove,     // del parts…
    define,     // where a def stands whose parameters have values to find: parts[0] is the function
};

struct Stmt {
    StmtKind kind = StmtKind::pass;
    Operator op = Operator::add;
    Spot spot = {};
    std::string text = {};
    std::vector<Expr> parts = {};
    std::vector<std::vector<Stmt>> blocks = {};
    std::vector<std::string> words = {};  // exceptions that a guard catches, between bars; empty = any
};

struct Function {
    std::string name;
    Spot spot = {};
    std::vector<std::string> locals = {};  // parameters first
    std::vector<Expr> defaults = {};       // one for each parameter; absent = it must be given
    std::vector<Stmt> body = {};
    std::vector<std::string> globals = {};    // names that it says are global
    std::vector<std::string> nonlocals = {};  // … or those of the def around it
    int within = -1;                          // the def around it
    bool named = true;                        // called by its name; not a lambda, an inner def or a method
    bool keeps = false;                       // an inner def may still read its names when it has ended
    std::vector<bool> read = {};              // … which of them one does, if it keeps them
};

struct Class {
    std::string name;
    Spot spot;
    std::string base = {};  // empty: none
    int parent = -1;        // the base's place; -1: none, or one of Python's exceptions
    std::vector<std::pair<std::string, int>> methods = {};  // name, and place among the functions
};

// A name that the program publishes for faults, and where it does first.
struct Published {
    std::string name;
    Spot spot;
};

struct Program {
    std::vector<Stmt> setup, step, finish, earlier;
    std::vector<Function> functions;
    std::vector<Class> classes;
    std::vector<std::string> attributes;  // that it sets on values, beside those in the table of words
    std::vector<std::string> globals;     // settings of `let` first
    std::vector<Published> seams, blocks, phases;
    bool makes_folders = false;  // it names makedirs: then a folder is there only once it was made
    // It puts tensors on devices: then one lies in the node's memory until it is moved. It does too where it
    // moves them to what a name holds, and names a device, or a setting holds one. The node's memory is none.
    bool places_tensors = false, moves_tensors = false, names_device = false;
    Spot places_since = {};       // the first place that does
    bool interrupts = false;      // it names SIGINT: then that one raises KeyboardInterrupt, as in Python
    bool starts_others = false;   // streams, events or processes, which have a wait() too
    bool has_streams = false;     // it names a stream, an event, or non_blocking: kernels are queued
    bool chooses_device = false;  // it names set_device: until that is called, a process has device 0
};

}  // namespace deadrank::scenarios::program
