// runners/commands/know/explain_command.cpp — deadrank explain: what a scenario, a fault kind, a workload, a
// setting, a detector, an id of the taxonomy, any other word of a scenario file or of the output means.
// Prints every meaning found, or the nearest known word.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "runners/commands/command.h"
#include "runners/commands/know/explain_words.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"

namespace deadrank::runners::commands {

namespace {

struct ExplainArguments {
    std::string word, catalog;
    bool json = false;
};

void print_explanations(const std::vector<Explanation>& explanations, bool json) {
    if (json) {
        auto all = nlohmann::ordered_json::array();
        for (const Explanation& one : explanations) {
            nlohmann::ordered_json rows = nlohmann::ordered_json::array();
            for (const auto& [label, text] : one.rows) rows.push_back({{"label", label}, {"text", text}});
            all.push_back({{"what", one.what}, {"id", one.id}, {"says", one.says}, {"rows", rows}});
        }
        print_out("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
        return;
    }
    const auto style = style_of(stdout);
    bool first = true;
    for (const Explanation& one : explanations) {
        print_out("{}{}", first ? "" : "\n", text_of(one, style));
        first = false;
    }
}

void explain(const ExplainArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto explanations = explain_word(*library, arguments.word);
    if (session.take(explanations)) print_explanations(*explanations, arguments.json);
}

void add_explain(CLI::App& command, Session& session) {
    command.footer(
        "Examples:\n"
        "  deadrank explain communication/rank_leaves_all_reduce\n"
        "  deadrank explain kill_rank\n"
        "  deadrank explain wrong_class                    a word that a run prints\n"
        "  deadrank explain collective_deadlock_hang\n"
        "  deadrank explain checkpoint_every               a setting; cluster, when: a table; torchrun: a "
        "launcher");
    auto arguments = std::make_shared<ExplainArguments>();
    command.add_option("word", arguments->word, "The id, kind or name")->required()->type_name("WORD");
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON array of what was found");
    command.callback([arguments, &session] { explain(*arguments, session); });
}

}  // namespace

extern const CommandRow explain_row{
    "explain", "Explains any word: scenario, fault, setting, symptom, verdict, …", add_explain};

}  // namespace deadrank::runners::commands
