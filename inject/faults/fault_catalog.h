// inject/faults/fault_catalog.h — Every fault that a scenario may name.
#pragma once

#include "inject/core/fault.h"

namespace deadrank::inject {

// In the order of fault_catalog.cpp.
const FaultCatalog& fault_catalog();

}  // namespace deadrank::inject
