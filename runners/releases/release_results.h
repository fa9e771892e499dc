// runners/releases/release_results.h — What became of each bug of a release, read from kept runs: whether it
// was seen, who noticed, and what detectors say of the simulated scenario of its kind.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runners/line/line.h"
#include "runners/line/run_files.h"
#include "runners/releases/collection.h"
#include "runners/studies/parity.h"

namespace deadrank::runners::releases {

// Where evidence comes from on a real job: the job's own logs and exits; our hook in an unmodified program; a
// quantity or a sample that the program itself tells of.
enum class EvidenceKind { plain, observed, asserted };
EvidenceKind evidence_kind(const results::Event& event);

// Evidence up to this kind alone. `texts`: how many texts it keeps; each has the same number afterwards.
results::Evidence evidence_up_to(const results::Evidence& evidence, EvidenceKind most, std::uint32_t texts);

struct ReleaseRow {
    const ReleaseBug* bug = nullptr;
    bool seen = false;    // it happened on the release with the bug, and not on the fixed one
    std::string why_not;  // else: one sentence
    std::string plain, observed, asserted;  // the symptoms that our detectors said; empty = silent
    std::string job;                        // how the program itself stood it: "misleading error"
    std::string detail;  // the same under TORCH_DISTRIBUTED_DEBUG=DETAIL; empty = not played
    results::Verdict verdict = results::Verdict::unknown;
};

// From the directories that `run --releases --out` kept. One that is not there, or was not told, says so.
std::vector<ReleaseRow> rows_of(const Library& library, const Collection& collection,
                                const std::filesystem::path& runs, const std::filesystem::path& detail);

// Counts, and a row a bug: Markdown.
std::string table_text(const std::vector<ReleaseRow>& rows);

// Between "<!-- releases table -->" and "<!-- end of the releases table -->". Errors: io, usage.
scenarios::Result<void> write_table(const std::vector<ReleaseRow>& rows, const std::filesystem::path& file);

// A bug of a real release beside the simulated scenario of its kind: do our detectors say the same of both?

// Symptoms are compared, not ranks: the two jobs have another size and draw. Not played where one of them
// could not be, with the reason.
Compared compare_twins(const Library& library, const ReleaseBug& bug, Runner& sim, Runner& reality,
                       const LineOptions& options);

}  // namespace deadrank::runners::releases
