// tests/fuzz/tool_answer_fuzz.cpp — Promise: the answers of other people's detectors (NCCL's RAS, torch's
// Flight Recorder analyser, NVIDIA's resiliency extension, traincheck-lint) are refused with words, or read.
#include "results/external/foreign_detectors.h"
#include "results/external/nvrx.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(tool_answer) {
    namespace external = results::external;
    bool accepted = false;
    const auto take = [&](const auto& result) { accepted = (result || refused(result)) || accepted; };
    const auto ras = external::read_ras_json(text);
    take(ras);
    if (ras) external::find_troubles(*ras);
    take(external::read_lint(text));
    take(external::read_restart_response(text));
    const auto problems = external::read_flight_recorder_report(text);
    const auto rows = external::read_attribution(text);
    return accepted || !problems.empty() || !rows.empty();
}
