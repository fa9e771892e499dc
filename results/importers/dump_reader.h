// results/importers/dump_reader.h — Reads Flight Recorder dumps and RAS answers into the story, and pickles
// as data.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "results/importers/story.h"
#include "scenarios/model/error.h"

namespace deadrank::results::importers {

// `rank` is the number at the end of the file's name, before ".json". Throws nlohmann's exceptions on a wrong
// shape, before the story is told anything.
void read_dump(const nlohmann::json& dump, Rank rank, Story& story);

// From RAS: hosts, pids and devices; ranks whose launch counts lag or that did not answer become log lines,
// since a count alone is not a collective.
void read_ras(const nlohmann::json& report, Story& story);

// {"message": {"message": "RuntimeError: …", "extraInfo": {…}}}
void read_error_file(const nlohmann::json& file, Rank rank, Story& story);

// A pickle read as data: containers, numbers and texts, and nothing else. Whatever would call or import
// something is refused, so an untrusted file can do no harm.
// Tuples and lists become arrays, keys become texts. At most 2,000,000 values, 64 levels, and 256 MiB of
// texts beyond the file's size. Errors: bad_input, with the byte and the opcode. With
// `cut`, a truncated pickle gives what could be read of it, and `cut` says where it ends.
scenarios::Result<nlohmann::json> from_pickle(std::string_view bytes, std::string* cut = nullptr);

bool looks_like_pickle(std::string_view bytes);

}  // namespace deadrank::results::importers
