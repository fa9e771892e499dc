// scenarios/model/check.h — CHECK guards against our own mistakes: always on, prints where and what, aborts.
// Never for user input and never for failures of the simulated job.
#pragma once

namespace deadrank::scenarios {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace deadrank::scenarios

#define CHECK(condition) \
    ((condition) ? void(0) : ::deadrank::scenarios::check_failed(#condition, __FILE__, __LINE__))
