// runners/manual/detectors_page.cpp — Finds what detectors need by removing evidence; thresholds come from
// the detectors' rows.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/complaints.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/sources.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/manual/manual_pages.h"
#include "runners/manual/markdown.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/python_program.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::runners::manual {

namespace {

using results::Detector;
using results::Evidence;
using results::Finding;
using scenarios::Symptom;

constexpr std::size_t scenarios_most = 3;

// Is there still a finding with the same symptom and blame?
bool is_still_found(const Finding& finding, const std::vector<Finding>& all) {
    return std::any_of(all.begin(), all.end(), [&](const Finding& one) {
        return one.symptom == finding.symptom && one.blame.ranks == finding.blame.ranks &&
               one.blame.nodes == finding.blame.nodes;
    });
}

// The same evidence without one kind of event. All texts are kept, in order, so that each keeps the number by
// which events refer to it.
Evidence without(const Evidence& evidence, std::string_view kind, std::uint32_t texts) {
    Evidence rest;
    for (std::uint32_t id = 0; id < texts; ++id) rest.text(evidence.text(static_cast<results::TextId>(id)));
    for (const results::Event& event : evidence.events()) {
        if (results::kind_name(event) != kind) rest.record(event);
    }
    rest.finish(evidence.observed_until());
    return rest;
}

std::vector<std::string> needed_kinds(const Detector& detector, const std::vector<Finding>& said,
                                      const Evidence& evidence, std::uint32_t texts) {
    std::set<std::string_view> kinds;
    for (const results::Event& event : evidence.events()) kinds.insert(results::kind_name(event));
    std::vector<std::string> needed;
    for (const std::string_view kind : kinds) {
        const auto rest = detector.examine(without(evidence, kind, texts));
        if (!std::all_of(said.begin(), said.end(),
                         [&](const Finding& one) { return is_still_found(one, rest); }))
            needed.emplace_back(kind);
    }
    return needed;
}

std::string thresholds_text(std::string_view name) {
    std::string text;
    for (const auto& [what, number, unit] : results::detectors::thresholds_of(name))
        text += fmt::format("{}{}: {}{}{}", text.empty() ? "" : "; ", what, number,
                            unit.empty() || unit == "‰" ? "" : " ", unit);
    return text;
}

}  // namespace

std::vector<DetectorNeeds> needs_of_detectors(const Library& library) {
    const auto detectors = library.detectors();
    std::vector<DetectorNeeds> needs(detectors.size());
    std::vector<std::map<std::string, std::size_t>> times(detectors.size());
    const auto catalog = scenarios::load_catalog(library.catalog, library.taxonomy, library.vocabulary);
    if (!catalog) return needs;
    SimRunner runner;
    for (const scenarios::Scenario& scenario : catalog->scenarios) {
        if (scenario.workload_kind == scenarios::python_workload) continue;  // this page needs no torch
        const auto wants = [&](std::size_t i) {
            const auto symptoms = detectors[i]->symptoms();
            return needs[i].scenarios.size() < scenarios_most &&
                   std::find(symptoms.begin(), symptoms.end(), scenario.expect.symptom) != symptoms.end();
        };
        std::vector<std::size_t> asked;
        for (std::size_t i = 0; i < detectors.size(); ++i)
            if (wants(i)) asked.push_back(i);
        if (asked.empty()) continue;
        const auto trial =
            scenarios::resolve(scenario, scenarios::Seed{1}, runner.capabilities(), library.vocabulary);
        if (!trial) continue;
        auto record = runner.run(trial->fault, {});
        if (!record) continue;
        const auto texts = static_cast<std::uint32_t>(record->evidence.text("behind the last text"));
        for (const std::size_t i : asked) {
            const auto said = detectors[i]->examine(record->evidence);
            if (said.empty()) continue;
            needs[i].scenarios.push_back(scenario.id);
            for (std::string& kind : needed_kinds(*detectors[i], said, record->evidence, texts))
                ++times[i][std::move(kind)];
        }
    }
    for (std::size_t i = 0; i < detectors.size(); ++i) {
        for (const auto& [kind, count] : times[i])
            (count == needs[i].scenarios.size() ? needs[i].always : needs[i].sometimes).push_back(kind);
    }
    return needs;
}

namespace {

// Each kind of event with its source, and the number of kinds per source.
std::string sources_text() {
    std::string text = heading_row({"event", "source", "on a real job"});
    std::map<results::Source, std::size_t> counts;
    for (const results::KindSource& kind : results::kind_sources()) {
        ++counts[kind.source];
        text += row({fmt::format("`{}`", kind.kind), std::string(results::name_of(kind.source)),
                     cell(std::string(kind.from))});
    }
    return fmt::format(
        "## Where evidence comes from\n\n*Plain*: logs, exit codes, kernel log, Flight Recorder, metrics. "
        "*Observed*: a hook of ours in an unmodified program. *Asserted*: a check that the program makes of "
        "itself, computed apart from what it checks. {} kinds are plain, {} observed; a logged value is "
        "asserted where a definition stands beside it. `deadrank list coverage --played` counts what is "
        "caught "
        "from each.\n\n{}\n",
        counts[results::Source::plain], counts[results::Source::observed], text);
}

// A value that a job logs beside what it should be, and what a difference is reported as.
struct CheckRow {
    const char *value, *setting, *beside;
    Symptom symptom;
};

constexpr CheckRow checks[] = {
    {"gradient.accumulated", "audit",
     "the sum of the gradients of a rank's micro-batches, each as it was computed",
     Symptom::wrong_intermediate_value},
    {"gradient.reduced", "audit",
     "the sum of all ranks' gradients, each before it is packed into a buffer or sent",
     Symptom::wrong_intermediate_value},
    {"reference.parameters, reference.loss, reference.gradient_norm", "reference",
     "the same training on one rank, of the same samples", Symptom::parallel_result_mismatch},
    {"reference.token", "reference", "what one device answers (serving)",
     Symptom::inference_output_inconsistency_across_devices},
    {"", "assert_equal", "the same; the job then fails as a test does", Symptom::ci_or_test_failure},
    {"weights.sum", "saved_ranks or pretrained", "the numbers in the files that were loaded",
     Symptom::model_or_data_loading_failure},
    {"optimizer.step", "optimizer_steps", "the steps that training has made",
     Symptom::wrong_intermediate_value},
    {"evaluation.samples", "evaluate_every", "the size of the evaluation set",
     Symptom::wrong_sample_coverage},
    {"step_time", "expected_step_time",
     "what was measured elsewhere; more than 1150‰ of it, in 4 steps in a row of a rank",
     Symptom::low_throughput_uniform},
    {"dropout.seed", "dropout", "those of ranks that train on other samples, which must differ",
     Symptom::wrong_intermediate_value},
    {"learning_rate", "", "those of other ranks, and what the configuration says",
     Symptom::wrong_intermediate_value},
};

// Workloads that have the setting.
std::string who_has(const Library& library, std::string_view setting) {
    std::vector<std::string> names;
    for (const scenarios::Kind& kind : library.vocabulary.workloads) {
        const bool has = std::any_of(kind.parameters.begin(), kind.parameters.end(), [&](const auto& one) {
            return setting.starts_with(one.name) || setting.ends_with(" " + one.name);
        });
        if (has) names.push_back(kind.name);
    }
    return names.size() == library.vocabulary.workloads.size() || names.empty() ? "all" : quoted(names);
}

std::string checks_text(const Library& library) {
    std::string text =
        "## What a job checks of itself\n\nA logged value with a definition beside it. A value that differs "
        "after "
        "a load or a restart is `resume_state_regression` instead, and of several that differ the one that "
        "is wrong "
        "by definition is reported, not the reference run's.\n\n" +
        heading_row({"value", "setting", "compared with", "reported as", "in workloads"});
    for (const CheckRow& check : checks)
        text += row({check.value, check.setting, cell(check.beside),
                     fmt::format("`{}`", id_of(check.symptom)), who_has(library, check.setting)});
    return text + "\n";
}

Symptom symptom_of(results::analysis::Trouble trouble) {
    using enum results::analysis::Trouble;
    switch (trouble) {
        case mismatch:
            return Symptom::collective_mismatch_error;
        case timeout:
            return Symptom::collective_timeout_abort;
        case connection:
            return Symptom::remote_peer_connection_error;
        case setup:
            return Symptom::communication_setup_failure;
        case memory:
            return Symptom::device_out_of_memory;
        case host:
            return Symptom::host_resource_exhaustion;
        case build:
            return Symptom::build_or_install_failure;
        case import:
            return Symptom::import_or_symbol_error;
        case device:
            return Symptom::device_fault_reported;
        case native:
            return Symptom::native_crash_or_illegal_access;
        case unreadable:
            return Symptom::checkpoint_unreadable;
        case saving:
            return Symptom::checkpoint_save_failure;
        case reshard:
            return Symptom::reshard_restore_failure;
        case loading:
            return Symptom::model_or_data_loading_failure;
        case shape:
            return Symptom::tensor_shape_or_dtype_error;
        case placement:
            return Symptom::wrong_device_used;
        case exception:
            return Symptom::framework_runtime_exception;
        case none:
        case launcher:
            return Symptom::none;
    }
    return Symptom::none;
}

std::string words_text() {
    std::vector<std::pair<std::string_view, std::vector<std::string>>> known;
    for (const auto& [words, trouble] : results::analysis::list_known_phrases()) {
        const Symptom reported_as = symptom_of(trouble);
        if (reported_as == Symptom::none) continue;
        const std::string_view symptom = id_of(reported_as);
        const auto row =
            std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == symptom; });
        auto& all = row == known.end() ? known.emplace_back(symptom, std::vector<std::string>()) : *row;
        all.second.emplace_back(words);
    }
    std::string text =
        "## Words that are known\n\nWhat a line of a log is about, by the words in it. Where several fit, "
        "mostly "
        "the upper row of this table decides, and some count only where more is said: a path of a "
        "checkpoint, "
        "say. Refusals of shapes, sizes, indices and element types are known in the words of torch, NumPy, "
        "JAX, "
        "TensorFlow, Triton and the libraries of kernels; Python's own exceptions, as `IndexError: list "
        "index out of range`, and "
        "all others are `framework_runtime_exception`, and so are arguments that argparse refuses and "
        "the end of a process with an error code that nothing explains. What a driver refuses to do for "
        "software, as `invalid device ordinal`, `invalid resource handle` or another `Cuda failure`, is "
        "`framework_runtime_exception` too, once the rank has made a communicator or begun a step; and "
        "`device-side assert` is a refused index where the kernel printed that assertion before. What "
        "another finding explains is not told, but an error's finding keeps the standstill that follows from "
        "it (`followed_by`).\n\n" +
        heading_row({"symptom", "words"});
    for (const auto& [symptom, words] : known)
        text += row({fmt::format("`{}`", symptom), cell(quoted(words))});
    return text + "\n";
}

// The most demanding source among the kinds that a detector needs. Values count as plain: which of them are
// asserted depends on the job.
std::string source_needed(const std::vector<std::string>& kinds) {
    auto most = results::Source::plain;
    for (const results::KindSource& kind : results::kind_sources()) {
        if (std::find(kinds.begin(), kinds.end(), kind.kind) != kinds.end())
            most = std::max(most, kind.source);
    }
    return kinds.empty() ? "" : std::string(results::name_of(most));
}

}  // namespace

std::string detectors_page(const Library& library) {
    std::string text = fmt::format(
        "# Detectors\n\nEach reads evidence alone. Of several findings about one event the one nearest to "
        "its root is "
        "kept. A silence is a hang after three median steps, and one minute at least. Who is named, and how "
        "soon: [what to expect](expect.md).\n\nWhat each needs was "
        "found out "
        "for this page: up to {} scenarios that expect its symptom were played under seed 1, and one kind of "
        "events "
        "was taken away at a time. *Needs*: without these events it was silent or blamed others, in each of "
        "the "
        "scenarios. *Sometimes*: in some.\n\n",
        scenarios_most);
    text += sources_text() + checks_text(library) + words_text();
    const auto needs = needs_of_detectors(library);
    const auto detectors = library.detectors();
    for (std::size_t i = 0; i < detectors.size(); ++i) {
        std::vector<std::string> symptoms;
        for (const std::string_view symptom : detectors[i]->symptoms()) symptoms.emplace_back(symptom);
        text += fmt::format("## {}\n\n", detectors[i]->name()) + heading_row({"", ""});
        const auto line = [&](const char* label, const std::string& said) {
            if (!said.empty()) text += row({label, said});
        };
        line("reports", quoted(symptoms));
        line("needs", quoted(needs[i].always));
        line("source", source_needed(needs[i].always));
        line("sometimes", quoted(needs[i].sometimes));
        line("thresholds", cell(thresholds_text(detectors[i]->name())));
        line("seen in", quoted(needs[i].scenarios));
        text += "\n";
    }
    return text;
}

}  // namespace deadrank::runners::manual
