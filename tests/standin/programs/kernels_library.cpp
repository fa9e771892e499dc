// tests/standin/programs/kernels_library.cpp — The host versions of the programs' kernels, for a binary of
// nvcc's whose device code cannot run here.
#include <cstdint>

#include "inject/standin/kernels/host_kernels.h"
#include "tests/standin/programs/kernels.h"

namespace {

template <class... Types>
void add_for(const deadrank::inject::standin::HostKernels& kernels) {
    (kernels.add<program::fill<Types>>(), ...);
    (kernels.add<program::compare<Types>>(), ...);
}

}  // namespace

extern "C" void deadrank_standin_kernels(void* table, deadrank::inject::standin::AddKernel add) {
    add_for<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, __half,
            float, double, __nv_bfloat16, __nv_fp8_e4m3, __nv_fp8_e5m2>(
        deadrank::inject::standin::HostKernels(table, add));
}
