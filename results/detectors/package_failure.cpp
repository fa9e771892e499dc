// results/detectors/package_failure.cpp — A package could not be built, found or imported. The package.load
// event says so; without one, the traceback does.
#include <fmt/format.h>

#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

using namespace analysis;

namespace {

bool is_build(std::string_view problem) { return classify_trouble(problem) == Trouble::build; }

// All ranks that failed on the same package are one finding.
std::vector<Finding> from_loads(const Evidence& evidence) {
    std::vector<Finding> findings;
    for (const Event* event : evidence.each<PackageLoad>()) {
        const auto* load = event->as<PackageLoad>();
        if (load->result == Code::ok) continue;
        const std::string_view package = evidence.text(load->name), problem = evidence.text(load->problem),
                               version = evidence.text(load->version);
        auto* same = findings.empty() ? nullptr : &findings.front();
        if (same && same->blame.component == package) {
            same->blame.ranks.push_back(event->rank);
            continue;
        }
        if (same) continue;
        findings.push_back(
            {.symptom = is_build(problem) ? "build_or_install_failure" : "import_or_symbol_error",
             .blame = {.ranks = {event->rank}, .component = std::string(package)},
             .at = event->at,
             .says = fmt::format("{}{}{} could not be loaded: {}", package, version.empty() ? "" : " ",
                                 version, quoted(problem)),
             .causes = {"dependency_or_hardware_mismatch"}});
    }
    for (Finding& finding : findings) {
        Blame blame = blame_ranks(evidence.facts<Lives>(), finding.blame.ranks);
        blame.component = finding.blame.component;
        finding.blame = std::move(blame);
    }
    return findings;
}

}  // namespace

Findings package_failure(const Evidence& evidence) {
    if (auto found = from_loads(evidence); !found.empty()) return found;
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::build)) {
        findings.push_back(
            finding_of(evidence, outbreak, "build_or_install_failure", {"dependency_or_hardware_mismatch"}));
    }
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::import)) {
        findings.push_back(
            finding_of(evidence, outbreak, "import_or_symbol_error", {"dependency_or_hardware_mismatch"}));
    }
    return findings;
}

extern const DetectorRow package_failure_row{
    .name = "package_failure",
    .reports = {"build_or_install_failure", "import_or_symbol_error"},
    .examine = package_failure};

}  // namespace deadrank::results::detectors
