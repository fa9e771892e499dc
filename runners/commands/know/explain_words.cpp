// runners/commands/know/explain_words.cpp — Looks a word up in the vocabulary, the detectors, the taxonomy
// and the catalog.
#include "runners/commands/know/explain_words.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/detectors/detector.h"
#include "results/exporters/signature.h"
#include "results/record/sources.h"
#include "runners/commands/alert_site.h"
#include "runners/commands/selection.h"
#include "runners/find/properties.h"
#include "runners/manual/meanings.h"
#include "runners/manual/symptom_rows.h"
#include "scenarios/model/kind_ids.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners::commands {

using results::reports::Ink;
using scenarios::ErrorCode;
using scenarios::TaxonomyEntry;

namespace {

using Entries = std::vector<TaxonomyEntry>;

struct Axis {
    std::string name;
    const Entries& entries;
    std::string sign;
    std::string scenarios::Bug::*field;
};

std::vector<Axis> taxonomy_axes(const scenarios::Taxonomy& taxonomy) {
    return {{"symptom", taxonomy.symptoms, "how one sees it", &scenarios::Bug::symptom},
            {"cause", taxonomy.causes, "how it comes about", &scenarios::Bug::cause},
            {"fix", taxonomy.fixes, "what it does", &scenarios::Bug::fix},
            {"stage", taxonomy.stages, "", &scenarios::Bug::stage}};
}

void detectors_of(Explanation& explanation, const Library& library, const std::string& symptom) {
    for (const auto& detector : library.detectors()) {
        const auto symptoms = detector->symptoms();
        if (std::find(symptoms.begin(), symptoms.end(), symptom) != symptoms.end()) {
            add_row(explanation, "reported by", std::string(detector->name()));
        }
    }
}

void add_symptom_rows(Explanation& explanation, const std::string& symptom) {
    for (const manual::SymptomRow& row : manual::symptom_rows())
        if (row.symptom == symptom)
            add_row(explanation, "told where",
                    fmt::format("{}. Named: {}. How soon: {}", row.shows, row.who, row.soon));
}

void partners(Explanation& explanation, const scenarios::Taxonomy& taxonomy, const std::string& id) {
    for (const auto& pair : taxonomy.pairs) {
        if (pair.symptom == id)
            add_row(explanation, "comes from",
                    fmt::format("{} (healed by {})", pair.cause, joined(pair.fixes)));
        if (pair.cause == id) add_row(explanation, "shows as", pair.symptom);
    }
}

void scenarios_of(Explanation& explanation, const Library& library, const Axis& axis, const std::string& id) {
    auto all = select(library, {});
    if (!all) return;
    for (const auto& scenario : all->scenarios) {
        if (scenario.bug.*(axis.field) == id) add_row(explanation, "scenario", scenario.id);
    }
}

Explanation explain_entry(const Library& library, const Axis& axis, const TaxonomyEntry& entry) {
    Explanation explanation{axis.name, entry.id, entry.definition, {}};
    add_row(explanation, "name", entry.name);
    add_row(explanation, axis.sign, entry.sign);
    add_row(explanation, "stages", joined(entry.stages));
    if (entry.distributed_only) add_row(explanation, "only in", "distributed jobs");
    add_row(explanation, "provenance", entry.provenance);
    add_row(explanation, "reports", joined(entry.examples));
    for (const scenarios::TieBreak& one : library.taxonomy.tie_breaks) {
        if (std::find(one.between.begin(), one.between.end(), entry.id) != one.between.end())
            add_row(explanation, "tie-break", one.rule);
    }
    partners(explanation, library.taxonomy, entry.id);
    if (axis.name == "symptom") add_symptom_rows(explanation, entry.id);
    if (axis.name == "symptom") detectors_of(explanation, library, entry.id);
    scenarios_of(explanation, library, axis, entry.id);
    return explanation;
}

// A failure that `alerts` and `alerts serve` know, such as gpu_off_bus. Tables that cannot be read have none.
void explain_failure(const results::exporters::SignatureCatalog& failures, const std::string& word,
                     std::vector<Explanation>& found) {
    const results::exporters::Signature* failure = failures.find(word);
    if (!failure) return;
    Explanation explanation{"failure of alerts", word, failure->title, {}};
    add_row(explanation, "source", failure->source);
    add_row(explanation, "faults", joined(failure->kinds));
    for (const auto& one : failure->then) add_row(explanation, "then", one.signature);
    add_row(explanation, "a rule", failure->suggest.expr);
    add_row(explanation, "see it", "deadrank alerts serve --scenarios " + word);
    found.push_back(std::move(explanation));
}

void explain_property(const std::string& word, std::vector<Explanation>& found) {
    if (const find::Property* property = find::find_property(word))
        found.push_back({"property of sweep swarm",
                         word,
                         property->says,
                         {{"kind", std::string(find::name_of(property->modality))}}});
}

void explain_detector(const Library& library, const std::string& word, std::vector<Explanation>& found) {
    for (const auto& detector : library.detectors()) {
        if (detector->name() != word) continue;
        Explanation explanation{"detector", word, "Reads evidence alone, and reports:", {}};
        for (const std::string_view symptom : detector->symptoms())
            add_row(explanation, "symptom", std::string(symptom));
        found.push_back(std::move(explanation));
    }
}

bool names_place(const scenarios::FaultSettings& fault, const std::string& what, const std::string& word) {
    const auto setting = fault.parameters.find(what);
    if (setting == fault.parameters.end()) return false;
    const auto& options = setting->second.options;
    return std::any_of(options.begin(), options.end(),
                       [&](const scenarios::Value& option) { return option.text == word; });
}

// A seam or block: its meaning, the workloads that publish it, and the scenarios that bend or skip it.
void explain_place(const Library& library, const std::string& what, const std::string& fault,
                   std::vector<std::string> scenarios::Kind::*words, const std::string& word,
                   std::vector<Explanation>& found) {
    std::vector<std::string> workloads;
    for (const scenarios::Kind& workload : library.vocabulary.workloads) {
        const auto& list = workload.*words;
        if (std::find(list.begin(), list.end(), word) != list.end()) workloads.push_back(workload.name);
    }
    if (workloads.empty()) return;
    Explanation explanation{what, word, std::string(sim::meaning_of_place(word)), {}};
    add_row(explanation, "published by", joined(workloads));
    add_row(explanation, what == "seam" ? "bent by" : "left out by", "the fault " + fault);
    if (auto all = select(library, {})) {
        for (const auto& scenario : all->scenarios) {
            for (const auto& one : scenario.faults) {
                if (!names_place(one, what, word)) continue;
                add_row(explanation, "scenario", scenario.id);
                break;
            }
        }
    }
    found.push_back(std::move(explanation));
}

// A word of faults or workloads: "kill_rank", "gradient.scale".
void explain_vocabulary(const Library& library, const std::string& word, std::vector<Explanation>& found) {
    if (const auto* kind = library.vocabulary.fault(word)) found.push_back(explain_kind("fault", *kind));
    if (const auto* kind = library.vocabulary.workload(word))
        found.push_back(explain_kind("workload", *kind));
    explain_place(library, "seam", id_of(scenarios::FaultId::bend_value), &scenarios::Kind::seams, word,
                  found);
    explain_place(library, "block", id_of(scenarios::FaultId::skip_block), &scenarios::Kind::blocks, word,
                  found);
}

results::exporters::SignatureCatalog failures_of(const Library& library) {
    auto failures = results::exporters::load_signatures(tables_of(library) / "signatures");
    return failures ? std::move(*failures) : results::exporters::SignatureCatalog{};
}

std::vector<std::string> list_known_phrases(const Library& library,
                                            const results::exporters::SignatureCatalog& failures) {
    std::vector<std::string> words = failures.ids();
    for (const find::Property& property : find::all_properties()) words.push_back(property.name);
    for (std::string& word : manual::words_with_meaning(library)) words.push_back(std::move(word));
    for (const auto& kind : library.vocabulary.faults) words.push_back(kind.name);
    for (const auto& kind : library.vocabulary.workloads) words.push_back(kind.name);
    for (const sim::CodePlace& place : sim::places()) words.emplace_back(place.name);
    for (const Axis& axis : taxonomy_axes(library.taxonomy)) {
        for (const auto& entry : axis.entries) words.push_back(entry.id);
    }
    for (const auto& detector : library.detectors()) words.emplace_back(detector->name());
    for (const results::KindSource& kind : results::kind_sources()) words.emplace_back(kind.kind);
    if (const auto ids = scenario_ids(library)) {
        for (const std::string& id : *ids) {
            words.push_back(id);
            words.push_back(id.substr(id.rfind('/') + 1));
        }
    }
    return words;
}

}  // namespace

void add_row(Explanation& explanation, std::string label, std::string text) {
    if (!text.empty()) explanation.rows.emplace_back(std::move(label), std::move(text));
}

std::string joined(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

scenarios::Result<std::vector<Explanation>> explain_word(const Library& library, const std::string& word) {
    std::vector<Explanation> found;
    explain_vocabulary(library, word, found);
    explain_detector(library, word, found);
    const results::exporters::SignatureCatalog failures = failures_of(library);
    explain_failure(failures, word, found);
    explain_property(word, found);
    for (const results::KindSource& kind : results::kind_sources()) {
        if (kind.kind != word) continue;
        found.push_back(
            {"event", word, std::string(kind.from), {{"source", std::string(name_of(kind.source))}}});
    }
    for (const Axis& axis : taxonomy_axes(library.taxonomy)) {
        if (const auto* entry = scenarios::find(axis.entries, word))
            found.push_back(explain_entry(library, axis, *entry));
    }
    for (manual::Meaning& one : manual::meanings_of(library, word))
        found.push_back({std::move(one.what), std::move(one.id), std::move(one.says), std::move(one.rows)});
    if (!found.empty()) return found;
    SelectionOptions options;
    options.names = {word};
    auto selection = select(library, options);
    if (selection) {
        if (selection->scenarios.empty()) return tl::unexpected(selection->broken.front());
        for (const auto& scenario : selection->scenarios) found.push_back(explain_scenario(scenario));
        return found;
    }
    const std::string near = scenarios::nearest(word, list_known_phrases(library, failures));
    return scenarios::refuse(ErrorCode::usage, fmt::format("nothing is called '{}'", word),
                             near.empty() ? "deadrank list and deadrank list taxonomy show what there is"
                                          : fmt::format("did you mean '{}'?", near));
}

std::string text_of(const Explanation& explanation, const results::reports::Style& style) {
    std::size_t labels = 0;
    for (const auto& [label, text] : explanation.rows)
        labels = std::max(labels, results::reports::columns_of(label));
    std::string out = fmt::format("{} {}\n", style.paint(Ink::bold, explanation.id),
                                  style.paint(Ink::dim, explanation.what));
    const std::size_t room = style.width > 30 ? style.width - 2 : 0;
    for (const std::string& line : results::reports::wrap(explanation.says, room)) out += "  " + line + "\n";
    if (!explanation.says.empty() && !explanation.rows.empty()) out += "\n";
    std::string before;
    for (const auto& [label, text] : explanation.rows) {
        bool first = label != before;
        for (const std::string& line :
             results::reports::wrap(text, room > labels + 20 ? room - labels - 2 : 0)) {
            out += "  " + style.paint(Ink::dim, results::reports::pad_right(first ? label : "", labels)) +
                   "  " + line + "\n";
            first = false;
        }
        before = label;
    }
    return out;
}

}  // namespace deadrank::runners::commands
