// results/emitters/catalog.cpp — One line a format.
#include "results/emitters/catalog.h"

#include "results/emitters/flight_recorder.h"

namespace deadrank::results::emitters {

namespace {

std::vector<EmittedFile> pickles(const Evidence& evidence, const Snapshot& snapshot) {
    return flight_recorder_files(evidence, snapshot, DumpForm::pickle);
}
std::vector<EmittedFile> traces(const Evidence& evidence, const Snapshot& snapshot) {
    return flight_recorder_files(evidence, snapshot, DumpForm::json);
}

}  // namespace

const std::vector<Emitter>& all_emitters() {
    static const std::vector<Emitter> emitters = {
        {"flight_recorder", "PyTorch Flight Recorder: a pickle for each rank that could dump", pickles},
        {"flight_recorder_json", "the same as the JSON of torch's control plane", traces},
    };
    return emitters;
}

const Emitter* find_emitter(std::string_view name) {
    for (const Emitter& one : all_emitters()) {
        if (one.name == name) return &one;
    }
    return nullptr;
}

}  // namespace deadrank::results::emitters
