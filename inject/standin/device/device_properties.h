// inject/standin/device/device_properties.h — What runtime, driver and NVML report of every device alike:
// what all models have in common (gpu_model.h has the rest), and the place on the bus by the device's number
// on the machine.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace deadrank::inject::standin::device {

constexpr int version = 13000;  // of driver and runtime: CUDA 13.0
constexpr int warp = 32;
constexpr int threads_per_block = 1024;
constexpr int threads_per_multiprocessor = 2048;
constexpr int registers = 65536;
constexpr int shared_memory = 49152;

constexpr int bus(int device) { return 0x10 + device; }
std::string bus_id(int device);            // 0000:10:00.0
int device_at(const std::string& bus_id);  // -1: none of this machine
std::array<unsigned char, 16> uuid(int device);

// By the number that CU_DEVICE_ATTRIBUTE_… and cudaDevAttr… share; 0 where nothing is known.
int attribute(int number, int device);

}  // namespace deadrank::inject::standin::device
