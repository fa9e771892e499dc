// results/emitters/flight_recorder.h — Flight Recorder dumps as torch writes them: JSON, and Python's pickle.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "results/emitters/emitter_catalog.h"
#include "results/emitters/snapshot.h"
#include "results/record/evidence.h"

namespace deadrank::results::emitters {

// PyTorch's Flight Recorder: of each rank, the last collectives it entered and how far each had come. One
// pickle a rank, or the JSON of its control plane.

// What differs between releases of torch; the tables are in flight_recorder_profiles.cpp.
struct FlightRecorderProfile {
    std::string torch;          // "2.11": the first release that writes this
    std::string version;        // of the dump
    std::string prefix;         // of the file's name, before the rank
    std::string library_key;    // under which the library's version stands; empty = not written
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

// Files in order of falling rank: where a directory lists the newest first, rank 0 is the first that is read.
// Each rank's profile is that of the torch it said it has. `prefix`: what TORCH_FR_DUMP_TEMP_FILE says on all
// of them; empty = each release's own.
std::vector<EmittedFile> flight_recorder_files(const Evidence& evidence, const Snapshot& snapshot,
                                               DumpForm form = DumpForm::pickle,
                                               std::string_view prefix = {});

nlohmann::ordered_json flight_recorder_dump(const Evidence& evidence, Rank process, Time at,
                                            const FlightRecorderProfile& profile, DumpForm form);

// A JSON tree as a pickle of protocol 2, in the few opcodes that torch itself writes.

// Arrays of two below the key "process_group" become tuples, all others lists. Text must be UTF-8.
std::string to_pickle(const nlohmann::ordered_json& tree);

}  // namespace deadrank::results::emitters
