// results/preflight/job_snapshot.h — What is known of a job before it begins.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"
#include "scenarios/model/error.h"

namespace deadrank::results::preflight {

struct Interface {
    std::string name;
    bool up = true;
    bool loopback = false;
    bool address = true;  // has an IPv4 or IPv6 address
};

struct Snapshot {
    std::string host;
    std::int64_t pid = 0;
    std::map<std::string, std::string, std::less<>> environment;
    std::map<std::string, std::string, std::less<>> versions;  // nccl, cuda, driver, torch, python, …
    std::vector<Interface> interfaces;                         // empty: not queried
    std::optional<std::int64_t> shared_memory;                 // bytes free in /dev/shm
    std::optional<std::int64_t> open_files;                    // the soft limit
    std::optional<std::int64_t> gpus;                          // that the driver shows
    std::optional<bool> master_resolves;                       // MASTER_ADDR has an address
    std::optional<bool> master_port_taken;                     // here, as seen by the rank that would listen

    // Empty when the variable is not set.
    std::string_view variable(std::string_view name) const;
    bool has(std::string_view name) const { return environment.contains(name); }
};

// What a run's evidence shows of each rank's start, in order of process. It does not describe the machines.
std::vector<Snapshot> snapshots_of(const Evidence& evidence);

std::string to_json(const Snapshot& snapshot);
// Error: bad_input, with what is wrong.
scenarios::Result<Snapshot> snapshot_from_json(std::string_view text, const std::string& name);

}  // namespace deadrank::results::preflight
