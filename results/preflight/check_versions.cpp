// results/preflight/check_versions.cpp — Versions that differ between ranks, and versions that do not go
// together within one.
#include <fmt/format.h>
#include <set>

#include "results/preflight/checks.h"

namespace deadrank::results::preflight {

namespace {

const Border* border_between(const Knowledge& knowledge, const std::string& package, std::string_view a,
                             std::string_view b) {
    for (const Border& border : knowledge.borders) {
        const bool apart = (compare_versions(a, border.at) < 0) != (compare_versions(b, border.at) < 0);
        if (border.package == package && apart) return &border;
    }
    return nullptr;
}

}  // namespace

void check_version_skew(const Job& job, const Knowledge& knowledge, Remarks& remarks) {
    if (job.size() < 2) return;
    std::set<std::string> packages;
    for (const Snapshot& one : job) {
        for (const auto& [package, version] : one.versions) packages.insert(package);
    }
    for (const std::string& package : packages) {
        const auto split = split_of(job, package, &Snapshot::versions);
        if (!split) continue;
        const Border* border = border_between(knowledge, package, split->odd_value, split->usual_value);
        std::string says =
            fmt::format("{} is {} there and {} elsewhere", package, split->odd_value, split->usual_value);
        if (border) says += "; one would see " + border->shows;
        remarks.push_back(
            {Weight::error, "", split->odd, package, std::move(says), "install one version on all hosts",
             border ? border->source : "processes that speak one protocol need one version of it"});
    }
}

void check_version_needs(const Job& job, const Knowledge& knowledge, Remarks& remarks) {
    // Rows go from the newest on; the first that applies to a package decides.
    std::map<std::string, Remark> found;  // by what is said
    for (std::size_t i = 0; i < job.size(); ++i) {
        std::set<std::pair<std::string, std::string>> decided;
        for (const Need& need : knowledge.needs) {
            const auto package = job[i].versions.find(need.package), other = job[i].versions.find(need.needs);
            if (package == job[i].versions.end() || other == job[i].versions.end()) continue;
            if (compare_versions(package->second, need.from) < 0) continue;
            if (!decided.insert({need.package, need.needs}).second) continue;
            if (compare_versions(other->second, need.least) >= 0) continue;
            std::string says = fmt::format("{} {} needs {} {} or newer; here is {}", need.package,
                                           package->second, need.needs, need.least, other->second);
            Remark& remark = found[says];
            remark.weight = Weight::error;
            remark.processes.push_back(i);
            remark.subject = need.package;
            remark.says = std::move(says);
            remark.remedy = fmt::format("upgrade {}, or use an older {}", need.needs, need.package);
            remark.source = need.source;
        }
    }
    for (auto& [says, remark] : found) remarks.push_back(std::move(remark));
}

// Names, classes of exceptions and defaults move between two releases, and nobody has tested against them
// yet.
void check_nightlies(const Job& job, const Knowledge&, Remarks& remarks) {
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> found;
    for (std::size_t i = 0; i < job.size(); ++i) {
        for (const auto& [package, version] : job[i].versions) {
            if (version.find(".dev") != std::string::npos) found[{package, version}].push_back(i);
        }
    }
    for (auto& [which, processes] : found) {
        remarks.push_back({Weight::warning, "", std::move(processes), which.first,
                           fmt::format("{} {} is a nightly build", which.first, which.second),
                           fmt::format("pin a release of {} that the framework was tested with", which.first),
                           "PEP 440: .devN comes before the release"});
    }
}

}  // namespace deadrank::results::preflight
