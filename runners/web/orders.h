// runners/web/orders.h — From what a browser asks for to a command line of this program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runners/pipeline/library.h"
#include "runners/web/jobs.h"

namespace deadrank::runners::web {

// A scenario of the catalogue, or a text that may be edited or new.
struct Subject {
    std::string id;    // "communication/rank_leaves_all_reduce"; of a new text a name such as "my_bug"
    std::string text;  // empty = the catalogue's own
    std::uint64_t seed = 1;
    bool explore_order = false;
};

struct Find {
    JobKind kind = JobKind::run;
    std::string vary;  // of probe: a knob's path, "fault.0.factor", …
    std::string low, high;
    int seeds = 10;    // of probe
    std::string keep;  // of shrink: the symptom that must still be reported; empty = a property that breaks
};

struct OrderOptions {
    std::filesystem::path program;  // this program, which plays in child processes
    std::string catalog;            // --catalog; empty = the usual one
    std::string memory = "2G";      // of one run in the simulator, as --memory
};

// Where the text of a subject lies, or would lie: beside its program. It gives the scenario's id.
std::filesystem::path file_of(const Library& library, const Subject& subject);

// The files of an edited text are written to a private directory, with the programs beside the original that
// the text names. Errors: usage (an id that is no name, no such scenario, no such kind), io.
scenarios::Result<JobOrder> make_order(const Library& library, const Subject& subject, const Find& find,
                                       const OrderOptions& options);

// Below a job's directory.
inline constexpr const char* report_file = "report.html";
inline constexpr const char* kept_runs = "runs";

}  // namespace deadrank::runners::web
