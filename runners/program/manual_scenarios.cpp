// runners/program/manual_scenarios.cpp — The words of a scenario file, from the tables that the loader
// itself checks against.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runners/program/manual.h"
#include "runners/line/library.h"
#include "scenarios/model/plan.h"
#include "sim/workloads/places.h"

namespace deadrank::runners::commands {

namespace {

using scenarios::Parameter;

std::string default_text(const Parameter& parameter) {
    if (!parameter.fallback.empty()) return fmt::format("`{}`", parameter.fallback);
    return parameter.optional ? "" : "required";
}

std::string table_of(const std::vector<Parameter>& parameters) {
    if (parameters.empty()) return "";
    std::string text = "| key | type | default | meaning |\n|---|---|---|---|\n";
    for (const Parameter& parameter : parameters) {
        const std::string type = parameter.choices.empty()
                                     ? std::string(scenarios::type_name(parameter.type))
                                     : fmt::format("{}", fmt::join(parameter.choices, ", "));
        text += fmt::format("| `{}` | {} | {} | {} |\n", parameter.name, type, default_text(parameter),
                            parameter.what);
    }
    return text + "\n";
}

std::string list_of(const char* what, const std::vector<std::string>& words) {
    return words.empty() ? "" : fmt::format("{}: `{}`.\n\n", what, fmt::join(words, "`, `"));
}

std::string section_of(const scenarios::Kind& kind) {
    std::string_view what = kind.what;
    while (what.ends_with('.')) what.remove_suffix(1);
    return fmt::format("### {}\n\n{}.\n\n", kind.name, what) + table_of(kind.parameters) +
           list_of("Seams, which `bend_value` bends", kind.seams) +
           list_of("Blocks, which `skip_block` leaves out", kind.blocks) +
           (kind.at_start ? "Acts before the job starts unless `when` says otherwise.\n\n" : "");
}

// What a seam's value is, and what goes with a block, told once for all workloads that have it.
std::string places_of(const scenarios::Vocabulary& vocabulary) {
    std::string text =
        "### Seams and blocks\n\nWhat a seam is without a fault stands in brackets.\n\n"
        "| name | | meaning | of |\n|---|---|---|---|\n";
    for (const sim::CodePlace& place : sim::places()) {
        const std::string name(place.name);
        std::vector<std::string> of;
        const char* kind = "block";
        for (const scenarios::Kind& workload : vocabulary.workloads) {
            const bool seam = std::count(workload.seams.begin(), workload.seams.end(), name) > 0;
            if (seam) kind = "seam";
            if (seam || std::count(workload.blocks.begin(), workload.blocks.end(), name) > 0)
                of.push_back(workload.name);
        }
        const bool all = of.size() == vocabulary.workloads.size();
        text += fmt::format("| `{}` | {} | {} | {} |\n", name, kind, place.meaning,
                            all ? "all" : fmt::format("{}", fmt::join(of, ", ")));
    }
    return text + "\n";
}

std::string entries_of(const char* title, const std::vector<scenarios::TaxonomyEntry>& entries) {
    std::string text = fmt::format("### {}\n\n| id | meaning | provenance |\n|---|---|---|\n", title);
    for (const scenarios::TaxonomyEntry& entry : entries) {
        text += fmt::format("| `{}` | {} | {} |\n", entry.id, entry.definition, entry.provenance);
    }
    return text + "\n";
}

}  // namespace

std::string manual_of_scenarios(const Library& library) {
    std::string text = "## A scenario file\n\n### [cluster]\n\n" + table_of(scenarios::cluster_parameters());
    text += "### when\n\nWhen a fault acts, in logical time.\n\n" + table_of(scenarios::trigger_parameters());
    text += "## Faults\n\n";
    for (const scenarios::Kind& kind : library.vocabulary.faults) text += section_of(kind);
    text += "## Workloads\n\n";
    for (const scenarios::Kind& kind : library.vocabulary.workloads) text += section_of(kind);
    text += places_of(library.vocabulary);
    text += "## Taxonomy\n\n";
    text += entries_of("Symptoms", library.taxonomy.symptoms) +
            entries_of("Causes", library.taxonomy.causes) +
            entries_of("Fix patterns", library.taxonomy.fixes);
    return text;
}

}  // namespace deadrank::runners::commands
