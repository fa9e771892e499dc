// results/detectors/device_fault.cpp — The hardware or the driver reports a fault. XIDs that an application
// can cause by itself do not count (in NVIDIA's catalogue 13, 31, 32, 43, 45, 68, 69 ask for a restart of the
// application at most).
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

using namespace analysis;

namespace {

constexpr std::array<int, 8> applications = {13, 31, 32, 43, 44, 45, 68, 69};

bool is_hardware(int xid) {
    return std::find(applications.begin(), applications.end(), xid) == applications.end();
}

// The event's own rank, else the rank with the process id in the kernel line: "node1 kernel: NVRM: Xid
// (PCI:0000:1b:00): 79, pid=1005, name=python, …".
Rank process_of(const Evidence& evidence, const Event& event) {
    if (event.rank >= 0) return event.rank;
    const std::string_view line = evidence.text(event.as<DeviceError>()->message);
    const auto at = line.find("pid=");
    if (at == std::string_view::npos) return no_rank;
    const int pid = std::atoi(std::string(line.substr(at + 4, 10)).c_str());
    for (const Event* start : evidence.each<RankStart>()) {
        if (start->as<RankStart>()->pid == pid && start->at <= event.at) return start->rank;
    }
    return no_rank;
}

// All ranks of the host in the kernel line, for faults that belong to no process.
std::vector<Rank> ranks_of_host(const Evidence& evidence, std::string_view line) {
    const Lives& lives = evidence.facts<Lives>();
    for (const Event* start : evidence.each<RankStart>()) {
        const std::string_view host = evidence.text(start->as<RankStart>()->host);
        if (!host.empty() && line.substr(0, line.find(' ')) == host)
            return lives.on_node(lives.node_of(start->rank));
    }
    return {};
}

std::vector<Finding> from_kernel(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<int, Finding> by_xid;
    for (const Event* event : evidence.each<DeviceError>()) {
        const auto* error = event->as<DeviceError>();
        if (!is_hardware(error->xid)) continue;
        const std::string_view line = evidence.text(error->message);
        const Rank process = process_of(evidence, *event);
        const auto ranks = process != no_rank ? std::vector<Rank>{process} : ranks_of_host(evidence, line);
        Finding& finding = by_xid[error->xid];
        if (finding.symptom.empty()) {
            finding.symptom = "device_fault_reported";
            finding.at = event->at;
            finding.says = fmt::format("the kernel reports Xid {} for {}: {}", error->xid, ranks_text(ranks),
                                       shorten_text(line, 160));
            finding.blame.step = process == no_rank ? std::nullopt : step_at(evidence, process, event->at);
            finding.causes = {"hardware_or_link_fault"};
        }
        finding.blame.ranks.insert(finding.blame.ranks.end(), ranks.begin(), ranks.end());
    }
    std::vector<Finding> findings;
    for (auto& [xid, finding] : by_xid) {
        const auto step = finding.blame.step;
        finding.blame = blame_ranks(lives, finding.blame.ranks);
        finding.blame.step = step;
        finding.blame.component = "gpu";
        findings.push_back(std::move(finding));
    }
    return findings;
}

// The first sample in which a device counts uncorrected memory errors.
std::vector<Finding> from_counters(const Evidence& evidence) {
    std::map<Rank, std::int64_t> before;
    for (const Event* event : evidence.each<DeviceSample>()) {
        const auto* sample = event->as<DeviceSample>();
        const auto [known, fresh] = before.try_emplace(event->rank, 0);
        if (sample->ecc_uncorrected <= known->second) continue;
        Finding finding{.symptom = "device_fault_reported",
                        .blame = blame_ranks(evidence.facts<Lives>(), {event->rank}),
                        .at = event->at,
                        .says = fmt::format("the device of rank {} counts {} uncorrected memory errors",
                                            event->rank, sample->ecc_uncorrected),
                        .causes = {"hardware_or_link_fault"}};
        finding.blame.component = "gpu";
        finding.blame.step = step_at(evidence, event->rank, event->at);
        return {finding};
    }
    return {};
}

}  // namespace

Findings device_fault(const Evidence& evidence) {
    std::vector<Finding> findings = from_kernel(evidence);
    if (findings.empty()) findings = from_counters(evidence);
    if (findings.empty()) {
        for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::device)) {
            findings.push_back(
                finding_of(evidence, outbreak, "device_fault_reported", {"hardware_or_link_fault"}));
        }
    }
    return findings;
}

extern const DetectorRow device_fault_row{
    .name = "device_fault", .reports = {"device_fault_reported"}, .examine = device_fault};

}  // namespace deadrank::results::detectors
