// results/emitters/emitter_catalog.cpp — Every emitter by name, and the files that it makes.
#include "results/emitters/emitter_catalog.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "results/emitters/c10d_names.h"
#include "results/emitters/flight_recorder.h"
#include "results/emitters/logs.h"
#include "results/emitters/ras.h"
#include "results/emitters/records.h"
#include "results/record/text_file.h"

namespace deadrank::results::emitters {

// Each file is whole or absent.
scenarios::Result<void> write_files(const std::vector<EmittedFile>& files,
                                    const std::filesystem::path& directory, Time taken) {
    for (const EmittedFile& file : files) {
        const auto place = path_below(directory, file.name);
        if (!place) return tl::unexpected(place.error());
        if (auto written = write_text(file.bytes, *place); !written) return written;
        if (taken == never) continue;
        const std::int64_t at = wall_clock(taken);
        const timespec time{at / 1'000'000'000, at % 1'000'000'000};
        const timespec both[2] = {time, time};
        utimensat(AT_FDCWD, place->c_str(), both, 0);
    }
    return {};
}

// ── One line a format.

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
        {"nccl_log", "NCCL_DEBUG=INFO of each process: nccl/HOST.PID.log", nccl_logs},
        {"c10d_log", "each rank's standard error with c10d's watchdog texts: logs/rank_R.log", c10d_logs},
        {"torchrun", "torchrun's agent log, and error.json of ranks that raised", torchrun_files},
        {"kernel_log", "dmesg -T of each node, with XIDs: kernel/HOST.log", kernel_logs},
        {"ras", "NCCL RAS's status as JSON and text, at that moment", ras_files},
        {"nvrx_cycles", "restart cycles as NVIDIA's resiliency extension keeps them", nvrx_cycles},
        {"inspector", "NCCL Inspector's JSON lines of completed collectives", inspector_logs},
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
