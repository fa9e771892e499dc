// runners/manual/detectors_page.h — What each detector reports, needs and holds against a threshold.
#pragma once

#include <string>
#include <vector>

#include "runners/line/library.h"

namespace deadrank::runners::manual {

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
