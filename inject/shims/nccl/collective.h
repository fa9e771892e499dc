// inject/shims/nccl/collective.h — One collective or message in one form, so that a fault can change any part
// of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "inject/core/levers.h"
#include "inject/shims/nccl/abi.h"
#include "inject/shims/nccl/device.h"
#include "inject/shims/nccl/library.h"

namespace deadrank::inject::shims {

struct Collective {
    Function which = Function::count;
    const void* send = nullptr;
    void* receive = nullptr;
    std::size_t count = 0;  // as the function counts: of a shard where it is one
    int dtype = 0;          // ncclDataType_t
    int reduce = 0;         // ncclRedOp_t
    int root = -1;          // or the peer of a message; -1 = none
    CommHandle comm = nullptr;
    Stream stream = nullptr;
};

results::Op op_of(Function which);
bool is_message(Function which);

// Calls the real library.
int issue(const Collective& call);

// The call as a fault leaves it. Where it needs more memory than the program gave, it works on scratch
// memory, which `afterwards` copies back once the call was launched.
struct Altered {
    Collective call;
    std::vector<std::function<void()>> afterwards;
    std::string refused;  // why it cannot be altered so; the call is then as it was
};
Altered alter(const Collective& call, const Alteration& alteration, const Device& device);

}  // namespace deadrank::inject::shims
