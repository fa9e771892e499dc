// sim/machine/call.cpp — The words of a call.
#include "sim/machine/call.h"

namespace deadrank::sim {

std::string_view call_name(const Call& call) {
    switch (call.kind) {
        case CallKind::storage_write:
            return "checkpoint_save";
        case CallKind::storage_read:
            return "checkpoint_load";
        case CallKind::comm_init:
            return "comm_init";
        case CallKind::step:
            return "step";
        case CallKind::phase:
            return "phase";
        case CallKind::compute:
            return "compute";
        case CallKind::allocate:
            return "allocate";
        default:
            return call.name;
    }
}

}  // namespace deadrank::sim
