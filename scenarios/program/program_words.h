// scenarios/program/program_words.h — What a rank's program may call: each function with its parameters, what
// it does, what it refuses and in which words, and which event shows it. The interpreter has a function for
// each row, and the manual prints them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::scenarios::program {

struct ParameterWord {
    std::string name;
    bool required = true;
    bool named = false;  // behind a *: it is given by its name alone
};

struct BuiltinWord {
    std::string_view group;
    std::string_view signature;  // all_reduce(tensor, op="sum"); a first *name takes any number of
                                 // arguments, **name any names too
    std::string_view what;
    std::string_view refuses = {};
    std::string_view shows = {};  // kinds of events

    std::string name() const;
    bool variadic() const;
    bool keyworded() const;  // **name: any arguments, and any that are named
    std::vector<ParameterWord> parameters() const;
};

std::span<const BuiltinWord> builtin_words();
std::span<const BuiltinWord> value_words();  // its parts: of values and tensors,
std::span<const BuiltinWord> group_words();  // of groups and calls among ranks,
std::span<const BuiltinWord> job_words();    // of files, time, observers, chance and faults
int builtin_place(std::string_view name);    // in that table; -1 = none

// Names that have a value without being assigned: rank, world_size, …
struct ConstantWord {
    std::string_view name, what;
};
std::span<const ConstantWord> constant_words();

// What may follow a dot, with or without arguments.
struct MethodWord {
    std::string_view of, signature, what;
    std::string name() const;
    bool called() const;  // an attribute is not
    bool variadic() const;
    std::vector<ParameterWord> parameters() const;
};
std::span<const MethodWord> method_words();

// Words that phase, level= and dtype= accept.
const std::vector<std::string>& phase_names();
const std::vector<std::string>& level_names();
const std::vector<std::string>& type_names();

}  // namespace deadrank::scenarios::program
