// scenarios/format/setting_reader.h — From TOML to settings by declared parameters: concrete values, choices,
// ranges, selectors.
#pragma once

#include <vector>

#include "scenarios/format/reader.h"
#include "scenarios/model/scenario.h"

namespace deadrank::scenarios {

// Reads what the table says of these parameters. "link.latency" is also `link = { latency = … }` and
// [cluster.link]. Defaults are left to resolve().
Settings read_settings(Reader& reader, const std::vector<Parameter>& parameters);

// One setting. What cannot be meant goes to `problems`, and the setting is then empty.
Setting read_setting(const Node& node, const Parameter& parameter, Problems& problems);

}  // namespace deadrank::scenarios
