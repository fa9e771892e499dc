// inject/standin/operators/virtual_device.h — The stand-in's device library, as operators use it: whether
// time is virtual, and streams that can be charged. The functions are looked up, since a process without the
// stand-in has none of them. inject/standin/device/virtual_time.h documents them.
#pragma once

#include <c10/core/impl/VirtualGuardImpl.h>
#include <cstdint>
#include <dlfcn.h>

#include "inject/standin/device/virtual_time.h"

namespace deadrank::inject::standin::operators {

// Null where the process has no such function.
template <class Function>
void find_in_process(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

class VirtualDevice {
public:
    static const VirtualDevice& instance() {
        static const VirtualDevice one;
        return one;
    }

    bool in_use() const { return in_use_ && in_use_() != 0; }
    void charge_host(std::int64_t ns) const { advance_(ns); }
    void charge(void* stream, std::int64_t ns) const { charge_(stream, ns); }
    void synchronize(void* stream) const { synchronize_(stream); }
    deadrank_device_rates rates(int device) const {
        deadrank_device_rates rates{};
        rates_(device, &rates);
        return rates;
    }

private:
    VirtualDevice() {
        find_in_process("deadrank_time_is_virtual", in_use_);
        find_in_process("deadrank_host_advance", advance_);
        find_in_process("deadrank_stream_charge", charge_);
        find_in_process("deadrank_stream_synchronize", synchronize_);
        find_in_process("deadrank_device_rates_of", rates_);
        if (!advance_ || !charge_ || !synchronize_ || !rates_) in_use_ = nullptr;
    }

    decltype(&deadrank_time_is_virtual) in_use_ = nullptr;
    decltype(&deadrank_host_advance) advance_ = nullptr;
    decltype(&deadrank_stream_charge) charge_ = nullptr;
    decltype(&deadrank_stream_synchronize) synchronize_ = nullptr;
    decltype(&deadrank_device_rates_of) rates_ = nullptr;
};

}  // namespace deadrank::inject::standin::operators
