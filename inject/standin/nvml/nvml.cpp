// inject/standin/nvml/nvml.cpp — What NVML says of the same devices. Its header comes with no CUDA package,
// so signatures and codes are written down here.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include "inject/standin/device/device_properties.h"
#include "inject/standin/device/gpu_model.h"
#include "inject/standin/device/standin_memory.h"

using namespace deadrank::inject::standin;

namespace {

enum Answer : int {
    success = 0,
    invalid_argument = 2,
    not_supported = 3,
    not_found = 6,
    insufficient_size = 7
};

struct PciInfo {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device, pci_subsystem;
    char bus_id[32];
};

struct MemoryInfo {
    unsigned long long total, free, used;
};

struct ProcessInfo {
    unsigned pid;
    unsigned long long used;
};

struct ProcessInfoV3 {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

using Handle = void*;

// NVML shows the whole machine, whatever a process may see of it.
int count() { return Devices::of_this_process().on_machine(); }
Handle handle_of(int device) { return reinterpret_cast<Handle>(static_cast<std::size_t>(device) + 1); }
int device_of(Handle handle) { return static_cast<int>(reinterpret_cast<std::size_t>(handle)) - 1; }

int find(int device, Handle* handle) {
    if (device < 0 || device >= count()) return not_found;
    return *handle = handle_of(device), success;
}

// Memory is counted by the process that holds it, and by the number that it knows the device by.
std::size_t bytes_used(int device) {
    const Devices& devices = Devices::of_this_process();
    return Memory::capacity() - devices.memory.left(devices.visible(device));
}

// Only this process is known: each keeps its own devices. `into` has room for `*count`.
template <class Info>
int list_processes(Handle handle, unsigned* count, Info* into) {
    const std::size_t used = bytes_used(device_of(handle));
    const unsigned room = *count;
    *count = used > 0 ? 1 : 0;
    if (*count > room) return insufficient_size;
    if (*count == 0) return success;
    *into = {};
    into->pid = static_cast<unsigned>(getpid());
    into->used = used;
    return success;
}

std::string uuid_of(int device) {
    char text[48];
    std::snprintf(text, sizeof text, "GPU-64656164-7261-6e6b-0000-0000000000%02x",
                  static_cast<unsigned>(device) & 0xffU);
    return text;
}

}  // namespace

extern "C" {

int deadrank_standin_refuses(const char* name) {
    if (std::getenv("DEADRANK_STANDIN_LOG"))
        std::fprintf(stderr, "deadrank: %s is not there without a GPU\n", name);
    return not_supported;
}

int nvmlInit() { return success; }
int nvmlInit_v2() { return success; }
int nvmlInitWithFlags(unsigned) { return success; }
int nvmlShutdown() { return success; }
const char* nvmlErrorString(int code) {
    switch (code) {
        case success:
            return "Success";
        case invalid_argument:
            return "Invalid Argument";
        case not_supported:
            return "Not Supported";
        case not_found:
            return "Not Found";
        case insufficient_size:
            return "Insufficient Size";
        default:
            return "Unknown Error";
    }
}

int nvmlSystemGetCudaDriverVersion(int* version) { return *version = device::version, success; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { return *version = device::version, success; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
    std::snprintf(text, size, "580.00");
    return success;
}

int nvmlDeviceGetCount(unsigned* devices) { return *devices = static_cast<unsigned>(count()), success; }
int nvmlDeviceGetCount_v2(unsigned* devices) { return nvmlDeviceGetCount(devices); }
int nvmlDeviceGetHandleByIndex(unsigned index, Handle* handle) {
    return find(static_cast<int>(index), handle);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* handle) {
    return find(static_cast<int>(index), handle);
}
int nvmlDeviceGetHandleByPciBusId(const char* bus_id, Handle* handle) {
    return find(device::device_at(bus_id), handle);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Handle* handle) {
    return find(device::device_at(bus_id), handle);
}
int nvmlDeviceGetHandleByUUID(const char* uuid, Handle* handle) {
    for (int device = 0; device < count(); ++device) {
        if (uuid_of(device) == uuid) return find(device, handle);
    }
    return not_found;
}
int nvmlDeviceGetIndex(Handle handle, unsigned* index) {
    return *index = static_cast<unsigned>(device_of(handle)), success;
}
int nvmlDeviceGetName(Handle, char* name, unsigned size) {
    std::snprintf(name, size, "%s", device::model().name);
    return success;
}
int nvmlDeviceGetUUID(Handle handle, char* text, unsigned size) {
    std::snprintf(text, size, "%s", uuid_of(device_of(handle)).c_str());
    return success;
}
int nvmlDeviceGetPciInfo_v3(Handle handle, PciInfo* info) {
    *info = {};
    const std::string bus_id = device::bus_id(device_of(handle));
    info->bus = static_cast<unsigned>(device::bus(device_of(handle)));
    std::snprintf(info->bus_id, sizeof info->bus_id, "%s", bus_id.c_str());
    std::snprintf(info->bus_id_legacy, sizeof info->bus_id_legacy, "%s", bus_id.c_str());
    return success;
}
int nvmlDeviceGetPciInfo_v2(Handle handle, PciInfo* info) { return nvmlDeviceGetPciInfo_v3(handle, info); }
int nvmlDeviceGetCudaComputeCapability(Handle, int* major, int* minor) {
    *major = device::model().major;
    *minor = device::model().minor;
    return success;
}
int nvmlDeviceGetMemoryInfo(Handle handle, MemoryInfo* info) {
    info->total = Memory::capacity();
    info->used = bytes_used(device_of(handle));
    info->free = info->total - info->used;
    return success;
}
int nvmlDeviceGetComputeRunningProcesses(Handle handle, unsigned* count, ProcessInfo* into) {
    return list_processes(handle, count, into);
}
int nvmlDeviceGetComputeRunningProcesses_v3(Handle handle, unsigned* count, ProcessInfoV3* into) {
    return list_processes(handle, count, into);
}
int nvmlDeviceGetP2PStatus(Handle, Handle, int, int* status) {
    constexpr int ok = 0;
    return *status = ok, success;
}
}
