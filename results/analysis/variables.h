// results/analysis/variables.h — Environment variables that govern distributed training, and what they
// may hold.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace deadrank::results::analysis {

enum class Holds { anything, integer, rank, port, flag, interface };

struct Variable {
    std::string_view name;
    Holds holds = Holds::anything;
    bool differs_by_right = false;  // each rank has its own
};

// nullptr if the name is none of them.
const Variable* known_variable(std::string_view name);

// The known name that this one was probably meant to be; empty if it is known itself or resembles none.
std::string_view misspelled(std::string_view name);

// What is wrong with this value, in a sentence; empty if nothing is.
std::string objection(const Variable& variable, std::string_view value);

// How many devices CUDA_VISIBLE_DEVICES lists among these "NAME=value" lines; 0 where it is not there.
std::ptrdiff_t devices_listed(std::string_view environment);

}  // namespace deadrank::results::analysis
