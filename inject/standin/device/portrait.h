// inject/standin/device/portrait.h — What every device says of itself, through runtime, driver and NVML
// alike: an H100 by its published numbers, with its place on the bus by its number on the machine.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace deadrank::inject::standin::device {

constexpr const char* name = "deadrank stand-in device";
constexpr int version = 13000;  // of driver and runtime: CUDA 13.0
constexpr int major = 9, minor = 0;
constexpr int multiprocessors = 132;
constexpr int warp = 32;
constexpr int threads_per_block = 1024;
constexpr int threads_per_multiprocessor = 2048;
constexpr int registers = 65536;
constexpr int shared_memory = 49152;
constexpr int shared_memory_opt_in = 232448;
constexpr int shared_memory_per_multiprocessor = 233472;

constexpr int bus(int device) { return 0x10 + device; }
std::string bus_id(int device);            // 0000:10:00.0
int device_at(const std::string& bus_id);  // -1: none of this machine
std::array<unsigned char, 16> uuid(int device);

// By the number that CU_DEVICE_ATTRIBUTE_… and cudaDevAttr… share; 0 where nothing is known.
int attribute(int number, int device);

}  // namespace deadrank::inject::standin::device
