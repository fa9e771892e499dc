// results/emitters/flight_recorder.h — Flight Recorder dumps as torch writes them: JSON, and Python's pickle.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "results/emitters/emitter_catalog.h"
#include "results/emitters/snapshot.h"
#include "results/record/evidence.h"

namespace deadrank::results::emitters {

// ── PyTorch's Flight Recorder: for each rank, the last collectives it entered and how far each got. One
// pickle per rank, or the JSON of its control plane.

// What differs between releases of torch; the table is in releases.cpp.
struct FlightRecorderProfile {
    std::string torch;          // "2.11": the first release that writes this
    std::string version;        // of the dump
    std::string prefix;         // of the file's name, before the rank
    std::string library_key;    // key of the library's version; empty = not written
    bool threads = true;        // thread_id and thread_name
    std::size_t buffer = 2000;  // entries kept
};

// The newest profile that is not newer than this torch; the oldest for an unknown one.
const FlightRecorderProfile& flight_recorder_profile(std::string_view torch);
const std::vector<FlightRecorderProfile>& flight_recorder_profiles();

struct RankDump {
    Rank rank = 0;  // as RANK named it
    Rank process = 0;
    std::string torch;
};

enum class DumpForm { pickle, json };

// The processes that could dump at that moment: alive, or ended by their own watchdog. A watchdog's dump is
// from the end of its process.
std::vector<RankDump> dumping_ranks(const Evidence& evidence, const Snapshot& snapshot);

// Files by descending rank: where a directory lists the newest first, rank 0 is then read first. A rank's
// profile follows the torch version that it reported. `prefix`: TORCH_FR_DUMP_TEMP_FILE on all ranks; empty =
// each release's own.
std::vector<EmittedFile> flight_recorder_files(const Evidence& evidence, const Snapshot& snapshot,
                                               DumpForm form = DumpForm::pickle,
                                               std::string_view prefix = {});

nlohmann::ordered_json flight_recorder_dump(const Evidence& evidence, Rank process, Time at,
                                            const FlightRecorderProfile& profile, DumpForm form);

// A JSON tree as a pickle of protocol 2, in the few opcodes that torch itself writes.
// Arrays of two below the key "process_group" become tuples, all others lists. Text must be UTF-8.
std::string to_pickle(const nlohmann::ordered_json& tree);

}  // namespace deadrank::results::emitters
