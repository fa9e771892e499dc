// runners/commands/probe.cpp — deadrank probe: from which magnitude on a detector, a tool or an alert rule
// notices a fault, how fast, and how often it cries without one. The words of the command, and its files.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "results/text/text_file.h"
#include "runners/commands/command.h"
#include "runners/commands/interrupt.h"
#include "runners/commands/probe_subject.h"

namespace deadrank::runners::commands {

namespace {

using scenarios::ErrorCode;

bool is_complete(const ProbeArguments& arguments, Session& session) {
    if (arguments.vary.empty()) {
        session.complain({ErrorCode::usage, "nothing is varied", "give --vary slow_rank.factor=1x..4x"});
        return false;
    }
    if (arguments.rules.empty() == arguments.scenario.empty()) {
        session.complain({ErrorCode::usage, "a scenario or a rule file is needed, and not both",
                          "deadrank probe SCENARIO --vary …, or deadrank probe --rules FILE --alert NAME "
                          "--failure ID --vary …"});
        return false;
    }
    if (!arguments.rules.empty() && (arguments.alert.empty() || arguments.failure.empty())) {
        session.complain({ErrorCode::usage, "--rules needs --alert and --failure",
                          "deadrank alerts --list names the failures"});
        return false;
    }
    return true;
}

void probe(const ProbeArguments& arguments, Session& session) {
    if (!is_complete(arguments, session)) return;
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    std::atomic<bool>& stop = stop_on_interrupt();
    Progress progress;
    auto probed = arguments.rules.empty() ? probe_detector(arguments, *library, session, progress)
                                          : probe_alert(arguments, *library, progress);
    progress.clear();
    if (!session.take(probed)) return;
    const auto& [curve, subject] = *probed;
    if (arguments.json) {
        fmt::print("{}\n", probe_json(curve, subject));
    } else {
        fmt::print("{}", probe_text(curve, subject, style_of(stdout)));
    }
    if (!arguments.csv.empty()) {
        auto written = results::reports::write_text(probe_csv(curve, subject), arguments.csv);
        if (!written) return session.complain(written.error());
    }
    const bool blind = curve.points.empty() || curve.unknown > 0;
    session.code = stop.load() ? exit_interrupted : blind ? exit_unknown : exit_pass;
}

void add_rule_options(CLI::App& command, ProbeArguments& arguments) {
    const auto add = [&](const char* name, std::string& value, const char* what, const char* type) {
        command.add_option(name, value, what)->type_name(type)->group("An alert rule instead of a detector");
    };
    add("--rules", arguments.rules, "The file that holds it", "FILE");
    add("--alert", arguments.alert, "Its name", "NAME");
    add("--failure", arguments.failure, "What strikes; deadrank alerts --list names all", "ID");
    add("--cluster", arguments.cluster, "Nodes × GPUs of the judged cluster [8x8]", "NxG");
    add("--scrape", arguments.scrape, "Scrape interval [15s]", "TIME");
    add("--eval", arguments.eval, "Evaluation interval [15s]", "TIME");
    add("--duration", arguments.duration, "Length of a run [45m]", "TIME");
    add("--promtool", arguments.promtool, "The promtool that judges [promtool]", "PATH");
    add("--out", arguments.out, "Where generated test files stay [out/probe]", "DIR");
}

void add_probe(CLI::App& command, Session& session) {
    command.footer(
        "A fault's number is turned from A to B; at each point every seed is played, and between two points "
        "where the share of runs in which it is seen passes 50 % and 95 % it is bisected. Shares have Wilson "
        "intervals. Beside it: how long until the first word, harm to the job, blame of bystanders, and "
        "alarms "
        "in the same runs without the fault.\n\n"
        "What can be varied: FAULT.PARAMETER, FAULT.lasts, FAULT.step, FAULT.ranks (how many it touches), "
        "workload.NAME, cluster.NAME; of a failure under --rules: lasts, strength, targets.\n\n"
        "Exit code: 0 measured, 2 some runs could not be told, 64 the command line is wrong, 130 stopped "
        "(the "
        "points so far are shown).\n\n"
        "Examples:\n"
        "  deadrank probe scheduling/one_slow_device --vary slow_rank.factor=1x..4x --detector straggler\n"
        "  deadrank probe communication/rank_leaves_all_reduce --vary workload.steps=20..40 --tool "
        "torchfrtrace\n"
        "  deadrank probe my.toml --vary pause_rank.for=1s..5m --command 'python3 mine.py {evidence}'\n"
        "  deadrank probe --rules my.yml --alert GpuHot --failure thermal_throttle --vary lasts=10s..20m");
    auto arguments = std::make_shared<ProbeArguments>();
    command.add_option("scenario", arguments->scenario, "Its fault is turned")->type_name("SCENARIO");
    command.add_option("--vary", arguments->vary, "What, from where to where: slow_rank.factor=1x..4x")
        ->type_name("NAME=A..B");
    auto* detector = command.add_option("--detector", arguments->detector, "One of ours [all]");
    auto* tool = command.add_option("--tool", arguments->tool, "A tool that deadrank score knows");
    auto* external = command.add_option("--command", arguments->command, "Anybody's, by the protocol");
    detector->type_name("NAME")->excludes(tool)->excludes(external);
    tool->type_name("NAME")->excludes(external);
    external->type_name("COMMAND");
    command.add_option("--symptom", arguments->symptom, "Count findings of this symptom only")
        ->type_name("ID");
    command.add_option("--time-limit", arguments->time_limit, "Seconds for each answer of a command [60]")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 3600.0).description(""));
    command.add_option("--seeds", arguments->seeds.range, "Each seed from A to B [1..20]")->type_name("A..B");
    command.add_option("--points", arguments->points, "Of the first grid [7]")
        ->type_name("N")
        ->check(CLI::Range(2, 200).description(""));
    command.add_option("-j,--jobs", arguments->jobs, "Runs at once [the processors]")->type_name("N");
    command.add_option("--csv", arguments->csv, "Write the curve as a table")->type_name("FILE");
    add_rule_options(command, *arguments);
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object with points, thresholds and false alarms");
    command.callback([arguments, &session] { probe(*arguments, session); });
}

}  // namespace

extern const CommandRow probe_row{
    "probe", "Finds from which magnitude on a detector, a tool or an alert rule sees a fault", add_probe};

}  // namespace deadrank::runners::commands
