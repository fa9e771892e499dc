// runners/releases/release_results.h — The outcome of each release bug, read from kept runs: whether it was
// seen, who noticed, and what detectors report for its simulated twin.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runners/parity/parity.h"
#include "runners/pipeline/play_trial.h"
#include "runners/pipeline/run_files.h"
#include "runners/releases/collection.h"

namespace deadrank::runners::releases {

// Where evidence comes from on a real job: the job's own logs and exits; our hook in an unmodified program; a
// quantity or a sample that the program itself reports.
enum class EvidenceKind { plain, observed, asserted };
EvidenceKind evidence_kind(const results::Event& event);

// Only the evidence up to this kind. `texts`: how many texts it keeps; their numbers stay the same.
results::Evidence evidence_up_to(const results::Evidence& evidence, EvidenceKind most, std::uint32_t texts);

struct ReleaseRow {
    const ReleaseBug* bug = nullptr;
    bool seen = false;    // it happened on the release with the bug, but not on the fixed one
    std::string why_not;  // else: one sentence
    std::string plain, observed, asserted;  // the symptoms that our detectors reported; empty = silent
    std::string job;                        // how the program itself reacted: "misleading error"
    std::string detail;  // the same under TORCH_DISTRIBUTED_DEBUG=DETAIL; empty = not played
    results::Verdict verdict = results::Verdict::unknown;
};

// From the directories that `run --releases --out` kept. A run that is missing or undecided says so.
std::vector<ReleaseRow> rows_of(const Library& library, const Collection& collection,
                                const std::filesystem::path& runs, const std::filesystem::path& detail);

// Counts, and a row per bug: Markdown.
std::string table_text(const std::vector<ReleaseRow>& rows);

// Between "<!-- releases table -->" and "<!-- end of the releases table -->". Errors: io, usage.
scenarios::Result<void> write_table(const std::vector<ReleaseRow>& rows, const std::filesystem::path& file);

// A bug of a real release and its simulated twin: do our detectors report the same for both?

// Compares symptoms, not ranks: the two jobs differ in size and draws. `not_played`, with the reason, if
// either could not be played.
Compared compare_twins(const Library& library, const ReleaseBug& bug, Runner& sim, Runner& reality,
                       const PipelineOptions& options);

}  // namespace deadrank::runners::releases
