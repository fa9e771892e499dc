// results/importers/dump_reader.h — Flight Recorder dumps and RAS answers into the story.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "results/importers/story.h"

namespace deadrank::results::importers {

// The rank is the number at the end of the file's name, before ".json". Throws nlohmann's exceptions on a
// wrong shape, before anything is told.
void read_dump(const nlohmann::ordered_json& dump, Rank rank, Story& story);

// RAS: hosts, pids and devices, and whose launch counts lag or who did not answer, as lines of log: a count
// alone is no collective.
void read_ras(const nlohmann::ordered_json& report, Story& story);

// {"message": {"message": "RuntimeError: …", "extraInfo": {…}}}
void read_error_file(const nlohmann::ordered_json& file, Rank rank, Story& story);

}  // namespace deadrank::results::importers
