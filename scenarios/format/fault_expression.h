// scenarios/format/fault_expression.h — Reads a fault from one line: "kill rank 1 before all_reduce 7".
//
// The line begins with a short word for a kind of fault (fault_verbs()) or with the kind's own name. Clauses
// follow in any order:
//   rank 1 · ranks 1,3 · rank any · node 0 · link node0-node1      whom it happens to; a rank that is not
//                                                                  named is drawn
//   before all_reduce 7 · of all_gather 3 · skip all_reduce 7      the n-th such call of the rank
//   at step 5 · from step 5 · until step 9 · in backward 3 · at 90s  when; a phase's number as a call's
//   for 20s · x4 · 30s · bit 30 · signal=11                        parameters of the kind, by value or name
//   on tp · always                                                 the communicator; at every match
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/kind_ids.h"
#include "scenarios/model/scenario.h"

namespace deadrank::scenarios {

// A short word of the line and the kind of fault that it means.
struct FaultVerb {
    std::string_view words;    // "disk full"
    FaultId kind;
    std::string_view example;  // a whole line
};
const std::vector<FaultVerb>& fault_verbs();

// Errors: usage. The place has the column of the word that is wrong; the remedy names the nearest word that is
// known.
Result<FaultSettings> read_fault_expression(std::string_view line, const Vocabulary& vocabulary);

}  // namespace deadrank::scenarios
