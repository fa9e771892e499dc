// results/record/payloads_machine.h — Memory, host, device and link counters, as exporters and kernel logs
// show them. Trivially copyable; fields are visited in the order written. Units: nanoseconds, bytes,
// elements, degrees Celsius, watts.
#pragma once

#include <cstdint>
#include <string_view>

#include "results/record/codes.h"

namespace deadrank::results {

// In bytes. `used`: the device's maximum since the last sample; limits 0 = unknown.
struct MemorySample {
    static constexpr std::string_view kind = "memory.sample";
    std::int64_t used = 0;
    std::int64_t limit = 0;
    std::int64_t host_used = 0;
    std::int64_t host_limit = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("used", self.used);
        visit("limit", self.limit);
        visit("host_used", self.host_used);
        visit("host_limit", self.host_limit);
    }
};

// An allocation failed. where: device, host, shared, pinned.
struct MemoryOom {
    static constexpr std::string_view kind = "memory.oom";
    std::int64_t requested = 0;
    std::int64_t available = 0;
    TextId where = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("requested", self.requested);
        visit("available", self.available);
        visit("where", self.where);
    }
};

// -1 = not sampled.
struct HostSample {
    static constexpr std::string_view kind = "host.sample";
    std::int64_t shared_used = -1;
    std::int64_t shared_limit = -1;
    std::int64_t open_files = -1;
    std::int64_t open_files_limit = -1;
    std::int64_t disk_free = -1;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("shared_used", self.shared_used);
        visit("shared_limit", self.shared_limit);
        visit("open_files", self.open_files);
        visit("open_files_limit", self.open_files_limit);
        visit("disk_free", self.disk_free);
    }
};

// throttle: 1 thermal, 2 power, 4 hardware slowdown.
struct DeviceSample {
    static constexpr std::string_view kind = "device.sample";
    std::int32_t clock_mhz = 0;
    std::int32_t temperature = 0;
    std::int32_t power_watts = 0;
    std::int32_t busy_percent = 0;
    std::int32_t throttle = 0;
    std::int64_t ecc_corrected = 0;
    std::int64_t ecc_uncorrected = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("clock_mhz", self.clock_mhz);
        visit("temperature", self.temperature);
        visit("power_watts", self.power_watts);
        visit("busy_percent", self.busy_percent);
        visit("throttle", self.throttle);
        visit("ecc_corrected", self.ecc_corrected);
        visit("ecc_uncorrected", self.ecc_uncorrected);
    }
};

// A line of the kernel log: NVRM Xid.
struct DeviceError {
    static constexpr std::string_view kind = "device.error";
    std::int32_t xid = 0;
    TextId message = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("xid", self.xid);
        visit("message", self.message);
    }
};

// Counters of one port since the job began. up: 1 or 0.
struct LinkSample {
    static constexpr std::string_view kind = "link.sample";
    TextId link = TextId::none;
    std::int32_t up = 1;  // here, since an event then fills one cache line
    std::int64_t sent = 0;
    std::int64_t received = 0;
    std::int64_t errors = 0;
    std::int64_t retransmits = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("link", self.link);
        visit("sent", self.sent);
        visit("received", self.received);
        visit("errors", self.errors);
        visit("retransmits", self.retransmits);
        visit("up", self.up);
    }
};

}  // namespace deadrank::results
