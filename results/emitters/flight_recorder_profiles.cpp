// results/emitters/flight_recorder_profiles.cpp — Dump versions by release of torch. That of 2.11 was read
// from a dump of its own, the older ones from the analyzer's checks.
#include "results/emitters/flight_recorder.h"
#include "results/emitters/releases.h"

namespace deadrank::results::emitters {

const std::vector<FlightRecorderProfile>& flight_recorder_profiles() {
    static const std::vector<FlightRecorderProfile> profiles = {
        {.torch = "2.5", .version = "2.4", .prefix = "nccl_trace_rank_", .library_key = "", .threads = false},
        {.torch = "2.7", .version = "2.7", .prefix = "nccl_trace_rank_", .library_key = "nccl_version"},
        {.torch = "2.11",
         .version = "2.10",
         .prefix = "comm_lib_trace_rank_",
         .library_key = "comm_lib_version"},
    };
    return profiles;
}

const FlightRecorderProfile& flight_recorder_profile(std::string_view torch) {
    const auto& all = flight_recorder_profiles();
    const FlightRecorderProfile* chosen = &all.front();
    for (const FlightRecorderProfile& one : all) {
        if (release(one.torch) <= release(torch)) chosen = &one;
    }
    return *chosen;
}

}  // namespace deadrank::results::emitters
