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
void read_dump(const nlohmann::ordered_json& dump, Rank rank, Story& story);

// From RAS: hosts, pids and devices; ranks whose launch counts lag or that did not answer become log lines,
// since a count alone is not a collective.
void read_ras(const nlohmann::ordered_json& report, Story& story);

// {"message": {"message": "RuntimeError: …", "extraInfo": {…}}}
void read_error_file(const nlohmann::ordered_json& file, Rank rank, Story& story);

// A pickle read as data: containers, numbers and texts, and nothing else. Whatever would call or import
// something is refused, so an untrusted file can do no harm.
// Tuples and lists become arrays, keys become texts. Errors: bad_input, with the byte and the opcode. With
// `cut`, a truncated pickle gives what could be read of it, and `cut` says where it ends.
scenarios::Result<nlohmann::ordered_json> from_pickle(std::string_view bytes, std::string* cut = nullptr);

bool looks_like_pickle(std::string_view bytes);

}  // namespace deadrank::results::importers
