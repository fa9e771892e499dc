// scenarios/program/statement_words.h — Words that begin a statement which is not known here, with what to
// write instead, and the signs of assignments that change what is there.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "scenarios/program/program_tree.h"

namespace deadrank::scenarios::program {

struct Missing {
    std::string_view word, what, remedy;
};
inline constexpr std::array<Missing, 6> missing = {{
    {"import", "an import", "leave it out: all that a rank may call is there already"},
    {"from", "an import", "leave it out: all that a rank may call is there already"},
    {"yield", "a generator", "return a list"},
    {"async", "async", "write a def"},
    {"await", "await", "call it"},
    {"match", "match", "write if and elif"},
}};

inline constexpr std::array<std::pair<std::string_view, Operator>, 10> augments = {
    {{"+=", Operator::add},
     {"-=", Operator::subtract},
     {"*=", Operator::multiply},
     {"/=", Operator::divide},
     {"//=", Operator::floor_divide},
     {"%=", Operator::modulo},
     {"**=", Operator::power},
     {"@=", Operator::matrix},
     {"|=", Operator::bit_or},
     {"&=", Operator::bit_and}}};

}  // namespace deadrank::scenarios::program
