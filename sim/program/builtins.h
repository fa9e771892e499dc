// sim/program/builtins.h — The functions behind the names in scenarios/program/program_words.cpp, and methods
// of values other than tensors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/program/interpreter.h"

namespace deadrank::sim::program {

using Arguments = std::vector<Value>;

// Arguments are as the table of words orders them; `unset` where one was left out.
using Builtin = Value (*)(Interpreter& rank, Arguments& arguments);

Builtin builtin(int place);  // in builtin_words(); each has one

struct BuiltinRow {
    std::string_view name;
    Builtin call;
};
std::vector<BuiltinRow> python_builtins();
std::vector<BuiltinRow> tensor_builtins();
std::vector<BuiltinRow> comm_builtins();
std::vector<BuiltinRow> world_builtins();

Value method_of(Interpreter& rank, const Value& object, const std::string& name,
                const std::vector<Value>& arguments);

// What a for walks over: a list, a dict's keys, a text's letters, a tensor's rows.
std::vector<Value> items_of(const Value& value);

// Arguments by type; raise TypeError.
const std::string& text_in(const Value& value, std::string_view what);
std::shared_ptr<Tensor> tensor_in(const Value& value, std::string_view function, std::string_view parameter);
Time time_in(const Value& value);  // "10ms", or seconds

}  // namespace deadrank::sim::program
