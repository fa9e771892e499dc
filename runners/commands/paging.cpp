// runners/commands/paging.cpp — The page is given views of runs that live on only until it has read them.
#include "runners/commands/paging.h"

#include "runners/commands/under_test.h"

namespace deadrank::runners::commands {

namespace {

using results::reports::SeenRun;

void see(std::vector<SeenRun>& runs, std::string_view variant, const std::optional<Played>& played,
         const std::optional<results::Judgement>& judgement) {
    if (!played) return;
    runs.push_back({variant, &played->record.evidence, &played->record.truth, &played->findings,
                    judgement ? &*judgement : nullptr});
}

void see(std::vector<SeenRun>& runs, std::string_view variant, const std::optional<RunFiles>& run,
         const std::optional<results::Judgement>& judgement) {
    if (!run) return;
    runs.push_back({variant, &run->record.evidence, run->has_truth ? &run->record.truth : nullptr,
                    &run->findings, judgement ? &*judgement : nullptr});
}

}  // namespace

void add_to_page(results::reports::Page& page, std::size_t place, const scenarios::Scenario& scenario,
                 const Trialled& trial, const std::string& program) {
    std::vector<SeenRun> runs;
    see(runs, "fault", trial.fault, trial.outcome.fault);
    see(runs, "control", trial.control, trial.outcome.control);
    see(runs, "healed", trial.healed, trial.outcome.healed);
    page.add(place, of_program(trial.outcome, program),
             {scenario.teach.title, scenario.story, scenario.heal.says}, runs);
}

void add_to_page(results::reports::Page& page, std::size_t place, const JudgedRun& judged) {
    std::vector<SeenRun> runs;
    see(runs, "fault", judged.fault, judged.outcome.fault);
    see(runs, "control", judged.control, judged.outcome.control);
    see(runs, "healed", judged.healed, judged.outcome.healed);
    page.add(place, judged.outcome, {}, runs);
}

}  // namespace deadrank::runners::commands
