// runners/backends/local/release_job.cpp — Each release has its own directory, found through PYTHONPATH; the
// bug is recognized by a pattern in the output, or by how the job ends.
#include <algorithm>
#include <fmt/format.h>

#include "runners/backends/local/local_subject.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/releases/release_cache.h"
#include "scenarios/model/kind_ids.h"
#include "scenarios/model/pattern.h"
#include "scenarios/model/release.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Release;

namespace {

// A run uses no network: these variables tell the libraries so.
constexpr const char* no_network[] = {"HF_HUB_OFFLINE",       "HF_DATASETS_OFFLINE",
                                      "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY",
                                      "PIP_NO_INDEX",         "DISABLE_TELEMETRY"};

// A library that asks a proxy all the same finds a local port on which nothing listens.
constexpr const char* proxies[] = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
                                   "http_proxy", "https_proxy", "all_proxy"};
constexpr const char* unreachable_proxy = "http://127.0.0.1:9";

scenarios::Result<Pins> known_pins() {
    const auto home = local_home();
    if (!home) return tl::unexpected(home.error());
    const fs::path root = home->parent_path().parent_path().parent_path();
    for (const fs::path& place : {root / "scenarios" / "releases", root / "releases"}) {
        std::error_code ignored;
        if (fs::exists(place / "pins.txt", ignored)) return read_pins(place / "pins.txt");
    }
    return read_pins(root / "scenarios" / "releases" / "pins.txt");
}

// What the job was seen to do: the line that matched, or how it ended. Empty if the bug did not show.
std::string seen_of(const Release& release, const Launched& launched, const Record& record) {
    if (release.ends == scenarios::ReleaseEnd::hang) return launched.end == LaunchEnd::stuck ? "it hung" : "";
    if (release.ends == scenarios::ReleaseEnd::crash) {
        const bool crashed = launched.end == LaunchEnd::ended &&
                             (launched.launcher.code != 0 || launched.launcher.signal != 0 ||
                              std::any_of(record.truth.ends.begin(), record.truth.ends.end(), [](auto end) {
                                  return end == results::RankEnd::failed || end == results::RankEnd::killed;
                              }));
        return crashed ? "it ended with an error" : "";
    }
    const auto pattern = scenarios::Pattern::of_part(release.shows);
    for (const Line& line : launched.lines) {
        if (pattern && pattern->fits(line.text)) return line.text;
    }
    return "";
}

}  // namespace

bool plays_a_release(const scenarios::Plan& plan) {
    return plan.workload_kind == scenarios::release_workload;
}

scenarios::Result<Manifest> release_subject(const scenarios::Plan& plan) {
    const Release release = scenarios::release_of(plan.workload);
    const auto pins = known_pins();
    if (!pins) return tl::unexpected(pins.error());
    const ReleaseCache cache;
    Manifest manifest;
    manifest.name = release.bug.package;
    manifest.framework = release.bug.package;
    manifest.version_of = release.bug.package;
    manifest.says = "a program of ours on published releases";
    manifest.directory = fs::path(release.program).parent_path();
    manifest.command = {release.program};
    manifest.step = R"(^step=(\d+) loss=(\S+))";
    std::string path;
    std::vector<scenarios::Pin> wanted = {release.fixed};
    wanted.insert(wanted.end(), release.with.begin(), release.with.end());
    for (const scenarios::Pin& pin : wanted) {
        const auto directory = cache.find(pin, *pins);
        if (!directory) return tl::unexpected(directory.error());
        path += (path.empty() ? "" : ":") + directory->string();
    }
    if (const auto bug = cache.find(release.bug, *pins); !bug) return tl::unexpected(bug.error());
    manifest.environment["PYTHONPATH"] = path;
    for (const char* name : no_network) manifest.environment[name] = "1";
    for (const char* name : proxies) manifest.environment[name] = unreachable_proxy;
    for (const char* name : {"NO_PROXY", "no_proxy"}) manifest.environment[name] = "127.0.0.1,localhost";
    return manifest;
}

std::map<std::string, std::string> release_overlays(const scenarios::Plan& plan) {
    std::map<std::string, std::string> overlays;
    const Release release = scenarios::release_of(plan.workload);
    const auto pins = known_pins();
    if (!pins) return overlays;
    for (const scenarios::Pin& pin : release.all()) {
        if (const auto directory = ReleaseCache().find(pin, *pins)) overlays[pin.text()] = *directory;
    }
    return overlays;
}

scenarios::Result<void> check_release(const scenarios::Plan& plan, const Launched& launched,
                                      const Record& record) {
    const Release release = scenarios::release_of(plan.workload);
    const bool due = std::any_of(plan.faults.begin(), plan.faults.end(), [&](const auto& fault) {
        return fault.kind == scenarios::FaultId::skew_version && fault.text("version") == release.bug.version;
    });
    const std::string seen = seen_of(release, launched, record);
    if (due == !seen.empty()) return {};
    const std::string looked_for =
        release.ends ? fmt::format("the job's end in a {}", scenarios::enum_name(*release.ends))
                     : fmt::format("a line like '{}'", release.shows);
    if (due)
        return refuse(
            ErrorCode::environment,
            fmt::format("the bug of {} did not occur: {} was not seen", release.bug.text(), looked_for),
            "look at its output with --out");
    return refuse(ErrorCode::environment,
                  fmt::format("{} shows the bug as well: {}", release.fixed.text(), seen),
                  "name a release that no longer has it, or look at its output with --out");
}

}  // namespace deadrank::runners
