// inject/faults/machines.h — Faults of devices, hosts and storage: a state that is broken, and the one that
// is whole again.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

// On the device of each rank.
std::unique_ptr<Fault> make_device_fault(const FaultSpec& spec, const DeviceChange& broken,
                                         const DeviceChange& whole, std::string component = "gpu");

// On each node of parameter `node`, or on the nodes of each rank where that is what the fault aims at.
std::unique_ptr<Fault> make_host_fault(const FaultSpec& spec, const HostChange& broken,
                                       const HostChange& whole, std::string component = "host");

// On the files whose path holds parameter `path`. What lasts is ended again; the rest is done at once.
enum class StorageFault { at_once, lasts };
std::unique_ptr<Fault> make_storage_fault(const FaultSpec& spec, StorageTrouble what, std::int64_t amount,
                                          StorageFault how);

}  // namespace deadrank::inject
