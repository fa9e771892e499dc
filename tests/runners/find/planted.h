// tests/runners/find/planted.h — Plans with many faults, of which few matter: the test knows which.
#pragma once

#include "scenarios/model/plan.h"
#include "tests/support/catalog.h"

namespace deadrank::runners::find::testing {

const tests::ShippedCatalog& catalog();
const scenarios::Taxonomy& taxonomy();
const scenarios::Vocabulary& words();

// data_parallel on 32 nodes of 8, 64 steps, every size unusual; fault i hits rank i and has a `nth` of i + 1,
// which tells it from all others wherever it is moved.
scenarios::Plan crowded_plan(std::size_t faults);
bool has_fault(const scenarios::Plan& plan, const std::string& kind, std::int64_t nth);

// tensor_parallel with that tp_size.
scenarios::Plan parallel_plan(std::int64_t ranks, std::int64_t tp_size);

// rank_leaves_all_reduce on the simulator, its one fault among so many that do little.
scenarios::Plan hang_among(std::size_t faults);

std::string as_scenario(const scenarios::Plan& plan);

}  // namespace deadrank::runners::find::testing
