// runners/commands/play/plan_notes.cpp — What a plan's own control and heal show before anything is judged.
#include "runners/commands/play/plan_notes.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <string_view>

#include "results/detectors/detector.h"
#include "results/record/words.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

using scenarios::BlameField;

namespace {

// "  File \"step\", line 3", which a rank's program says before its traceback: " (line 3 of step)".
std::string line_of_program(std::string_view frame) {
    constexpr std::string_view begins = "  File \"", between = "\", line ";
    const auto middle = frame.find(between);
    if (!frame.starts_with(begins) || middle == std::string_view::npos) return {};
    return fmt::format(" (line {} of {})", frame.substr(middle + between.size()),
                       frame.substr(begins.size(), middle - begins.size()));
}

// The first error of a run, and how far its rank had come; or how the job ended.
std::string first_trouble(const results::Evidence& evidence) {
    std::map<results::Rank, std::int64_t> steps;
    std::map<results::Rank, std::string> lines;
    std::string end = "the job ends";
    for (const results::Event& event : evidence.events()) {
        if (const auto* begin = event.as<results::StepBegin>()) steps[event.rank] = begin->step;
        if (const auto* stop = event.as<results::JobStop>()) end = evidence.text(stop->reason);
        const auto* log = event.as<results::RankLog>();
        if (!log) continue;
        std::string_view words = evidence.text(log->line);
        if (log->level != 2) {
            lines[event.rank] = line_of_program(words);
            continue;
        }
        constexpr std::string_view heading = "Traceback (most recent call last):\n";
        if (words.starts_with(heading)) words.remove_prefix(heading.size());
        const auto step = steps.find(event.rank);
        return fmt::format(
            "rank {} fails {}: {}{}", event.rank,
            step == steps.end() ? "before its first step" : fmt::format("in step {}", step->second),
            words.substr(0, words.find('\n')), lines[event.rank]);
    }
    return end;
}

bool fails(const results::Evidence& evidence) {
    const auto stops = evidence.each<results::JobStop>();
    return !stops.empty() && stops.back()->as<results::JobStop>()->code != 0;
}

// In a unit that a setting takes, with digits enough to be compared with.
std::string exact_text(results::Time time) {
    constexpr std::int64_t nanoseconds = 1000;
    if (time.count() == 0) return "no time";
    return time.count() >= 100 * nanoseconds ? fmt::format("{}us", (time.count() + 500) / nanoseconds)
                                             : fmt::format("{}ns", time.count());
}

// How long a step of the first rank takes without the fault, as it is played here, or why that is not known.
void print_usual_step(const Record& record) {
    const results::Evidence& evidence = record.evidence;
    std::vector<results::Time> steps;
    results::Time began{-1};
    for (const results::Event& event : evidence.events()) {
        if (event.rank != 0) continue;
        if (event.as<results::StepBegin>()) began = event.at;
        if (event.as<results::StepEnd>() && began >= results::Time{0}) steps.push_back(event.at - began);
    }
    if (!steps.empty()) {
        std::nth_element(steps.begin(), steps.begin() + std::ssize(steps) / 2, steps.end());
        print_out("# control: a step takes {} on rank 0, the median of its steps\n",
                  exact_text(steps[steps.size() / 2]));
    } else {
        print_out("# control: rank 0 ends no step, so none has a time: {}\n", first_trouble(evidence));
    }
    if (!steps.empty() && fails(evidence)) print_out("# control: {}\n", first_trouble(evidence));
    // Nothing is wrong in a control: either the detectors are, or something else in the scenario is.
    const auto findings = results::detect(evidence, results::all_detectors());
    for (const results::Finding& finding : findings)
        print_out("# control: it rings by itself: {}: {}\n", finding.symptom, finding.says);
    if (findings.empty() && record.truth.completed()) print_out("# control: quiet, and all ranks end well\n");
}

bool too_large(const scenarios::Plan& plan) {
    constexpr std::int64_t most_ranks = 4096;
    return plan.number(plan.cluster, "nodes") * plan.number(plan.cluster, "gpus_per_node") > most_ranks;
}

// The seam or block of a fault, or its kind.
std::string target_of(const scenarios::FaultSpec& fault) {
    for (const char* what : {"seam", "block"})
        if (const std::string name = fault.text(what); !name.empty())
            return fmt::format("{} '{}'", what, name);
    return fault.kind;
}

// Only that nothing comes of the fault: what detectors say of it, and how the job ends, the run will tell.
void print_effect(const scenarios::Trial& trial, const Record& control, Runner& runner) {
    const auto faulty = runner.run(trial.fault, {});
    if (!faulty || !results::same_events(faulty->evidence, control.evidence)) return;
    bool told = false;
    for (const results::Mark& mark : faulty->truth.marks) {
        const bool idle = mark.kind == results::MarkKind::missed || mark.kind == results::MarkKind::unread;
        if ((!idle && mark.kind != results::MarkKind::refused) || mark.fault < 0) continue;
        const auto& fault = trial.fault.faults[static_cast<std::size_t>(mark.fault)];
        std::string remedy;
        if (mark.kind == results::MarkKind::unread)
            remedy = fmt::format(". Let its ranks come to {} after its moment, or choose an earlier one",
                                 target_of(fault));
        if (mark.kind == results::MarkKind::missed) remedy = ". Choose a moment that comes on its ranks";
        print_out("# fault {}: it has no effect: {}{}\n", mark.fault + 1, mark.says, remedy);
        told = true;
    }
    if (told) return;
    std::vector<std::string> targets;
    for (const auto& fault : trial.fault.faults) targets.push_back(target_of(fault));
    print_out(
        "# fault: it acts, and has no effect: the faulty run equals the control event for event. What {} "
        "changes "
        "has to be felt: in a call, a time, or a value that the job tells\n",
        fmt::join(targets, ", "));
}

// What nothing can be compared with after the run.
void print_unnamed(const scenarios::Plan& plan, const inject::FaultCatalog& catalog) {
    const scenarios::Expectation& expect = plan.expect;
    if (expect.silent() || !expect.unseen.empty()) return;
    std::set<std::string_view> known;  // printed in the order of their names
    const auto add = [&](BlameField field) { known.insert(scenarios::enum_name(field)); };
    if (!expect.ranks.empty()) {
        add(BlameField::rank);
        add(BlameField::node);
    }
    if (expect.step) add(BlameField::step);
    std::vector<std::string> kinds;
    for (const scenarios::FaultSpec& fault : plan.faults) {
        if (!fault.provokes && std::find(kinds.begin(), kinds.end(), fault.kind) == kinds.end())
            kinds.push_back(fault.kind);
        for (const BlameField field : inject::nameable_fields(catalog, fault)) add(field);
    }
    for (const std::string& field : scenarios::words_of(expect.blames)) {
        if (known.contains(field)) continue;
        print_out(
            "# expect: `blames` asks for the {}, which the truth of {} never names here: the run will be "
            "unjudged. It can name: {}\n",
            field, fmt::join(kinds, ", "),
            known.empty() ? "nothing" : fmt::format("{}", fmt::join(known, ", ")));
    }
}

bool on_all_ranks(const scenarios::Plan& plan, const scenarios::FaultSpec& fault) {
    const std::int64_t devices =
        plan.number(plan.cluster, "nodes") * plan.number(plan.cluster, "gpus_per_node");
    const auto ranks = plan.cluster.find("ranks");
    return std::ssize(fault.ranks()) == (ranks == plan.cluster.end() ? devices : ranks->second.number);
}

// A variable is known by its ranks that differ, or by the words of who refuses it.
void print_variable(const scenarios::Plan& plan) {
    if (!plan.expect.asks_for(BlameField::variable)) return;
    const bool alike = std::any_of(plan.faults.begin(), plan.faults.end(), [&](const auto& fault) {
        return !fault.provokes && fault.kind.ends_with("_env") && on_all_ranks(plan, fault);
    });
    if (alike)
        print_out(
            "# expect: `blames` asks for a variable that all ranks hold alike: it is found where a library "
            "refuses its value in words that name it, or where it can have no meaning in this job\n");
}

void print_blame_fields(const scenarios::Expectation& expect) {
    if (expect.silent() || expect.asks_for(BlameField::rank)) return;
    const bool node = expect.asks_for(BlameField::node);
    print_out("# expect: `blames` asks for {}, so a finding may name any ranks{}\n",
              node ? "a node and for no rank" : "no rank", node ? " of it" : ", or none");
}

// Of a heal that keeps a fault, which the settings alone do not tell.
void print_proof(const scenarios::Trial& trial, const Record& control, bool said_to_be_it, Runner& runner) {
    if (fails(control.evidence)) {
        print_out(
            "# heal: the control itself fails, as is said above: until it runs, the healed run proves "
            "nothing\n");
        return;
    }
    const auto healed = runner.run(trial.healed, {});
    if (healed && fails(healed->evidence)) print_out("# healed: {}\n", first_trouble(healed->evidence));
    const bool same = healed && results::same_events(healed->evidence, control.evidence);
    if (same && !said_to_be_it)
        print_out(
            "# heal: the fault stays, and yet the healed run equals its control event for event: it proves "
            "no "
            "more than the control does. Say why it is so, as_control = \"…\", or let the trigger leave a "
            "trace "
            "that the fix does not take away\n");
    if (healed && !same && said_to_be_it)
        print_out(
            "# heal: `as_control` says why the healed run is the control again, and it is another one: leave "
            "it "
            "out\n");
}

// The taxonomy's pairs are those of public reports; a bug of another pair is as welcome.
void print_pair(const scenarios::Bug& bug, const scenarios::Taxonomy& taxonomy) {
    const bool known = std::any_of(taxonomy.pairs.begin(), taxonomy.pairs.end(), [&](const auto& pair) {
        return pair.symptom == bug.symptom && pair.cause == bug.cause;
    });
    if (known || bug.symptom.empty() || bug.cause.empty()) return;
    print_out("# bug: {} with {} is not among the pairs of the taxonomy; allowed\n", bug.symptom, bug.cause);
}

}  // namespace

void print_notes(const scenarios::Scenario& scenario, const scenarios::Trial& trial,
                 const scenarios::Taxonomy& taxonomy, const inject::FaultCatalog& faults, Runner& runner) {
    print_pair(scenario.bug, taxonomy);
    const bool heals_to_control = scenario.heal.is_the_control();
    if (too_large(trial.control)) {
        print_out("# control: not played here for the time of a step, with more than 4096 ranks\n");
    } else if (const auto control = runner.run(trial.control, {}); !control) {
        print_out("# control: cannot be played: {}\n", control.error().what);
    } else {
        print_usual_step(*control);
        print_effect(trial, *control, runner);
        if (!heals_to_control && !trial.healed.faults.empty())
            print_proof(trial, *control, !scenario.heal.as_control.empty(), runner);
    }
    print_blame_fields(scenario.expect);
    print_variable(trial.fault);
    print_unnamed(trial.fault, faults);
    if (heals_to_control && scenario.heal.as_control.empty())
        print_out(
            "# heal: it leaves nothing of the fault and changes nothing else: the healed run is the control "
            "again "
            "and proves nothing. Keep the trigger, fault = \"keep\", beside the setting that fixes it, or "
            "say "
            "why there is none: as_control = \"…\"\n");
}

}  // namespace deadrank::runners::commands
