// runners/preflight/gathering.cpp — Files appear whole, by rename. The process whose name sorts first
// reports, and removes the directory once the others have read it.
#include "runners/preflight/gathering.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <set>
#include <thread>
#include <unistd.h>

#include "results/processes/private_directory.h"
#include "scenarios/model/document.h"

namespace deadrank::runners {

namespace {

namespace fs = std::filesystem;
using results::preflight::Snapshot;
using std::chrono::steady_clock;

std::optional<std::int64_t> number_of(const Snapshot& one, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        const std::string_view text = one.variable(name);
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (!text.empty() && error == std::errc() && end == text.data() + text.size()) return number;
    }
    return std::nullopt;
}

std::string job_name(const Snapshot& one) {
    for (const char* name :
         {"SLURM_JOB_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "TORCHELASTIC_RUN_ID"}) {
        if (one.has(name)) {
            std::string text(one.variable(name));
            std::replace_if(
                text.begin(), text.end(), [](unsigned char c) { return !std::isalnum(c); }, '-');
            return text;
        }
    }
    return "job";
}

std::set<std::string> names_in(const fs::path& directory, std::string_view ending) {
    std::set<std::string> names;
    std::error_code gone;
    for (fs::directory_iterator at(directory, gone), end; !gone && at != end; at.increment(gone)) {
        const std::string name = at->path().filename().string();
        if (name.ends_with(ending)) names.insert(name);
    }
    return names;
}

// Waits until `expected` files are there, or until `until`.
std::set<std::string> await(const fs::path& directory, std::string_view ending, std::int64_t expected,
                            steady_clock::time_point until) {
    while (true) {
        auto names = names_in(directory, ending);
        if (static_cast<std::int64_t>(names.size()) >= expected || steady_clock::now() >= until) return names;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

scenarios::Result<void> put(const fs::path& file, const std::string& text) {
    const fs::path unfinished = file.string() + ".part";
    std::ofstream out(unfinished, std::ios::binary);
    out << text;
    out.close();
    std::error_code trouble;
    if (out) fs::rename(unfinished, file, trouble);
    if (out && !trouble) return {};
    return scenarios::refuse(scenarios::ErrorCode::io, "cannot be written",
                             "name a directory with --gather that all processes may write", {file.string()});
}

}  // namespace

GatherPlan gather_plan(const Snapshot& own, const fs::path& shared) {
    GatherPlan plan;
    const auto all = number_of(own, {"OMPI_COMM_WORLD_SIZE", "WORLD_SIZE", "SLURM_NTASKS"});
    const auto here = number_of(own, {"OMPI_COMM_WORLD_LOCAL_SIZE", "LOCAL_WORLD_SIZE"});
    plan.expected = std::max<std::int64_t>(1, all.value_or(1));
    if (!shared.empty()) {
        plan.directory = shared / ("deadrank-doctor-" + job_name(own));
        return plan;
    }
    if (here && *here < plan.expected) {
        plan.this_host_only = true;
        plan.expected = std::max<std::int64_t>(1, *here);
    }
    // The launcher is the parent of all processes on this host, and each job has another.
    std::error_code ignored;
    plan.directory =
        fs::temp_directory_path(ignored) / fmt::format("deadrank-doctor-{}-{}", job_name(own), getppid());
    return plan;
}

scenarios::Result<Gathered> gather(const Snapshot& own, const GatherPlan& plan,
                                   std::chrono::milliseconds patience) {
    Gathered gathered;
    if (plan.expected <= 1) {
        gathered.job = {own};
        return gathered;
    }
    std::error_code trouble;
    fs::create_directories(plan.directory.parent_path(), trouble);  // of --gather; what is wrong is said below
    if (auto shared = results::processes::share_private_directory(plan.directory); !shared)
        return tl::unexpected(shared.error());
    const std::string name = fmt::format("{}-{:010}", own.host, own.pid);
    const auto until = steady_clock::now() + patience;
    if (auto done = put(plan.directory / (name + ".json"), to_json(own)); !done)
        return tl::unexpected(done.error());
    const auto files = await(plan.directory, ".json", plan.expected, until);
    for (const std::string& file : files) {
        const auto text = scenarios::read_text(plan.directory / file);
        if (!text) return tl::unexpected(text.error());
        auto one = results::preflight::snapshot_from_json(*text, (plan.directory / file).string());
        if (!one) return tl::unexpected(one.error());
        gathered.job.push_back(std::move(*one));
    }
    gathered.complete = static_cast<std::int64_t>(files.size()) >= plan.expected;
    gathered.speaks = !files.empty() && *files.begin() == name + ".json";
    if (auto done = put(plan.directory / (name + ".read"), ""); !done && gathered.speaks)
        return tl::unexpected(done.error());
    if (gathered.speaks) {
        await(plan.directory, ".read", static_cast<std::int64_t>(files.size()),
              steady_clock::now() + std::chrono::seconds(5));
        fs::remove_all(plan.directory, trouble);
    }
    put_in_order(gathered.job);
    return gathered;
}

void put_in_order(results::preflight::Job& job) {
    const auto place = [](const Snapshot& one) {
        const auto rank = number_of(one, {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"});
        return std::tuple(rank.value_or(INT64_MAX), one.host, one.pid);
    };
    std::stable_sort(job.begin(), job.end(),
                     [&](const Snapshot& a, const Snapshot& b) { return place(a) < place(b); });
}

}  // namespace deadrank::runners
