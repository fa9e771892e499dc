// sim/machine/rank_device.cpp — A process's own view of its device: handles, and calls that pass the gate.
#include <fmt/format.h>

#include "sim/machine/device.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

int RankDevice::index() const { return machine_.devices.bind(process_); }

void RankDevice::compute(Time nominal) {
    Call call{.kind = CallKind::compute, .name = "compute", .count = nominal.count()};
    if (machine_.gate.plain(process_, call)) return;
    machine_.devices.compute(process_, Time(std::max<std::int64_t>(0, call.count)));
}

std::int64_t RankDevice::allocate_on(int device, std::int64_t bytes) {
    Call call{.kind = CallKind::allocate, .name = "allocate", .count = bytes};
    if (machine_.gate.plain(process_, call)) return 0;
    if (pieces_.empty()) pieces_.reserve(8);
    pieces_.push_back({call.count, false, machine_.devices.allocate(process_, call.count, device)});
    return static_cast<std::int64_t>(pieces_.size());
}

std::int64_t RankDevice::allocate_host(std::int64_t bytes, bool pinned) {
    Call call{
        .kind = CallKind::allocate, .name = pinned ? "allocate_pinned" : "allocate_host", .count = bytes};
    if (machine_.gate.plain(process_, call)) return 0;
    machine_.hosts.allocate(process_, call.count, pinned);
    pieces_.push_back({call.count, true});
    return static_cast<std::int64_t>(pieces_.size());
}

void RankDevice::release(std::int64_t handle) {
    if (handle < 1 || handle > static_cast<std::int64_t>(pieces_.size())) return;
    Piece& piece = pieces_[static_cast<std::size_t>(handle - 1)];
    if (piece.host) {
        machine_.hosts.release(process_, piece.bytes);
    } else if (piece.device >= 0) {
        machine_.devices.at(process_.node, piece.device).used -= piece.bytes;
    }
    piece = {};
}

std::int64_t RankDevice::used() const { return machine_.devices.of(process_).used; }
std::int64_t RankDevice::limit() const { return machine_.devices.limit(process_); }

}  // namespace deadrank::sim
