// runners/commands/judge/emit_command.cpp — deadrank score emit: a run's evidence as the files that other
// people's tools read. Each file is written whole or not at all.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/emitters/emitter_catalog.h"
#include "results/record/words.h"
#include "runners/commands/command.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"

namespace deadrank::runners::commands {

namespace {

namespace emitters = results::emitters;
using scenarios::ErrorCode;

struct EmitArguments {
    std::string place, out = ".";
    std::vector<std::string> forms;
    double at = -1;
    bool list = false, json = false;
};

std::string names() {
    std::string text;
    for (const auto& one : emitters::all_emitters())
        text += fmt::format("{}{}", text.empty() ? "" : ", ", one.name);
    return text;
}

void list_emitters(bool json) {
    for (const auto& one : emitters::all_emitters()) {
        if (json)
            print_out("{}\n", nlohmann::ordered_json{{"name", one.name}, {"what", one.what}}.dump());
        else
            print_out("  {:22}{}\n", one.name, one.what);
    }
}

std::string_view occasion_text(emitters::SnapshotReason reason) {
    switch (reason) {
        case emitters::SnapshotReason::watchdog:
            return "when the watchdogs ended the job";
        case emitters::SnapshotReason::silence:
            return "after a minute without progress";
        case emitters::SnapshotReason::ended:
            return "when the job ended";
        case emitters::SnapshotReason::watched:
            break;
    }
    return "as asked, or at the end of observation";
}

// The requested formats; complains about one that does not exist.
std::vector<const emitters::Emitter*> chosen_emitters(const EmitArguments& arguments, Session& session) {
    std::vector<const emitters::Emitter*> found;
    for (const std::string& name : arguments.forms) {
        if (name == "all") {
            for (const auto& one : emitters::all_emitters()) found.push_back(&one);
        } else if (const auto* one = emitters::find_emitter(name)) {
            found.push_back(one);
        } else {
            session.complain({ErrorCode::usage, fmt::format("'{}' is not a format", name),
                              fmt::format("there are {}, and all", names())});
            return {};
        }
    }
    return found;
}

void emit(const EmitArguments& arguments, Session& session) {
    if (arguments.list) return list_emitters(arguments.json);
    if (arguments.place.empty()) {
        return session.complain({ErrorCode::usage, "no run was named",
                                 "name a run's directory or an evidence file, or ask for --list"});
    }
    const auto forms = chosen_emitters(arguments, session);
    if (forms.empty()) return;
    std::error_code ignored;
    std::filesystem::path file = arguments.place;
    if (std::filesystem::is_directory(file, ignored)) file /= "evidence.jsonl";
    auto evidence = results::read_evidence(file);
    if (!session.take(evidence)) return;
    emitters::Snapshot snapshot = emitters::snapshot_of(*evidence);
    if (arguments.at >= 0) {
        snapshot = {results::Time{static_cast<std::int64_t>(arguments.at * 1e9)},
                    emitters::SnapshotReason::watched};
    }
    print_out("taken at {}, {}\n", results::duration_text(snapshot.at), occasion_text(snapshot.reason));
    for (const auto* form : forms) {
        const auto files = form->emit(*evidence, snapshot);
        auto written = emitters::write_files(files, arguments.out, snapshot.at);
        if (!written) return session.complain(written.error());
        print_out("  {:22}{}\n", form->name, results::counted(files.size(), "file"));
    }
}

void add_emit(CLI::App& command, Session& session) {
    command.footer(
        "Dumps and answers are taken at one moment: when watchdogs ended the job, after a minute without "
        "progress, or at the end; --at names another.\n\n"
        "Examples:\n"
        "  deadrank score emit out/communication/rank_leaves_all_reduce/1 --as flight_recorder --out dumps\n"
        "  torchfrtrace dumps -p comm_lib_trace_rank_ --allow-incomplete-ranks\n"
        "  deadrank score emit --list");
    auto arguments = std::make_shared<EmitArguments>();
    command.add_option("run", arguments->place, "A run's directory, or an evidence file")->type_name("PLACE");
    command.add_option("--as", arguments->forms, "Formats, separated by commas, or all [all]")
        ->type_name("FORMAT")
        ->delimiter(',');
    command.add_option("-o,--out", arguments->out, "Write below DIR [.]")->type_name("DIR");
    command.add_option("--at", arguments->at, "The moment, in seconds of the run")
        ->type_name("SECONDS")
        ->check(number_between(0, 1e15));
    command.add_flag("--list", arguments->list, "List the formats");
    add_json(command, arguments->json, "With --list: one JSON object a line");
    command.callback([arguments, &session] {
        if (arguments->forms.empty()) arguments->forms = {"all"};
        emit(*arguments, session);
    });
}

}  // namespace

extern const CommandRow emit_row{
    "emit", "Writes a run's evidence as the files that other people's tools read", add_emit};

}  // namespace deadrank::runners::commands
