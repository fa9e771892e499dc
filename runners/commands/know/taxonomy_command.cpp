// runners/commands/know/taxonomy_command.cpp — deadrank list taxonomy: the bug taxonomy as a tree or a
// matrix. Every entry shows its provenance, below a general disclosure.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/library.h"

namespace deadrank::runners::commands {

namespace {

using Json = nlohmann::ordered_json;
using results::reports::Ink;
using results::reports::pad_left;
using results::reports::pad_right;
using results::reports::Style;
using scenarios::Taxonomy;
using scenarios::TaxonomyEntry;

struct TaxonomyArguments {
    std::string catalog;
    bool json = false, matrix = false;
};

Json entries_json(const std::vector<TaxonomyEntry>& entries) {
    Json all = Json::array();
    for (const TaxonomyEntry& entry : entries) {
        all.push_back({{"id", entry.id},
                       {"name", entry.name},
                       {"definition", entry.definition},
                       {"sign", entry.sign},
                       {"stages", entry.stages},
                       {"distributed_only", entry.distributed_only},
                       {"class", entry.coarse_class},
                       {"provenance", entry.provenance},
                       {"examples", entry.examples}});
    }
    return all;
}

void print_taxonomy_json(const Taxonomy& taxonomy) {
    Json pairs = Json::array(), classes = Json::array();
    for (const auto& pair : taxonomy.pairs) {
        pairs.push_back({{"symptom", pair.symptom},
                         {"cause", pair.cause},
                         {"fixes", pair.fixes},
                         {"reports", pair.reports}});
    }
    for (const auto& one : taxonomy.classes) {
        classes.push_back(
            {{"id", one.id}, {"name", one.name}, {"symptoms", one.symptoms}, {"causes", one.causes}});
    }
    const Json json = {{"disclosure", taxonomy.disclosure},
                       {"stages", entries_json(taxonomy.stages)},
                       {"symptoms", entries_json(taxonomy.symptoms)},
                       {"causes", entries_json(taxonomy.causes)},
                       {"fixes", entries_json(taxonomy.fixes)},
                       {"pairs", pairs},
                       {"classes", classes}};
    print_out("{}\n", json.dump(2));
}

void print_disclosure(const Style& style, const Taxonomy& taxonomy) {
    for (const std::string& line : results::reports::wrap(taxonomy.disclosure, style.width)) {
        print_out("{}\n", style.paint(Ink::yellow, line));
    }
    print_out(
        "{}\n",
        style.paint(Ink::dim,
                    "* in print by this name · ° from labelled data or an incident study · others: ours"));
}

std::string_view provenance_mark(const TaxonomyEntry& entry) {
    if (entry.provenance == "paper-named") return "*";
    return entry.provenance == "reconstructed" ? "" : "°";
}

std::string marked(const TaxonomyEntry& entry) {
    return fmt::format("{}{}", entry.id, provenance_mark(entry));
}

// The causes that the taxonomy pairs with a symptom.
std::vector<std::string> causes_of(const Taxonomy& taxonomy, const std::string& symptom) {
    std::vector<std::string> causes;
    for (const auto& pair : taxonomy.pairs) {
        if (pair.symptom != symptom) continue;
        const TaxonomyEntry* cause = scenarios::find(taxonomy.causes, pair.cause);
        causes.push_back(cause ? marked(*cause) : pair.cause);
    }
    return causes;
}

void print_symptom(const Style& style, const Taxonomy& taxonomy, const TaxonomyEntry& symptom, bool last) {
    print_out("{} {}{}\n", last ? "└──" : "├──", style.paint(Ink::cyan, marked(symptom)),
              symptom.distributed_only ? style.paint(Ink::dim, "  distributed only") : "");
    const auto causes = causes_of(taxonomy, symptom.id);
    for (std::size_t i = 0; i < causes.size(); ++i) {
        print_out("{}   {} {}\n", last ? " " : "│", i + 1 == causes.size() ? "└──" : "├──", causes[i]);
    }
}

void print_tree(const Style& style, const Taxonomy& taxonomy) {
    print_disclosure(style, taxonomy);
    for (const TaxonomyEntry& stage : taxonomy.stages) {
        std::vector<const TaxonomyEntry*> symptoms;
        for (const TaxonomyEntry& symptom : taxonomy.symptoms) {
            if (!symptom.stages.empty() && symptom.stages.front() == stage.id) symptoms.push_back(&symptom);
        }
        print_out("\n{}\n", style.paint(Ink::bold, stage.name));
        for (const TaxonomyEntry* symptom : symptoms) {
            print_symptom(style, taxonomy, *symptom, symptom == symptoms.back());
        }
    }
    print_out("\n{}\n", style.paint(Ink::bold, "Fix patterns"));
    for (const TaxonomyEntry& fix : taxonomy.fixes) print_out("  {}\n", marked(fix));
    print_out("\n{}\n", style.paint(Ink::bold, "Where two fit"));
    for (const scenarios::TieBreak& one : taxonomy.tie_breaks) print_out("  {}: {}\n", one.kind, one.rule);
    print_out("\n  {} stages · {} symptoms · {} causes · {} fix patterns · {} pairs\n",
              taxonomy.stages.size(), taxonomy.symptoms.size(), taxonomy.causes.size(), taxonomy.fixes.size(),
              taxonomy.pairs.size());
}

// Symptoms down, causes across by number; in a cell the number of fix patterns that heal the pair.
void print_matrix(const Style& style, const Taxonomy& taxonomy) {
    print_disclosure(style, taxonomy);
    std::size_t names = 0;
    for (const TaxonomyEntry& symptom : taxonomy.symptoms) names = std::max(names, symptom.id.size() + 1);
    std::string head(names + 2, ' ');
    for (std::size_t i = 0; i < taxonomy.causes.size(); ++i) head += pad_left(std::to_string(i + 1), 3);
    print_out("\n{}\n", style.paint(Ink::dim, head));
    for (const TaxonomyEntry& symptom : taxonomy.symptoms) {
        std::string row = "  " + pad_right(marked(symptom), names);
        for (const TaxonomyEntry& cause : taxonomy.causes) {
            const auto pair = std::find_if(
                taxonomy.pairs.begin(), taxonomy.pairs.end(),
                [&](const auto& one) { return one.symptom == symptom.id && one.cause == cause.id; });
            const bool there = pair != taxonomy.pairs.end();
            row += there ? style.paint(Ink::green, pad_left(std::to_string(pair->fixes.size()), 3))
                         : style.paint(Ink::dim, "  ·");
        }
        print_out("{}\n", row);
    }
    print_out("\n{}\n",
              style.paint(Ink::dim, "  a number counts the fix patterns that heal the pair; the causes:"));
    for (std::size_t i = 0; i < taxonomy.causes.size(); ++i) {
        print_out("  {} {}\n", pad_left(std::to_string(i + 1), 2), marked(taxonomy.causes[i]));
    }
}

void taxonomy(const TaxonomyArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    const Style style = style_of(stdout);
    if (arguments.json) return print_taxonomy_json(library->taxonomy);
    if (arguments.matrix) return print_matrix(style, library->taxonomy);
    print_tree(style, library->taxonomy);
}

void add_taxonomy(CLI::App& command, Session& session) {
    command.footer(
        "`deadrank explain ID` says what one entry means and which scenarios show it.\n\n"
        "Examples:\n"
        "  deadrank list taxonomy\n"
        "  deadrank list taxonomy --matrix\n"
        "  deadrank list taxonomy --json");
    auto arguments = std::make_shared<TaxonomyArguments>();
    command.add_flag("--matrix", arguments->matrix, "Symptoms against causes instead of a tree");
    add_json(command, arguments->json, "A JSON object with every entry");
    add_catalog(command, arguments->catalog);
    command.callback([arguments, &session] { taxonomy(*arguments, session); });
}

}  // namespace

extern const CommandRow taxonomy_row{"taxonomy", "Prints the bug taxonomy with the source of each entry",
                                     add_taxonomy};

}  // namespace deadrank::runners::commands
