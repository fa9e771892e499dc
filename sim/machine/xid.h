// sim/machine/xid.h — What the NVIDIA driver writes behind an Xid number in the kernel log.
#pragma once

#include <string_view>

namespace deadrank::sim {

inline std::string_view xid_words(int xid) {
    switch (xid) {
        case 13:
            return "Graphics Exception: ESR 0x404600=0x80000002";
        case 31:
            return "Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ "
                   "0x7f12_34560000. "
                   "Fault is of type FAULT_PDE ACCESS_TYPE_READ";
        case 43:
            return "Ch 00000010";
        case 45:
            return "Ch 00000010";
        case 48:
            return "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer";
        case 62:
            return "PMU Halt Error";
        case 63:
            return "Row Remapper: New row marked for remapping, reset gpu to activate.";
        case 64:
            return "Row Remapper: Failed to remap row";
        case 74:
            return "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)";
        case 79:
            return "GPU has fallen off the bus.";
        case 94:
            return "Contained: SM (0x1). RST: No, D-RST: No";
        case 95:
            return "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No";
        case 119:
            return "Timeout after 6s of waiting for RPC response from GPU GSP! Expected function 103 "
                   "(GSP_RM_ALLOC) (0x2081 0x4).";
        default:
            return "unknown";
    }
}

}  // namespace deadrank::sim
