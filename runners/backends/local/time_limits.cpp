// runners/backends/local/time_limits.cpp — Time limits of a real job, and whether this machine was too slow
// to judge it.
#include <algorithm>
#include <fmt/format.h>

#include "runners/backends/local/arming.h"
#include "runners/backends/local/local_job.h"
#include "runners/backends/local/local_subject.h"

namespace deadrank::runners {

namespace {

// A real time-out takes real time. Stated ones are kept up to a bound; the library's default of many minutes
// is shortened to the subject's.
constexpr std::int64_t longest_timeout = 30'000'000'000;
// torchrun waits 30 s for a rank that does not answer its SIGTERM; until then, silence is not a hang.
constexpr std::int64_t patience = 36'000'000'000;
constexpr std::int64_t shortest_watch = 66'000'000'000;  // a detector calls a wait of 60 s a hang
constexpr std::int64_t longest_watch = 120'000'000'000;
constexpr std::int64_t lateness_allowed = 5'000'000'000;

// How long a job may be silent before it counts as stuck. If nothing bounds its waits, that is the plan's
// `observe`.
std::int64_t quiet_of(const scenarios::Plan& plan, const Manifest& manifest, std::int64_t timeout) {
    if (manifest.quiet.count() > 0) return manifest.quiet.count();
    if (cluster_number(plan, "watchdog", 1) == 0) {
        return std::clamp<std::int64_t>(cluster_number(plan, "observe", 0), shortest_watch, longest_watch);
    }
    return std::max(timeout + patience, shortest_watch);
}

std::int64_t limit_of(const scenarios::Plan& plan, const Manifest& manifest, std::int64_t quiet) {
    if (manifest.limit.count() > 0) return manifest.limit.count();
    const auto setting = [&](const char* name) {
        return plan.workload.contains(name) ? plan.number(plan.workload, name) : 0;
    };
    return manifest.start.count() + 4 * setting("steps") * setting("step_time") + 2 * quiet;
}

}  // namespace

std::int64_t timeout_of(const scenarios::Plan& plan, const Manifest& manifest, Record& record) {
    const std::int64_t usual = manifest.timeout.count();
    if (usual == 0) return 0;  // the program's own, which is unknown
    const auto stated = plan.cluster.find("collective_timeout");
    const bool bounded = cluster_number(plan, "watchdog", 1) != 0;
    if (!bounded && stated != plan.cluster.end()) return stated->second.number;  // nothing ends the wait
    if (stated == plan.cluster.end()) return usual;
    if (stated->second.number > 0 && stated->second.number <= longest_timeout) return stated->second.number;
    record.notes.push_back(fmt::format("the collective time-out of {} is played as {}s",
                                       scenarios::value_text(stated->second), usual / 1'000'000'000));
    return usual;
}

LaunchSpec launch_spec(const scenarios::Plan& plan, const Manifest& manifest, results::Time timeout) {
    LaunchSpec spec;
    spec.start = manifest.start;
    spec.quiet = results::Time(quiet_of(plan, manifest, timeout.count()));
    spec.limit = results::Time(limit_of(plan, manifest, spec.quiet.count()));
    spec.disk = manifest.disk;
    spec.largest_file = manifest.largest_file;
    return spec;
}

// A job that we had to end while its processes waited for a processor says nothing about the fault: the
// machine may be the cause. A job that waits for a message needs no processor, so it can be judged on a busy
// machine, too.
std::string too_slow(const Launched& launched) {
    const bool by_time = launched.end == LaunchEnd::silent || launched.end == LaunchEnd::stuck ||
                         launched.end == LaunchEnd::over_limit;
    if (!by_time) return {};
    const auto seconds = [](std::int64_t time) { return static_cast<double>(time) / 1e9; };
    if (launched.late > lateness_allowed)
        return fmt::format("our own clock fell {:.1f}s behind", seconds(launched.late));
    const std::int64_t whole = launched.ended - launched.started;
    const std::int64_t watched = launched.end == LaunchEnd::over_limit ? whole : launched.silence;
    const results::Time waited =
        results::waited_between(launched.waiting, results::Time(whole - watched), results::Time(whole));
    if (4 * waited.count() <= watched) return {};
    return fmt::format("in the last {:.1f}s its processes waited for a processor, {:.1f}s in sum",
                       seconds(watched), seconds(waited.count()));
}

}  // namespace deadrank::runners
