// inject/shims/nccl/nccl_abi.h — NCCL's types and codes, so that no header of NVIDIA's is needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "results/record/codes.h"

namespace deadrank::inject::shims {

using CommHandle = void*;  // ncclComm_t
using Stream = void*;      // cudaStream_t
struct UniqueId {          // ncclUniqueId, passed by value
    char internal[128];
};
struct Team {  // ncclTeam_t, from 2.28
    int ranks, rank, stride;
};

// The beginning of ncclConfig_t: its size, then a magic number and the version that it was written for.
struct Config {
    std::size_t size;
    unsigned magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char* net_name;
    int split_share, traffic_class;
    const char* comm_name;  // from 2.27
};

inline constexpr int nccl_success = 0;
inline constexpr int nccl_system_error = 2;
inline constexpr int nccl_in_progress = 7;

constexpr bool is_failure(int code) { return code != nccl_success && code != nccl_in_progress; }

// ncclDataType_t. What the evidence has no word for (unsigned, eight-bit floats) is `none`.
constexpr results::Dtype dtype_of(int nccl) {
    using enum results::Dtype;
    constexpr results::Dtype known[] = {i8, i8, i32, i32, i64, i64, f16, f32, f64, bf16, none, none};
    return nccl >= 0 && nccl < 12 ? known[nccl] : none;
}
constexpr int nccl_of(results::Dtype dtype) {
    switch (dtype) {
        case results::Dtype::i8:
            return 0;
        case results::Dtype::i32:
            return 2;
        case results::Dtype::i64:
            return 4;
        case results::Dtype::f16:
            return 6;
        case results::Dtype::f32:
            return 7;
        case results::Dtype::f64:
            return 8;
        case results::Dtype::bf16:
            return 9;
        case results::Dtype::u8:
            return 1;
        default:  // NCCL has no such type
            return -1;
    }
}
constexpr std::size_t bytes_of(int nccl) {
    constexpr std::size_t known[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return nccl >= 0 && nccl < 12 ? known[nccl] : 0;
}

// ncclRedOp_t: sum, prod, max, min, avg; above that, operations that the program made.
constexpr results::ReduceOp reduce_of(int nccl) {
    using enum results::ReduceOp;
    constexpr results::ReduceOp known[] = {sum, prod, max, min, avg};
    return nccl >= 0 && nccl < 5 ? known[nccl] : none;
}
constexpr int nccl_of(results::ReduceOp reduce) {
    switch (reduce) {
        case results::ReduceOp::sum:
            return 0;
        case results::ReduceOp::prod:
            return 1;
        case results::ReduceOp::max:
            return 2;
        case results::ReduceOp::min:
            return 3;
        case results::ReduceOp::avg:
            return 4;
        default:  // NCCL has no such operation
            return -1;
    }
}

}  // namespace deadrank::inject::shims
