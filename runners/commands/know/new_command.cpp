// runners/commands/know/new_command.cpp — deadrank new: writes a commented skeleton of a scenario. The
// skeleton loads as it is; an existing file is never overwritten.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>

#include "results/record/evidence.h"
#include "results/record/text_file.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/explore/recording_of.h"
#include "runners/pipeline/library.h"
#include "scenarios/format/skeleton.h"
#include "scenarios/model/document.h"
#include "scenarios/model/kind_ids.h"
#include "scenarios/model/python_program.h"
#include "scenarios/model/taxonomy_ids.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners::commands {

namespace {

using scenarios::ErrorCode;
using scenarios::FaultId;
using scenarios::Symptom;
namespace fs = std::filesystem;

struct NewScenarioArguments {
    scenarios::SkeletonOptions wish{.id = {},
                                    .symptom = id_of(Symptom::collective_deadlock_hang),
                                    .fault = id_of(FaultId::kill_rank),
                                    .cause = {},
                                    .fix = {},
                                    .workload = {}};
    std::string catalog;
    fs::path program, patch;  // files that are copied beside the scenario
    fs::path evidence;        // of a run that becomes a recording beside it
    std::string recording;    // its text
    bool print = false;
};

// The catalogue that was named, or one in the working directory, as in a checkout. Else the working
// directory: the catalogue of an installed program belongs to the package.
fs::path place_for(const Library& library, const NewScenarioArguments& arguments, const fs::path& here) {
    const bool named = !arguments.catalog.empty() || std::getenv("DEADRANK_CATALOG") != nullptr;
    const fs::path within = library.catalog.lexically_proximate(here);
    return named || (!within.empty() && *within.begin() != "..") ? library.catalog : here;
}

// "stage/name" as the beginning of each of its files.
std::string name_of_file(const NewScenarioArguments& arguments) {
    return arguments.wish.id.substr(arguments.wish.id.find('/') + 1);
}

scenarios::Result<void> write_beside(const std::string& text, const fs::path& file) {
    std::error_code ignored;
    if (fs::exists(file, ignored))
        return scenarios::refuse(ErrorCode::usage, "is there already", "choose another name", {file.string()});
    return results::write_text(text, file);
}

scenarios::Result<void> copy_beside(const fs::path& from, const fs::path& file) {
    const auto text = scenarios::read_text(from);
    if (!text) return scenarios::refuse(ErrorCode::io, "cannot be read", "see its rights", {from.string()});
    return write_beside(*text, file);
}

// False after a complaint.
bool record(NewScenarioArguments& arguments, Session& session) {
    if (!arguments.program.empty()) {
        session.complain({ErrorCode::usage, "a scenario plays a program or a recording",
                          "leave out --from, or --recording"});
        return false;
    }
    std::error_code ignored;
    const fs::path file = fs::is_directory(arguments.evidence, ignored) ? arguments.evidence / "evidence.jsonl"
                                                                         : arguments.evidence;
    auto evidence = results::read_evidence(file);
    if (!session.take(evidence)) return false;
    auto job = recording_of(*evidence);
    if (!session.take(job)) return false;
    arguments.recording = sim::recording_text(job->recording);
    arguments.wish.workload = sim::recorded_workload().words.name;
    arguments.wish.recording = name_of_file(arguments) + ".json";
    const int ranks = static_cast<int>(job->recording.size());
    arguments.wish.nodes = ranks % job->nodes == 0 ? job->nodes : 1;
    arguments.wish.ranks_per_node = ranks / arguments.wish.nodes;
    arguments.wish.steps = static_cast<std::int64_t>(job->recording.steps());
    return true;
}

void create(NewScenarioArguments& arguments, Session& session) {
    if (!arguments.program.empty()) {
        arguments.wish.workload = scenarios::python_workload;
        arguments.wish.program = name_of_file(arguments) + ".py";
    }
    if (!arguments.evidence.empty() && !record(arguments, session)) return;
    if (!arguments.patch.empty()) arguments.wish.patch = name_of_file(arguments) + ".diff";
    if (!arguments.patch.empty() && arguments.program.empty())
        return session.complain({ErrorCode::usage, "a bug is a patch of a program", "add --from train.py"});
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto text = scenarios::skeleton(arguments.wish, library->taxonomy, library->vocabulary);
    if (!session.take(text)) return;
    if (arguments.print) {
        print_out("{}", *text);
        return;
    }
    std::error_code ignored;
    const fs::path file =
        place_for(*library, arguments, fs::current_path(ignored)) / (arguments.wish.id + ".toml");
    if (fs::exists(file, ignored)) {
        session.complain({ErrorCode::usage,
                          "is there already",
                          "choose another name, or --print to see the skeleton",
                          {file.string()}});
        return;
    }
    auto written = results::write_text(*text, file);
    if (written && !arguments.program.empty())
        written = copy_beside(arguments.program, fs::path(file).replace_extension(".py"));
    if (written && !arguments.patch.empty())
        written = copy_beside(arguments.patch, fs::path(file).replace_extension(".diff"));
    if (written && !arguments.recording.empty())
        written = write_beside(arguments.recording, fs::path(file).replace_extension(".json"));
    if (!written) {
        session.complain(written.error());
        return;
    }
    const bool by_id = file == library->catalog / (arguments.wish.id + ".toml");
    print_out("{}\n  Edit it, then: deadrank run {}\n", file.string(),
              by_id ? arguments.wish.id : file.lexically_proximate(fs::current_path(ignored)).string());
}

void add_new(CLI::App& command, Session& session) {
    command.footer(
        "The skeleton loads and plays as it stands; its comments say what to write where. It goes below the "
        "catalog that --catalog or DEADRANK_CATALOG names, else below the working directory.\n\n"
        "With --from the scenario plays that program, which is copied beside it; --bug is a patch that makes its "
        "bug, as `diff -u train.py buggy.py` writes it.\n\n"
        "With --recording the scenario makes the calls of a recorded run again, at the number of ranks that "
        "[cluster] states. It is a recording: no value is computed, and nothing that the program would decide "
        "otherwise is played.\n\n"
        "Examples:\n"
        "  deadrank new communication/my_bug --from train.py --bug bug.diff --symptom loss_nan_or_divergence\n"
        "  deadrank new communication/my_bug --symptom collective_mismatch_error --fault resize_collective\n"
        "  deadrank new communication/at_64 --recording seen");
    auto arguments = std::make_shared<NewScenarioArguments>();
    scenarios::SkeletonOptions& wish = arguments->wish;
    command.add_option("id", wish.id, "stage/name of the scenario, as communication/my_bug")
        ->required()
        ->type_name("ID");
    const auto word = [&](const char* name, std::string& value, const char* what) {
        command.add_option(name, value, what)->type_name("ID");
    };
    word("--symptom", wish.symptom, "Symptom of the bug [collective_deadlock_hang]");
    word("--fault", wish.fault, "The kind of fault [kill_rank]");
    word("--cause", wish.cause, "The root cause [the most reported one of the symptom]");
    word("--fix", wish.fix, "The fix pattern [the most frequent one of the cause]");
    word("--workload", wish.workload, "The kind of workload [the first there is]");
    command.add_option("--from", arguments->program, "The fixed program, which each rank runs: plain Python")
        ->type_name("FILE")
        ->check(CLI::ExistingFile.description(""));
    command.add_option("--bug", arguments->patch, "A unified diff that puts the bug into it")
        ->type_name("FILE")
        ->check(CLI::ExistingFile.description(""));
    command.add_option("--recording", arguments->evidence,
                       "The evidence of a healthy run, or its directory, as watch --record keeps it: the scenario "
                       "makes its calls again, without its program")
        ->type_name("FILE")
        ->check(CLI::ExistingPath.description(""));
    command.add_flag("--print", arguments->print, "Print it instead of writing it");
    add_catalog(command, arguments->catalog);
    command.callback([arguments, &session] { create(*arguments, session); });
}

}  // namespace

extern const CommandRow new_row{"new", "Writes a commented skeleton of a scenario", add_new};

}  // namespace deadrank::runners::commands
