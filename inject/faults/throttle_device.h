// inject/faults/throttle_device.h — A device runs below its clock and says so: too hot, too little power, a
// power brake.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind throttle_device() {
    return {{.name = "throttle_device",
             .what = "The device slows down and reports why.",
             .parameters = {rank_parameter(),
                            {"why",
                             ValueType::choice,
                             "thermal",
                             "what the device reports",
                             {"thermal", "power", "hardware"}},
                            {"factor", ValueType::factor, "1.5x", "how many times as long everything takes"}},
             .levers = {"change_device.slow"}},
            [](const FaultSpec& spec) {
                const std::string why = spec.text("why");
                const int bits = why == "thermal" ? 1 : why == "power" ? 2 : 4;  // as device.sample has them
                const std::int64_t factor = spec.number("factor");
                return make_deed(spec, {.apply =
                                            [bits, factor](Levers& levers, Rank rank) {
                                                return levers.change_device(
                                                    rank, {.slow_permille = factor, .throttle = bits});
                                            },
                                        .revert =
                                            [](Levers& levers, Rank rank) {
                                                (void)levers.change_device(
                                                    rank, {.slow_permille = 1000, .throttle = 0});
                                            },
                                        .blame = aimed(spec, {.component = "gpu"})});
            }};
}

}  // namespace deadrank::inject
