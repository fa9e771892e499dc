// inject/core/make_fault.h — From the words of a plan to a fault that can be applied, every default written
// out.
#pragma once

#include "inject/core/occasion.h"

namespace deadrank::inject {

// nullptr when there is no such kind.
const FaultRow* find_fault(std::string_view name);

// Errors: bad_input (an unknown kind, a parameter missing). A resolved plan meets neither.
scenarios::Result<PlannedFault> make_fault(const scenarios::FaultSpec& spec);

}  // namespace deadrank::inject
