// runners/manual/manual_pages.h — The manual's pages, written from the tables that the program itself uses.
#pragma once

#include <string>
#include <vector>

#include "runners/pipeline/library.h"
#include "sim/workloads/settings.h"

namespace deadrank::runners::manual {

struct Page {
    std::string path;   // below the directory of the manual: "workloads/zero.md"
    std::string title;  // its name in the index
    std::string text;
};

// What a scenario may say and what a run does, in reading order. The index comes first, and also lists
// `more`. Some pages play a run.
std::vector<Page> pages_of(const Library& library, const std::vector<Page>& more);

// One workload: its settings, seams and blocks, and what its ranks do in one step of a run played for the
// page.
// Markdown. The run is played on the default cluster.
std::string workload_page(const sim::WorkloadKind& kind);
std::string python_page();  // of the workload `python`, whose ranks are real processes
std::string recording_page();

// The settings that every training job has, with their defaults.
std::vector<scenarios::Parameter> settings_of_every_job();

// ── What each detector reports, which evidence it needs, and its thresholds.

// The evidence that a detector was seen to need in scenarios of the catalogue.
struct DetectorNeeds {
    std::vector<std::string> scenarios;  // in which it rang, in order of id
    std::vector<std::string>
        always;  // event kinds without which it was silent or blamed others, in all of these
    std::vector<std::string> sometimes;  // in some
};

// Plays scenarios under seed 1 and removes one kind of event at a time. One entry per detector, in catalog
// order.
std::vector<DetectorNeeds> needs_of_detectors(const Library& library);

std::string detectors_page(const Library& library);  // Markdown

// For each symptom what it is told of, who is named and how soon; its examples are played.
std::string expect_page(const Library& library);  // Markdown

}  // namespace deadrank::runners::manual
