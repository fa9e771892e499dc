// inject/faults/throttle_device.h — A device runs below its clock and says so: too hot, too little power, a
// power brake.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind throttle_device() {
    return {
        {.name = "throttle_device",
         .what = "The device slows down and reports why.",
         .parameters =
             {rank_parameter(),
              {"why",
               ValueType::choice,
               "thermal",
               "what the device reports",
               {"thermal", "power", "hardware"}},
              {"factor", ValueType::factor, "1.5x", "how many times as long everything takes", {}, false, 1}},
         .levers = {ChangeDevice::slow}},
        [](const FaultSpec& spec) {
            const std::string why = spec.text("why");
            const int bits = why == "thermal" ? 1 : why == "power" ? 2 : 4;  // as device.sample has them
            return make_device_fault(spec, {.slow_permille = spec.number("factor"), .throttle = bits},
                                     {.slow_permille = 1000, .throttle = 0});
        }};
}

}  // namespace deadrank::inject
