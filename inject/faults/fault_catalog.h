// inject/faults/fault_catalog.h — Every fault that a scenario may name.
#pragma once

#include "inject/core/fault.h"

namespace deadrank::inject {

// In the order of scenarios/model/kind_ids.h.
const FaultCatalog& fault_catalog();

}  // namespace deadrank::inject
