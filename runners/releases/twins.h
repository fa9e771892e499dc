// runners/releases/twins.h — A bug of a real release beside the simulated scenario of its kind: do our
// detectors say the same of both?
#pragma once

#include "runners/line/line.h"
#include "runners/releases/collection.h"
#include "runners/studies/parity.h"

namespace deadrank::runners::releases {

// Symptoms are compared, not ranks: the two jobs have another size and draw. Not played where one of them
// could not be, with the reason.
Compared compare_twins(const Library& library, const ReleaseBug& bug, Runner& sim, Runner& reality,
                       const LineOptions& options);

}  // namespace deadrank::runners::releases
