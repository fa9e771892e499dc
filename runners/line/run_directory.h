// runners/line/run_directory.h — Where one trial's values lie as files, so that one may enter the line
// anywhere: <out>/<scenario>/<seed>/ plan.toml, evidence.jsonl, truth.json, findings.json, verdict.json;
// control/ and healed/ likewise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "results/judging/case.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

struct Played;

class RunDirectory {
public:
    // Touches nothing yet.
    RunDirectory(const std::filesystem::path& out, std::string_view scenario, std::uint64_t seed);

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path of(scenarios::Variant variant) const;

    // Errors: io, with the file; what could be written before stays.
    scenarios::Result<void> write(const Played& played) const;
    scenarios::Result<void> write(const results::Case& outcome) const;

private:
    std::filesystem::path path_;
};

}  // namespace deadrank::runners
