// runners/commands/judge/score_command.cpp — deadrank score: other people's tools, unmodified, judged over
// scenarios. Prints tables, or writes files.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "results/record/text_file.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/judge/score_report.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/commands/trust.h"

namespace deadrank::runners::commands {

namespace {

struct ScoreArguments {
    SelectionOptions selection;
    SeedOptions seeds;
    std::vector<std::string> tools, detectors, scenarios;
    std::string runner = "sim", out_json, out_csv;
    double time_limit = 60;
    int jobs = 1;
    bool json = false, list = false, trust = false;
};

scenarios::Result<std::vector<Tool>> tools_for(const ScoreArguments& arguments,
                                               const std::vector<std::string>& symptoms,
                                               const results::processes::Bounds& bounds) {
    std::vector<Tool> tools;
    std::vector<std::string> names = arguments.tools;
    if (names.empty() && arguments.detectors.empty()) names = tool_names();
    for (const std::string& name : names) {
        auto tool = find_tool(name, bounds);
        if (!tool) return tl::unexpected(tool.error());
        tools.push_back(std::move(*tool));
    }
    for (const std::string& command : arguments.detectors) {
        auto tool = tool_of_command(command, symptoms, bounds);
        if (!tool) return tl::unexpected(tool.error());
        tools.push_back(std::move(*tool));
    }
    return tools;
}

void list_tools(const std::vector<Tool>& tools, bool json) {
    if (json) {
        print_out("{}", list_json(tools));
        return;
    }
    for (const Tool& tool : tools) {
        print_out("  {:24}{}\n", tool.name,
                  !tool.missing.empty()  ? "not here: " + tool.missing
                  : tool.version.empty() ? "of unknown release"
                                         : tool.version);
    }
}

class ScoreCommand {
public:
    ScoreCommand(const ScoreArguments& arguments, Session& session)
        : arguments_(arguments), session_(session) {}

    void operator()() {
        results::processes::Bounds bounds;
        bounds.time = std::chrono::milliseconds(static_cast<std::int64_t>(arguments_.time_limit * 1000));
        bounds.stopped = [] { return stop_on_interrupt().load(); };
        if (arguments_.list && arguments_.detectors.empty()) {
            auto tools = tools_for(arguments_, {}, bounds);
            if (session_.take(tools)) list_tools(*tools, arguments_.json);
            return;
        }
        auto library = open_library(session_.executable, session_.extension, arguments_.selection.catalog);
        if (!session_.take(library)) return;
        auto tools = tools_for(arguments_, scenarios::ids(library->taxonomy.symptoms), bounds);
        if (!session_.take(tools)) return;
        if (arguments_.list) return list_tools(*tools, arguments_.json);
        auto seeds = seeds_of(arguments_.seeds);
        if (!session_.take(seeds)) return;
        auto runner = make_runner(arguments_.runner);
        if (!session_.take(runner)) return;
        SelectionOptions chosen = arguments_.selection;
        chosen.names.insert(chosen.names.end(), arguments_.scenarios.begin(), arguments_.scenarios.end());
        auto selection = select(*library, chosen);
        if (!session_.take(selection)) return;
        for (const scenarios::Error& error : selection->broken) session_.complain(error);
        if (arguments_.runner != scenarios::BackendId::sim && !arguments_.trust) {
            if (auto trusted = check_trust(*library, selection->scenarios); !trusted)
                return session_.complain(trusted.error());
        }
        play(*library, *selection, *seeds, *tools);
    }

private:
    void play(const Library& library, const Selection& selection, const std::vector<scenarios::Seed>& seeds,
              const std::vector<Tool>& tools) {
        std::vector<Job> jobs;
        for (const auto& scenario : selection.scenarios) {
            if (!playable_on(scenario, arguments_.runner)) continue;
            for (const scenarios::Seed& seed : seeds) jobs.push_back({&scenario, seed});
        }
        Progress progress;
        ScoreOptions options{.threads = arguments_.jobs, .stop = &stop_on_interrupt()};
        options.progress = [&](std::size_t done, std::size_t all) {
            progress.show(fmt::format("  {} of {}", done, all));
        };
        const auto cases = score_tools(
            tools, jobs, [&] { return std::move(*make_runner(arguments_.runner)); }, library.vocabulary,
            options);
        progress.clear();
        std::vector<ToolScore> scores;
        for (std::size_t i = 0; i < tools.size(); ++i)
            scores.push_back(score_of(tools[i], cases[i], library.taxonomy));
        print(scores);
        write(scores);
        session_.code = std::max(session_.code, code_of(scores));
        if (stop_on_interrupt().load()) session_.code = exit_interrupted;
    }

    void print(const std::vector<ToolScore>& scores) const {
        if (arguments_.json) {
            print_out("{}", score_json(scores));
            return;
        }
        const auto style = style_of(stdout);
        for (const ToolScore& score : scores)
            print_out("{}{}\n", tool_table(score, style), pinned_text(score, style));
    }

    void write(const std::vector<ToolScore>& scores) {
        const auto put = [&](const std::string& file, const std::string& text) {
            if (file.empty()) return;
            if (auto written = results::write_text(text, file); !written) session_.complain(written.error());
        };
        put(arguments_.out_json, score_json(scores));
        put(arguments_.out_csv, score_csv(scores));
    }

    // A bad score is not a failure of this command; a score that differs from the pinned one is.
    static int code_of(const std::vector<ToolScore>& scores) {
        bool asked = false, changed = false;
        for (const ToolScore& score : scores) {
            asked = asked || !score.cases.empty();
            for (const ToolCase* one : score.cases)
                changed = changed || (one->outcome.fault && !one->matches_pin());
        }
        return changed ? exit_fail : asked ? exit_pass : exit_unknown;
    }

    const ScoreArguments& arguments_;
    Session& session_;
};

void add_score(CLI::App& command, Session& session) {
    command.footer(
        "Each scenario is played with its fault and without it, once for all tools. A tool is asked for what "
        "it can name at all (a dump analyzer knows no training step). What a release is known to get wrong "
        "is "
        "pinned: '=' is as known, '≠' has changed. A tool that is ended at --time-limit counts as crashed; "
        "on "
        "a busy machine give it more.\n\n"
        "Exit code: 0, however good the tools are; 1 when one no longer behaves as pinned, 2 when none could "
        "be "
        "asked, 64 the command line or a file is wrong.\n\n"
        "Examples:\n"
        "  deadrank score --list\n"
        "  deadrank score results/external/scenarios --tools torchfrtrace,deadrank\n"
        "  deadrank score communication --seeds 1..5 --detector 'mine=python3 mine.py' --csv score.csv");
    auto arguments = std::make_shared<ScoreArguments>();
    add_selection(command, arguments->selection);
    add_seeds(command, arguments->seeds);
    command.add_option("--scenarios", arguments->scenarios, "More scenarios, separated by commas")
        ->type_name("SCENARIO")
        ->delimiter(',');
    command.add_option("--tools", arguments->tools, "Tools, separated by commas [all that are here]")
        ->type_name("NAME")
        ->delimiter(',');
    command
        .add_option("--detector", arguments->detectors, "A detector's command; may be given several times")
        ->type_name("COMMAND")
        ->allow_extra_args(false);
    command.add_option("--runner", arguments->runner, "Where to play: sim or local [sim]")->type_name("NAME");
    add_trust(command, arguments->trust);
    command.add_option("--time-limit", arguments->time_limit, "Seconds for each answer of a tool [60]")
        ->type_name("SECONDS")
        ->check(number_between(0.1, 3600.0));
    command.add_option("-j,--jobs", arguments->jobs, "Trials at once [1]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    command.add_option("--csv", arguments->out_csv, "Write the scorecard as CSV")->type_name("FILE");
    command.add_option("--out-json", arguments->out_json, "Write scorecard and cases as JSON")
        ->type_name("FILE");
    command.add_flag("--list", arguments->list, "Say which tools are here, and how to get the others");
    add_json(command, arguments->json, "One JSON object on standard output");
    command.callback([arguments, &session] { ScoreCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow score_row{"score", "Judges other people's detection tools over scenarios", add_score};

}  // namespace deadrank::runners::commands
