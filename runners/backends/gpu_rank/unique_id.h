// runners/backends/gpu_rank/unique_id.h — NCCL's unique id as text, for the meeting place.
#pragma once

#include <string>

#include "runners/backends/gpu_rank/api.h"

namespace deadrank::runners {

std::string in_hex(const NcclId& id);
NcclId from_hex(const std::string& text);

}  // namespace deadrank::runners
