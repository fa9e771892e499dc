// scenarios/format/storm_file.h — Many incidents over days, drawn from a published table: which row, which
// scenario, and when. A memoryless storm uses integers only: one seed is one storm on every machine.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

struct Storm {
    std::string id;     // of the file
    std::string story;  // the comment that opens it
    IncidentTable table;
    std::map<std::string, std::vector<std::string>> scenarios;  // row → names of scenarios, without stage
    std::int64_t days = 1;
    std::int64_t nodes = 2;
    std::int64_t gpus_per_node = 8;
    std::int64_t budget = 100;  // incidents at most
    // [gaps] shape: below 1 failures come in bursts (Weibull), as on real machines; 1 = memoryless. Only
    // tables of counts have gaps.
    double shape = 1;
    // Nanoseconds.
    std::int64_t checkpoint_every = 0;
    std::int64_t restart = 0;    // from the alarm to the next step, without what has to be done again
    std::int64_t unnoticed = 0;  // how long a fault that no detector reports goes on

    std::int64_t ranks() const { return nodes * gpus_per_node; }
};

// Errors: io, bad_input; a table that the taxonomy does not have, a row that the table does not have or that
// the file leaves out.
Result<Storm> load_storm(const std::filesystem::path& file, const Taxonomy& taxonomy);

// The fitted Weibull shape of one machine's gaps between failures, from a file such as
// scenarios/storms/gaps.toml. Errors: io; bad_input, for a machine that the file does not have.
Result<double> load_gap_shape(const std::filesystem::path& file, const std::string& machine);

struct Incident {
    std::int64_t at = 0;  // nanoseconds since the storm began
    std::string row;
    std::size_t scenario = 0;           // which of those that the row names, modulo how many there are
    std::int64_t since_checkpoint = 0;  // nanoseconds of work that a restart has to do again
    std::uint64_t seed = 1;             // of the scenario's own draws
};

// In order of time, within the budget. From a table of counts, incidents come at its own rate, scaled to the
// number of ranks (linearly: an assumption); from a table of shares, each row comes at most once, with its
// share as the probability.
std::vector<Incident> draw_incidents(const Storm& storm, std::uint64_t seed);

}  // namespace deadrank::scenarios
