// runners/line/run_directory.cpp — Writes what was played, the plan first: it alone brings the rest back.
#include "runners/line/run_directory.h"

#include <fmt/format.h>

#include "results/reports/json_files.h"
#include "results/text/text_file.h"
#include "runners/line/line.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners {

namespace {

scenarios::Result<void> make_directory(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (!error) return {};
    return scenarios::refuse(scenarios::ErrorCode::io,
                             fmt::format("{} cannot be made: {}", path.string(), error.message()),
                             "name another directory with --out");
}

}  // namespace

RunDirectory::RunDirectory(const std::filesystem::path& out, std::string_view scenario, std::uint64_t seed)
    : path_(out / std::filesystem::path(scenario).relative_path() / std::to_string(seed)) {}

std::filesystem::path RunDirectory::of(scenarios::Variant variant) const {
    return variant == scenarios::Variant::fault ? path_ : path_ / scenarios::variant_name(variant);
}

scenarios::Result<void> RunDirectory::write(const Played& played) const {
    const std::filesystem::path place = of(played.plan.variant);
    return make_directory(place)
        .and_then([&] {
            return results::reports::write_text(scenarios::to_toml(played.plan), place / "plan.toml");
        })
        .and_then([&] { return results::write_evidence(played.record.evidence, place / "evidence.jsonl"); })
        .and_then([&] { return results::write_truth(played.record.truth, place / "truth.json"); })
        .and_then([&] { return results::reports::write_findings(played.findings, place / "findings.json"); });
}

scenarios::Result<void> RunDirectory::write(const results::Case& outcome) const {
    return make_directory(path_).and_then(
        [&] { return results::reports::write_verdict(outcome, path_ / "verdict.json"); });
}

}  // namespace deadrank::runners
