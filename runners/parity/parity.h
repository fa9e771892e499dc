// runners/parity/parity.h — Whether two backends give the same findings for one plan, and the page that
// shows where they differ.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runners/pipeline/play_trial.h"

namespace deadrank::runners {

// One scenario in the simulator and for real: are the findings the same? Times and texts may differ; the
// blamed ranks and the symptoms may not, unless the scenario says why.

enum class Parity { agree, explained, differ, not_played };
std::string_view name_of(Parity parity);

struct Compared {
    std::string scenario;  // id
    Parity parity = Parity::not_played;
    std::set<std::string> simulated, real;  // "collective_mismatch_error (rank 1)"
    std::string why;        // the scenario's [parity] for that backend, or why it could not be played
    std::string played_on;  // "4 ranks"
    std::uint64_t seed = 1;
    bool as_expected = false;  // what the simulator finds is what the scenario expects

    // The scenario gives a reason for a difference that no longer exists. Where both find something else than
    // the scenario expects, the reason is about that.
    bool stale() const { return parity == Parity::agree && !why.empty() && as_expected; }
    // Nobody said anything: that proves little of either side.
    bool on_nothing() const { return parity == Parity::agree && simulated.empty(); }
};

// Why the backend could not play all of the scenario, as far as can be told without starting anything. Empty
// = it can.
std::string why_not_on_paper(const scenarios::Scenario& scenario, scenarios::Seed seed, Runner& reality,
                             std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary);

// A reason without its quoted parts and numbers, so that similar ones are counted together.
std::string kind_of_reason(std::string_view why);

// Sets the verdict from the findings and from the scenario's reason for a difference, if any.
void conclude(Compared& compared, const std::string& reason);

// Both play the same draws. A scenario with more ranks than `ranks_most` is played on that many.
Compared compare(const scenarios::Scenario& scenario, scenarios::Seed seed, Runner& sim, Runner& reality,
                 std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary,
                 const PipelineOptions& options = {});

// Plays only the simulator's side again, for a scenario and a seed that the backend has played: its findings
// and the verdict.
void simulate_again(Compared& compared, const scenarios::Scenario& scenario, Runner& sim, Runner& reality,
                    std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary);

// Whether a scenario belongs to the quarter that the number keeps out of tuning: drawn by its id alone, so it
// is the same on every machine.
bool is_held_out(std::uint64_t number, std::string_view scenario);

std::string listed(const std::set<std::string>& findings);  // "nothing" where there are none

struct ParityRate {
    std::size_t agreed = 0, explained = 0, differed = 0, not_played = 0;
    std::size_t on_nothing = 0, as_expected = 0;  // of those that agreed

    void add(const Compared& one);
    std::size_t played() const { return agreed + explained + differed; }
    std::size_t percent() const { return played() > 0 ? agreed * 100 / played() : 0; }
    std::string text(std::string_view backend) const;  // "34 of 36 scenarios …"
};

// What parity found, kept as a line of JSON a scenario and seed, counted, and written as a page: how many
// scenarios a backend can play, how many agree under which seed, and why the others do not or were not
// played.

struct ParityPage {
    std::string backend;
    std::vector<Compared> compared;         // in order of id and seed
    std::vector<Compared> not_tried;        // the backend cannot play them, or they have not been tried
    std::optional<std::uint64_t> held_out;  // the number that draws what is kept out of tuning

    std::map<std::string, std::vector<const Compared*>> by_scenario() const;
    std::map<std::uint64_t, ParityRate> by_seed(bool held_out_alone = false) const;
    std::size_t scenarios() const { return by_scenario().size() + not_tried.size(); }
};

// "92 to 95 %"; "95 %" of one seed.
std::string spread_text(const std::map<std::uint64_t, ParityRate>& by_seed);

std::string parity_line(const Compared& one);

// Lines of an earlier run, which may have been killed in the middle of its last line; of two lines about one
// scenario and seed the last that was played counts. Lines without a seed are of `unsaid`. None if the file
// does not exist. Errors: io, bad_input.
scenarios::Result<std::vector<Compared>> read_parity(const std::filesystem::path& file,
                                                     std::uint64_t unsaid = 1);

// "3 of 5: no subject …: 'serving', 'reshard'": a kind of reason, and its quoted words, most frequent first.
struct Reasons {
    std::string kind;
    std::size_t scenarios = 0;
    std::vector<std::string> names;
};
std::vector<Reasons> reasons_of(const ParityPage& page);

// Counts in words; a row for each kind of reason; a row for each scenario that was played. Markdown.
std::string parity_summary(const ParityPage& page);
std::string parity_table(const ParityPage& page);

// Between "<!-- parity table -->" and "<!-- end of the parity table -->", or "parity summary". Errors: io,
// usage.
scenarios::Result<void> write_parity_table(const ParityPage& page, const std::filesystem::path& file);
scenarios::Result<void> write_parity_summary(const ParityPage& page, const std::filesystem::path& file);

}  // namespace deadrank::runners
