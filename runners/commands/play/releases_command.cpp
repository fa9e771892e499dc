// runners/commands/play/releases_command.cpp — deadrank report releases: bugs of published releases, what
// they cost to fetch, and fetching them before a run.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/library.h"
#include "runners/releases/collection.h"
#include "runners/releases/release_results.h"

namespace deadrank::runners::commands {

namespace {

using Json = nlohmann::ordered_json;

struct ReleasesArguments {
    std::vector<std::string> names;
    std::string prepare, table, runs, detail;
    bool json = false, pin = false, list = false;
};

constexpr const char* releases_description =
    "Lists bugs of published releases, fetches the releases, and makes their table";
constexpr const char* releases_footer =
    "Each is played by `deadrank run --releases NAME`: the faulty run is the release with the bug, control "
    "and "
    "healed run "
    "are the same program on the fixed one. Releases come from Python's package index, checked against the "
    "hashes in "
    "scenarios/releases/pins.txt, and lie in ~/.cache/deadrank/releases; a run itself asks no network.\n\n"
    "Examples:\n"
    "  deadrank report releases                        the bugs, with size and time of what is not here yet\n"
    "  deadrank report releases --prepare all          fetch everything\n"
    "  deadrank run --releases                  fetch what is missing, and play all of them";

class ReleasesCommand {
public:
    ReleasesCommand(const ReleasesArguments& arguments, Session& session)
        : arguments_(arguments), session_(session) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, "");
        if (!session_.take(library)) return;
        std::vector<std::string> names = arguments_.names;
        if (!arguments_.prepare.empty() && arguments_.prepare != "all") names.push_back(arguments_.prepare);
        auto collection = releases::open_collection(*library, names);
        if (!session_.take(collection)) return;
        for (const scenarios::Error& error : collection->broken) session_.complain(error);
        const auto print_line = [](const std::string& line) { print_error("  {}\n", line); };
        if (arguments_.pin) return done(releases::pin_all(*collection, print_line, &stop_on_interrupt()));
        if (!arguments_.prepare.empty())
            return done(
                releases::prepare(collection->bugs, collection->pins, print_line, &stop_on_interrupt()));
        if (!arguments_.runs.empty()) {
            library->catalog = library->data / "releases";
            return print_releases(
                releases::rows_of(*library, *collection, arguments_.runs, arguments_.detail));
        }
        for (const releases::ReleaseBug& bug : collection->bugs) show(bug, collection->pins);
        if (!arguments_.json)
            print_out(
                "\n  {}; {}\n",
                collection->bugs.size() == 1 ? "1 bug" : fmt::format("{} bugs", collection->bugs.size()),
                releases::cost_of(releases::pins_of(collection->bugs), collection->pins, cache_).text());
    }

private:
    void done(const scenarios::Result<void>& result) {
        if (!result) session_.complain(result.error());
    }

    // The outcome of each bug in the kept runs: as a table, or line by line.
    void print_releases(const std::vector<releases::ReleaseRow>& rows) {
        if (!arguments_.table.empty()) return done(releases::write_table(rows, arguments_.table));
        for (const releases::ReleaseRow& row : rows) {
            const bool noticed = row.seen && row.verdict == results::Verdict::pass;
            const std::string& id = row.bug->scenario.id;
            if (arguments_.json) {
                const Json line = {
                    {"scenario", id},           {"seen", row.seen},   {"why", row.why_not},
                    {"noticed", noticed},       {"plain", row.plain}, {"observed", row.observed},
                    {"asserted", row.asserted}, {"job", row.job},     {"detail", row.detail}};
                print_out("{}\n", line.dump());
            } else {
                print_out("{:<8} {}\n", !row.seen ? "not seen" : noticed ? "noticed" : "silent", id);
                if (!row.seen) print_out("         {}\n", row.why_not);
            }
        }
    }

    void show(const releases::ReleaseBug& bug, const Pins& pins) const {
        const releases::Cost cost = releases::cost_of(releases::pins_of({bug}), pins, cache_);
        const scenarios::Release& release = bug.release;
        if (!arguments_.json) {
            print_out("{}\n    {} {} → {} · {} · {}\n", bug.scenario.id, release.bug.package,
                      release.bug.version, release.fixed.version, bug.scenario.bug.symptom, cost.text());
            return;
        }
        Json with = Json::array();
        for (const scenarios::Pin& pin : release.with) with.push_back(pin.text());
        const Json line = {{"scenario", bug.scenario.id},
                           {"package", release.bug.package},
                           {"bug", release.bug.version},
                           {"fixed", release.fixed.version},
                           {"with", with},
                           {"stage", bug.scenario.bug.stage},
                           {"symptom", bug.scenario.bug.symptom},
                           {"replays", bug.scenario.bug.replays},
                           {"twin", release.twin},
                           {"bytes", cost.bytes},
                           {"missing", cost.missing},
                           {"bytes_missing", cost.bytes_missing},
                           {"seconds_missing", static_cast<double>(cost.milliseconds_missing) / 1e3}};
        print_out("{}\n", line.dump());
    }

    const ReleasesArguments& arguments_;
    Session& session_;
    ReleaseCache cache_;
};

void add_releases(CLI::App& command, Session& session) {
    command.footer(releases_footer);
    auto arguments = std::make_shared<ReleasesArguments>();
    command.add_option("names", arguments->names, "Only these bugs")->type_name("NAME");
    command.add_flag("--list", arguments->list, "List them, with what they cost (as without any option)");
    command
        .add_option("--prepare", arguments->prepare,
                    "Fetch the releases of this bug, or of all; size and time are printed first")
        ->type_name("NAME|all")
        ->excludes("--list");
    command.add_flag(
        "--pin", arguments->pin,
        "Ask the index for releases that a scenario names and pins.txt has not, and write them down");
    auto* runs = command
                     .add_option("--runs", arguments->runs,
                                 "Print the outcome of each in the runs that `run --releases --out DIR` kept")
                     ->type_name("DIR");
    command
        .add_option("--detail", arguments->detail,
                    "The same, kept under TORCH_DISTRIBUTED_DEBUG=DETAIL, for a column of its own")
        ->type_name("DIR")
        ->needs(runs);
    command
        .add_option("--table", arguments->table,
                    "Write what was seen of each bug, and who noticed, as Markdown")
        ->type_name("FILE")
        ->needs(runs);
    add_json(command, arguments->json, "One JSON object a line and bug");
    command.callback([arguments, &session] { ReleasesCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow releases_row{"releases", releases_description, add_releases};

}  // namespace deadrank::runners::commands
