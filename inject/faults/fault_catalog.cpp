// inject/faults/fault_catalog.cpp — The table of faults: adding one is a row in a file of its family and a
// name in scenarios/model/kind_ids.h.
#include "inject/faults/fault_catalog.h"

#include "scenarios/model/kind_ids.h"

namespace deadrank::inject {

#define DEADRANK_DECLARE(id) extern const FaultRow id##_row;
#define DEADRANK_ROW(id) id##_row,

DEADRANK_FAULTS(DEADRANK_DECLARE)

const FaultCatalog& fault_catalog() {
    static const FaultCatalog kinds = {DEADRANK_FAULTS(DEADRANK_ROW)};
    return kinds;
}

#undef DEADRANK_DECLARE
#undef DEADRANK_ROW

}  // namespace deadrank::inject
