// runners/manual/manual_pages.h — The manual as pages, written from the tables that the program itself works
// with.
#pragma once

#include <string>
#include <vector>

#include "runners/line/library.h"
#include "sim/workloads/settings.h"

namespace deadrank::runners::manual {

struct Page {
    std::string path;   // below the directory of the manual: "workloads/zero.md"
    std::string title;  // as the index calls it
    std::string text;
};

// What a scenario may say and what a run does, in the order in which one reads it. The index comes first, and
// names `more` as well. Some pages play a run.
std::vector<Page> pages_of(const Library& library, const std::vector<Page>& more);

// One workload: its settings, seams and blocks, and what its ranks do in a step of a run that is played for
// the page.

// Markdown. The cluster of the played run is the default one.
std::string workload_page(const sim::WorkloadKind& kind);

// The settings that every training job has, with the defaults that they have there.
std::vector<scenarios::Parameter> settings_of_every_job();

// What each detector reports, needs and holds against a threshold.

// What a detector was seen to need in scenarios of the catalogue.
struct DetectorNeeds {
    std::vector<std::string> scenarios;  // in which it spoke, in order of id
    std::vector<std::string>
        always;  // kinds of events without which it was silent, or blamed others, in each
    std::vector<std::string> sometimes;  // in some
};

// Plays scenarios under seed 1 and takes one kind of events away at a time. One entry a detector, in its
// order.
std::vector<DetectorNeeds> needs_of_detectors(const Library& library);

std::string detectors_page(const Library& library);  // Markdown

}  // namespace deadrank::runners::manual
