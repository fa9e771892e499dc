// results/record/payload_line.h — Reads what an event says from a line that an observer in a real process
// wrote: JSON with "kind" and the fields of that kind. Fields that are absent keep their defaults.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "results/record/event.h"

namespace deadrank::results {

using KeepText = std::function<TextId(std::string_view)>;

// False if the line is truncated or of an unknown kind.
bool read_payload(std::string_view line, const KeepText& keep, Payload& payload);
bool read_payload(const nlohmann::json& read, const KeepText& keep,
                  Payload& payload);  // of a line that is parsed

}  // namespace deadrank::results
