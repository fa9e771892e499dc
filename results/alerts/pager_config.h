// results/alerts/pager_config.h — An Alertmanager configuration without anything that would reach a person.
#pragma once

#include <filesystem>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::results::alerts {

// How a configuration is changed for a run with a receiver on loopback.
struct PagerRun {
    std::string url = {};  // each receiver sends its notifications there; empty = nowhere
    double speed = 1;      // every wait is divided by it
    std::string incident_label =
        {};  // alerts that differ in it meet in no group and inhibit no other; may be empty
};

struct PagerConfig {
    std::string text;            // routes, inhibition, waits and time intervals; the names of receivers
    bool has_intervals = false;  // time intervals, which ask a wall clock
};

// Errors: io, bad_input.
scenarios::Result<PagerConfig> read_pager_config(const std::filesystem::path& file, const PagerRun& run = {});

}  // namespace deadrank::results::alerts
