// runners/preflight/library_answer.h — The child's half of libraries.h.
#pragma once

#include <string>

namespace deadrank::runners {

// {"nccl": "2.28.9", "cuda": "13.0"}: what this very process would load. A library that is absent is left
// out.
std::string library_versions();

}  // namespace deadrank::runners
