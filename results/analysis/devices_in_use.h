// results/analysis/devices_in_use.h — Which device each process has, and which processes break the pattern of
// their peers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::analysis {

// Which device each process has, and which processes break the pattern of their peers. The pattern is the
// distance between the n-th process of a host and the n-th device that most processes of the job have:
// usually 0; 4 where the first half of each host belongs to another job.
class DevicesInUse {
public:
    explicit DevicesInUse(const Evidence& evidence);

    // The device that the rank computes on, or the pattern's if that was not recorded; -1 if the rank was
    // never seen to start.
    std::int32_t of(Rank rank) const;

    // A process off the pattern that shares its device, or that uses one outside of the pattern on a host
    // where most processes keep to it. Processes that exchanged their devices are not odd, nor is any process
    // on a host with fewer devices than processes. Nor are those that share devices alike on every host.
    struct Odd {
        Rank rank = no_rank;
        std::int32_t device = 0, usual = 0;
        Time at{0};
    };
    const std::vector<Odd>& odd() const { return odd_; }

private:
    struct Seat {
        std::int32_t node = 0, place = 0;
        TextId environment = {};
        std::optional<std::int32_t> device;
        Time at{0};
        std::int32_t offset() const { return *device - place; }
    };
    using Attempt = std::map<Rank, Seat>;  // who was there between two restarts

    void find_odd(const Evidence& evidence, const Attempt& attempt, std::int32_t devices_on_host);

    std::map<Rank, std::int32_t> last_;
    std::vector<Odd> odd_;
};

}  // namespace deadrank::results::analysis
