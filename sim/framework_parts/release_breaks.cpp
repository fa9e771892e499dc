// sim/framework_parts/release_breaks.cpp — The table of known breaks, each from public release notes and
// reports.
#include "sim/framework_parts/release_breaks.h"

#include <string_view>

namespace deadrank::sim {

namespace {

struct Break {
    Calling moment;
    std::string_view caller;  // empty: the training script itself
    Release adapted;          // the first release of the caller that is adapted
    std::string_view callee;
    Release since;
    std::string_view answer;
};

constexpr Break breaks[] = {
    // Frameworks ask about a group that may not be there and catch RuntimeError; it became another class.
    {Calling::start,
     "",
     {},
     "torch",
     {2, 12},
     "ValueError: Group <torch.distributed.ProcessGroup> is not registered, please create group with "
     "torch.distributed.new_group API"},
    // accelerate 1.0 removed arguments that it had announced to remove.
    {Calling::start,
     "transformers",
     {4, 46},
     "accelerate",
     {1, 0},
     "TypeError: Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'"},
    // torch 2.0 removed a private module for Python 2.
    {Calling::start,
     "deepspeed",
     {0, 9},
     "torch",
     {2, 0},
     "ModuleNotFoundError: No module named 'torch._six'"},
    // torch 2.6 reads files with weights_only=True unless told otherwise.
    {Calling::load,
     "deepspeed",
     {0, 16},
     "torch",
     {2, 6},
     "_pickle.UnpicklingError: Weights only load failed. WeightsUnpickler error: Unsupported global: GLOBAL "
     "deepspeed.runtime.fp16.loss_scaler.LossScaler was not an allowed global by default."},
};

bool is_adapted(const Break& known, const Env& env) {
    if (known.caller.empty()) return false;
    const std::string version = env.version(known.caller);
    return version.empty() || release_of(version) >= known.adapted;
}

}  // namespace

void call_across_releases(World& world, Calling moment) {
    const Env& env = world.env();
    for (const Break& known : breaks) {
        if (known.moment != moment || is_adapted(known, env)) continue;
        if (release_of(env.version(known.callee)) >= known.since)
            throw RankFailure(std::string(known.answer));
    }
}

}  // namespace deadrank::sim
