// results/external/gpucm.cpp — Exit code 2 means CRITICAL, but also a wrong command line: the output decides.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "results/emitters/logs.h"
#include "results/emitters/snapshot.h"
#include "results/external/foreign_detectors.h"
#include "results/external/tool_program.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::external {

using scenarios::Symptom;

namespace {

using scenarios::ErrorCode;
using scenarios::Result;
namespace fs = std::filesystem;

void make_dmesg(const fs::path& directory, const std::string& log) {
    const auto written = emitters::write_files(
        {{"log", log}, {"bin/dmesg", fmt::format("#!/bin/sh\ncat '{}/log'\n", directory.string())}},
        directory);
    if (!written) throw std::runtime_error(written.error().text());
    fs::permissions(directory / "bin/dmesg", fs::perms::owner_all);
}

}  // namespace

Result<Gpucm> Gpucm::find(const processes::Bounds& bounds) {
    Gpucm tool;
    tool.bounds_ = bounds;
    tool.program_ = processes::find_program((tools_home() / "bin" / "health_checks").string());
    tool.version_ = package_version(tools_python(), "gpucm");
    if (!tool.program_.empty() && !tool.version_.empty()) return tool;
    return scenarios::refuse(ErrorCode::environment, "gpucm: it is not installed",
                             "`./dev tools` installs it (gpucm of PyPI)");
}

Memo::Answer Gpucm::query(const std::string& log) const {
    auto scratch = Scratch::make();
    if (!scratch) return tl::unexpected(scratch.error());
    make_dmesg(scratch->path(), log);
    const char* path = std::getenv("PATH");
    return processes::run_bounded(
        {program_, "check-syslogs", "xid", "deadrank", "nagios", "--sink=do_nothing", "--log-folder",
         (scratch->path() / "logs").string()},
        bounds_, {},
        {fmt::format("PATH={}/bin:{}", scratch->path().string(), path ? path : "/usr/bin:/bin")});
}

std::vector<Finding> Gpucm::examine(const Evidence& evidence) const {
    const auto snapshot = emitters::snapshot_of(evidence);
    std::map<std::string, std::int32_t> nodes;
    for (const auto& [process, place] : emitters::places_of(evidence, snapshot.at))
        nodes[place.host] = place.node;
    std::vector<Finding> findings;
    for (const auto& file : emitters::kernel_logs(evidence, snapshot)) {
        const auto answer = memo_.query({{"dmesg", file.bytes}}, [&] { return query(file.bytes); });
        if (!answer) throw std::runtime_error(answer.error().text());
        if (answer->out.find("OK - xid") != std::string::npos) continue;
        if (answer->out.find(" - xid errors") == std::string::npos)
            throw std::runtime_error(
                fmt::format("gpucm {} {}; it said: {}", version_, answer->how(), answer->last_error_text()));
        const std::string host = fs::path(file.name).stem().string();
        Finding finding{.symptom = id_of(Symptom::device_fault_reported),
                        .detector = std::string(name()),
                        .blame = {},
                        .at = snapshot.at,
                        .says = fmt::format("{}: {}", host, answer->out.substr(0, answer->out.find('\n')))};
        finding.blame.nodes = {nodes[host]};
        findings.push_back(std::move(finding));
    }
    return findings;
}

}  // namespace deadrank::results::external
