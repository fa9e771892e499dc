// runners/commands/judge/import_command.cpp — deadrank diagnose import: turns a real incident's dumps and
// logs into evidence. Reads files and directories, writes evidence.jsonl, and lists what no file could tell.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/importers/import.h"
#include "results/record/words.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"

namespace deadrank::runners::commands {

namespace {

using results::importers::Imported;
using results::importers::ImportedFile;
using results::reports::Ink;
using Json = nlohmann::ordered_json;

struct ImportArguments {
    std::vector<std::filesystem::path> places;
    std::string out;
    double until = -1;
    std::int64_t limit = results::importers::read_for_usual.count();
    bool json = false;
};

void print_import_json(const Imported& imported) {
    Json files = Json::array();
    for (const ImportedFile& one : imported.files) {
        Json file = {{"file", one.file.string()}, {"as", one.as}};
        if (!one.trouble.empty()) file["trouble"] = one.trouble;
        files.push_back(std::move(file));
    }
    print_out("{}\n", Json{{"events", imported.evidence.events().size()},
                           {"zero_unix_ns", imported.zero},
                           {"observed_until", imported.evidence.observed_until().count()},
                           {"files", std::move(files)},
                           {"lacks", imported.lacks}}
                          .dump(-1, ' ', false, Json::error_handler_t::replace));
}

// "Flight Recorder dump of rank 3" and "… of rank 4" are counted together.
std::string kind_of(const std::string& as) { return as.substr(0, as.find(" of rank ")); }

void print_import(const Imported& imported) {
    const auto style = style_of(stdout);
    std::map<std::string, std::size_t> kinds;
    for (const ImportedFile& one : imported.files) {
        if (!one.as.empty()) ++kinds[kind_of(one.as)];
    }
    for (const auto& [kind, count] : kinds)
        print_out("  {} {}\n", results::counted(count, "file"), style.paint(Ink::dim, kind));
    for (const ImportedFile& one : imported.files) {
        if (!one.as.empty()) continue;
        print_out("  {} {}: {}\n", style.paint(Ink::yellow, "left out"), one.file.string(),
                  one.trouble.empty() ? "no line of it is known to us" : one.trouble);
    }
    for (const std::string& note : imported.evidence.notes())
        print_out("  {} {}\n", style.paint(Ink::yellow, "cut"), note);
    for (const std::string& lack : imported.lacks)
        print_out("  {} {}\n", style.paint(Ink::yellow, "lacking"), lack);
    print_out("  {} over {}\n", results::counted(imported.evidence.events().size(), "event"),
              results::duration_text(imported.evidence.observed_until()));
}

void import(const ImportArguments& arguments, Session& session) {
    results::importers::ImportOptions options{.read_for = std::chrono::seconds(arguments.limit)};
    if (arguments.until >= 0) options.observed_until = static_cast<std::int64_t>(arguments.until * 1e9);
    Progress progress;
    options.progress = [&](const std::filesystem::path& file, std::int64_t bytes) {
        progress.show(fmt::format("{}: {} MB read", file.filename().string(), bytes >> 20));
    };
    auto imported = results::importers::import_paths(arguments.places, options);
    progress.clear();
    if (!session.take(imported)) return;
    std::error_code trouble;
    std::filesystem::create_directories(arguments.out, trouble);
    const std::filesystem::path part = std::filesystem::path(arguments.out) / "evidence.jsonl.part";
    auto written = results::write_evidence(imported->evidence, part);
    if (!written) return session.complain(written.error());
    std::filesystem::rename(part, std::filesystem::path(arguments.out) / "evidence.jsonl", trouble);
    if (arguments.json) return print_import_json(*imported);
    print_import(*imported);
    print_out("\n  deadrank diagnose {0}\n  deadrank judge {0}\n", arguments.out);
}

void add_import(CLI::App& command, Session& session) {
    command.footer(
        "Flight Recorder dumps (pickles are read as data, never executed; or JSON), logs of NCCL, c10d, "
        "torchrun, DeepSpeed, srun, mpirun, Ray and the kernel, ranks' output, error files, RAS answers as "
        "JSON, packed or not: what a file is, is seen from its content. A rank's own files end with its "
        "number (trace_rank_3, rank_3.log) or lie in attempt_N/RANK/, as torchrun has them; of two hosts' "
        "files of equal names the numbers are places on the host.\n\n"
        "How long somebody watched decides whether silence is a hang: the newest file says it, or "
        "--until.\n\n"
        "Examples:\n"
        "  deadrank diagnose import /incident/dumps --out incident\n"
        "  deadrank diagnose incident");
    auto arguments = std::make_shared<ImportArguments>();
    command
        .add_option("places", arguments->places, "Files, directories in any depth, or - for standard input")
        ->required()
        ->type_name("PLACE");
    command.add_option("-o,--out", arguments->out, "Write evidence.jsonl into DIR")
        ->required()
        ->type_name("DIR");
    command
        .add_option("--until", arguments->until,
                    "When observation ended, in seconds since 1970 [the newest file]")
        ->type_name("SECONDS");
    add_read_limit(command, arguments->limit);
    add_json(command, arguments->json, "What was read, as one JSON object");
    command.callback([arguments, &session] { import(*arguments, session); });
}

}  // namespace

extern const CommandRow import_row{
    "import", "Makes evidence of a real incident's dumps and logs, for judge and diagnose", add_import};

}  // namespace deadrank::runners::commands
