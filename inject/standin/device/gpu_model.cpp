// inject/standin/device/gpu_model.cpp — The model that this process's environment names.
#include "inject/standin/device/gpu_model.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace deadrank::inject::standin::device {

namespace {

constexpr GpuModel without_model() {
    GpuModel device = h100;
    device.key = "";
    device.name = "deadrank stand-in device";
    device.memory_mib = std::size_t{16} << 10;
    return device;
}

GpuModel chosen_model() {
    const char* text = std::getenv("DEADRANK_STANDIN_GPU");
    const char* key = text ? text : "";
    for (const GpuModel& one : {without_model(), h100, a100, b200}) {
        if (std::strcmp(one.key, key) != 0) continue;
        GpuModel device = one;
        const char* memory = std::getenv("DEADRANK_STANDIN_MEMORY");
        if (memory && std::atoll(memory) > 0)
            device.memory_mib = static_cast<std::size_t>(std::atoll(memory));
        return device;
    }
    std::fprintf(stderr,
                 "deadrank: DEADRANK_STANDIN_GPU=%s: no device is visible; choose h100, a100 or b200\n", key);
    GpuModel none = without_model();
    none.key = nullptr;
    return none;
}

}  // namespace

bool model_is_known() { return model().key != nullptr; }

const GpuModel& model() {
    static const GpuModel device = chosen_model();
    return device;
}

}  // namespace deadrank::inject::standin::device
