// runners/backends/process/process_records.h — Reads what a job's processes left in files of JSON lines:
// evidence, and what was done to them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "inject/core/injector.h"
#include "inject/core/trigger.h"
#include "results/record/event.h"
#include "results/record/truth.h"

namespace deadrank::runners {

// In alphabetical order, at any depth.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& directory,
                                               std::string_view ending);

// Every line of `directory`/evidence as an event, its time relative to `started`. Returns how many lines were
// truncated or unknown.
int read_left_events(const std::filesystem::path& directory, std::int64_t started, results::EventSink& sink);

// Every readable line of `directory`/truth, in the order of their stamps.
std::vector<nlohmann::json> read_left_truth(const std::filesystem::path& directory);

// A line of truth: which fault, at what moment. `started` as above.
struct FaultLine {
    std::size_t fault = 0;
    std::string call, says;
    inject::Moment moment;  // its call is a view of `call`

    FaultLine(const nlohmann::json& said, std::int64_t started);
    FaultLine(const FaultLine&) = delete;
    FaultLine& operator=(const FaultLine&) = delete;
};

// The mark that a line of this kind leaves; none for other kinds.
std::optional<results::Mark> parse_mark(std::string_view kind, const FaultLine& said,
                                        const inject::PlannedFault& planned, const inject::Levers& levers);

void sort_by_time(std::vector<results::Mark>& marks);

}  // namespace deadrank::runners
