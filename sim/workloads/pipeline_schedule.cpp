// sim/workloads/pipeline_schedule.cpp — Warm-up forwards, then one forward and one backward in turn, then the
// remaining backwards.
#include "sim/workloads/pipeline_schedule.h"

#include <algorithm>

#include "scenarios/model/error.h"

namespace deadrank::sim {

std::vector<Pass> pipeline_schedule(int stage, int stages, int micro_batches, int chunks, int extra_warm_up) {
    CHECK(stages > 0 && chunks > 0 && (chunks == 1 || micro_batches % stages == 0));
    const int total = micro_batches * chunks;
    const auto pass = [&](int number, bool forward) {
        if (chunks == 1) return Pass{forward, number, 0};
        const int within = number % (stages * chunks);
        const int chunk = within / stages;
        return Pass{forward, number / (stages * chunks) * stages + within % stages,
                    forward ? chunk : chunks - 1 - chunk};
    };
    const int behind = stages - stage - 1;
    const int usual = chunks == 1 ? behind : behind * 2 + (chunks - 1) * stages;
    const int warm_up = std::clamp(usual + extra_warm_up, 0, total);
    std::vector<Pass> order;
    order.reserve(static_cast<std::size_t>(total) * 2);
    for (int i = 0; i < warm_up; ++i) order.push_back(pass(i, true));
    for (int i = warm_up; i < total; ++i) {
        order.push_back(pass(i, true));
        order.push_back(pass(i - warm_up, false));
    }
    for (int i = total - warm_up; i < total; ++i) order.push_back(pass(i, false));
    return order;
}

}  // namespace deadrank::sim
