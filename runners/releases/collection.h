// runners/releases/collection.h — The bugs of published releases: which there are, what they cost, and
// fetching their releases.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "runners/backends/releases/release_cache.h"
#include "runners/pipeline/library.h"
#include "scenarios/model/release.h"

namespace deadrank::runners::releases {

// One scenario with [release].
struct ReleaseBug {
    scenarios::Scenario scenario;
    scenarios::Release release;
};

// Null where the scenario has no [release].
std::optional<scenarios::Release> release_of(const scenarios::Scenario& scenario);

struct Collection {
    std::vector<ReleaseBug> bugs;  // in order of id
    std::vector<scenarios::Error> broken;
    Pins pins;
    std::filesystem::path place;  // scenarios/releases

    std::set<scenarios::Pin> all_pins() const;
};

// Errors: io, usage (a name that is not a bug of a release). Without names: all.
scenarios::Result<Collection> open_collection(const Library& library, const std::vector<std::string>& names);

// What playing these bugs takes: in total, and what is still missing.
struct Cost {
    std::int64_t bytes = 0, bytes_missing = 0, milliseconds_missing = 0;
    std::size_t releases = 0, missing = 0;
    std::set<std::string> unpinned;

    std::string text() const;  // "12 releases, 84 MB; 3 to fetch: 20 MB on disk, about 12 s"
};
Cost cost_of(const std::vector<scenarios::Pin>& wanted, const Pins& pins, const ReleaseCache& cache);
std::vector<scenarios::Pin> pins_of(const std::vector<ReleaseBug>& bugs);

// Announces size and time, then fetches what is missing. Errors: those of ReleaseCache::prepare, for the
// first release that failed; the others are still fetched.
scenarios::Result<void> prepare(const std::vector<ReleaseBug>& bugs, const Pins& pins,
                                const ProgressSink& say, const std::atomic<bool>* stop);

// Asks the index for every release that a scenario names and pins.txt lacks, and adds it there. Errors:
// environment, io.
scenarios::Result<void> pin_all(Collection& collection, const ProgressSink& say,
                                const std::atomic<bool>* stop);

}  // namespace deadrank::runners::releases
