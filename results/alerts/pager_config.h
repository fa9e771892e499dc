// results/alerts/pager_config.h — An Alertmanager configuration without anything that would reach a person.
#pragma once

#include <filesystem>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::results::alerts {

struct PagerConfig {
    std::string text;        // routes, inhibition and times; of each receiver only its name
    double group_wait = 30;  // of the root route, in seconds
};

// Errors: io, bad_input.
scenarios::Result<PagerConfig> read_pager_config(const std::filesystem::path& file);

}  // namespace deadrank::results::alerts
