// runners/storm/failure_table.h — Failures of a real machine, read from its own table: when, where, and how
// long until the repair. TOML maps the columns, so that no table has to be rewritten.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners {

// columns.toml: time, and optionally place, group, cause, repaired; format (of strptime, or unix or unix_ms
// for a number of seconds or milliseconds) and zone ("UTC" or "-07:00"), if the times are not UTC; an offset
// that a time itself writes (Z, +02:00) counts before it; places = their number, including those that never
// failed.
struct FailureColumns {
    std::string time, place, group, cause, repaired;
    std::string format = "%Y-%m-%d %H:%M:%S";
    double zone = 0;  // seconds east of UTC
    double places = 0;
};
scenarios::Result<FailureColumns> load_failure_columns(const std::filesystem::path& file);

struct MachineFailure {
    double at = 0;         // unix seconds
    double repaired = -1;  // -1 = not given
    std::string place, group, cause;
};

struct FailureTable {
    std::vector<MachineFailure> failures;  // in order of time
    double places = 0;                     // 0 = as many as the rows name
    std::vector<std::string> notes;        // rows left out, overlaps, silences
};

// Errors: io; bad_input for a missing column, or when most rows can't be read.
scenarios::Result<FailureTable> read_failures(const std::filesystem::path& csv,
                                              const FailureColumns& columns);

}  // namespace deadrank::runners
