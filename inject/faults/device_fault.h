// inject/faults/device_fault.h — A device reports an error to the kernel log, and may be of no use from then
// on. `xid` as NVIDIA numbers them: 48 double-bit ECC, 74 NVLink, 79 off the bus, 94 contained ECC, 119 GSP
// time-out.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind device_fault() {
    return {
        {.name = "device_fault",
         .what = "The device reports an XID error.",
         .parameters =
             {rank_parameter(),
              {"xid", ValueType::integer, "79", "number of the error in the kernel log", {}, false, 1},
              {"fatal", ValueType::boolean, "true", "every later call on the device fails"},
              {"ecc", ValueType::integer, "0", "uncorrected memory errors counted with it", {}, false, 0}},
         .levers = {ChangeDevice::fault}},
        [](const FaultSpec& spec) {
            DeviceChange broken{.xid = static_cast<int>(spec.number("xid")),
                                .ecc_uncorrected = spec.number("ecc")};
            if (spec.number("fatal") != 0) broken.off_bus = true;
            return make_device_fault(spec, broken, {.off_bus = false});
        }};
}

}  // namespace deadrank::inject
