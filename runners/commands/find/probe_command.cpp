// runners/commands/find/probe_command.cpp — deadrank sweep probe: the magnitude from which a detector, a tool
// or an alert rule notices a fault, how soon, and how often it raises a false alarm. The command's options,
// text and files.
#include <CLI/CLI.hpp>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/record/text_file.h"
#include "results/record/words.h"
#include "runners/commands/command.h"
#include "runners/commands/find/probe_subject.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

// ── Shares are printed with their Wilson intervals, since twenty seeds are few.

namespace {

using find::Curve;
using find::CurvePoint;
using results::reports::Ink;
using results::reports::pad_left;
using results::reports::pad_right;
using results::reports::Style;

constexpr std::size_t chart_columns = 30;  // of the chart

std::string share_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// ─ the interval, ● the share.
std::string bar(const CurvePoint& point, const Style& style) {
    const auto column = [](double share) {
        return static_cast<std::size_t>(std::lround(share * static_cast<double>(chart_columns)));
    };
    const auto interval = point.interval();
    const std::size_t low = column(interval.low), high = column(interval.high), here = column(point.share());
    std::string text;
    for (std::size_t at = 0; at <= chart_columns; ++at) {
        if (at == here) {
            text += style.paint(point.share() >= 0.5 ? Ink::green : Ink::red, "●");
        } else if (at >= low && at <= high) {
            text += style.paint(Ink::dim, "─");
        } else {
            text +=
                at == 0 || at == chart_columns / 2 || at == chart_columns ? style.paint(Ink::dim, "┊") : " ";
        }
    }
    return text;
}

std::string delay_text(const CurvePoint& point) {
    return point.delays.empty() ? "—" : results::duration_text(point.median_delay());
}

std::string of_all(std::uint64_t some, std::uint64_t all) { return fmt::format("{}/{}", some, all); }

std::string point_line(const CurvePoint& point, const ProbeSubject& subject, std::size_t width,
                       const Style& style) {
    std::string line =
        fmt::format("  {}  {}  {}  {}", pad_left(subject.unit(point.magnitude), width), bar(point, style),
                    pad_left(of_all(point.seen, point.shots), 7), pad_left(delay_text(point), 12));
    if (subject.harm)
        line += fmt::format("  {}  {}", pad_left(of_all(point.harmed, point.shots), 7),
                            pad_left(std::to_string(point.wrong), 5));
    return line + "\n";
}

std::string head_line(const ProbeSubject& subject, std::size_t width, const Style& style) {
    std::string line = fmt::format("  {}  0 %         50 %         100 %  {}  {}", pad_left("", width),
                                   pad_left("seen", 8), pad_left("median after", 12));
    if (subject.harm) line += fmt::format("  {}  {}", pad_left("harm", 7), "wrong");
    return style.paint(Ink::dim, line) + "\n";
}

std::string crossing_text(const find::Crossing& crossing, const ProbeSubject& subject) {
    return fmt::format("seen in {} of the runs {} {}, not {} {}", share_percent(crossing.share),
                       crossing.seen > crossing.unseen ? "from" : "up to", subject.unit(crossing.seen),
                       crossing.seen > crossing.unseen ? "at" : "at", subject.unit(crossing.unseen));
}

std::string false_alarms_text(const Curve& curve) {
    const auto& healthy = curve.healthy;
    if (healthy.shots == 0) return "no healthy run was played";
    return fmt::format("{} in {} (at most {} of such runs, 95 %)",
                       results::counted(healthy.seen, "false alarm"),
                       results::counted(healthy.shots, "healthy run"),
                       share_percent(find::clopper_pearson(healthy.seen, healthy.shots).high));
}

// The highest magnitude at which most runs take harm and most of those go unnoticed.
std::string blind_spot_text(const Curve& curve, const ProbeSubject& subject) {
    const CurvePoint* worst = nullptr;
    for (const CurvePoint& point : curve.points) {
        if (point.harmed * 2 >= point.shots && point.seen * 2 < point.harmed && point.shots > 0)
            worst = &point;
    }
    if (!worst) return "";
    return fmt::format("at {} the job takes harm in {} runs of {} and it is seen in {}",
                       subject.unit(worst->magnitude), worst->harmed, worst->shots, worst->seen);
}

}  // namespace

std::string probe_text(const Curve& curve, const ProbeSubject& subject, const Style& style) {
    std::size_t width = 6;
    for (const CurvePoint& point : curve.points)
        width = std::max(width, results::reports::columns_of(subject.unit(point.magnitude)));
    std::string text = fmt::format("{} · {}\n\n", style.paint(Ink::bold, subject.who), subject.what) +
                       head_line(subject, width, style);
    for (const CurvePoint& point : curve.points) text += point_line(point, subject, width, style);
    text += "\n";
    const auto row = [&](std::string_view label, const std::string& words) {
        if (!words.empty())
            text += fmt::format("  {} {}\n", style.paint(Ink::dim, pad_right(label, 12)), words);
    };
    const bool measured = std::any_of(curve.points.begin(), curve.points.end(),
                                      [](const CurvePoint& point) { return point.shots > 0; });
    if (!measured) {
        row("threshold", "not measured: no run could be told");
    } else if (curve.crossings.empty()) {
        const bool all = curve.points.front().share() >= 0.5;
        row("threshold", all ? "none in this range: it is seen everywhere in at least half of the runs"
                             : "none in this range: it is nowhere seen in half of the runs");
    }
    for (const auto& crossing : curve.crossings) row("threshold", crossing_text(crossing, subject));
    row("healthy", false_alarms_text(curve));
    if (subject.harm) row("blind spot", blind_spot_text(curve, subject));
    if (!curve.monotone) row("order", "more is not always seen better: see the chart");
    if (curve.unknown > 0)
        row("unknown", fmt::format("{}: {}", results::counted(curve.unknown, "run"), curve.trouble));
    return text;
}

std::string probe_json(const Curve& curve, const ProbeSubject& subject) {
    const auto json_of = [&](const CurvePoint& point) {
        const auto interval = point.interval();
        nlohmann::ordered_json json = {
            {"magnitude", point.magnitude}, {"text", subject.unit(point.magnitude)},
            {"runs", point.shots},          {"seen", point.seen},
            {"share", point.share()},       {"low", interval.low},
            {"high", interval.high},        {"harmed", point.harmed},
            {"wrong", point.wrong}};
        if (!point.delays.empty()) {
            json["median_delay_ns"] = point.median_delay().count();
            json["longest_delay_ns"] = point.longest_delay().count();
        }
        return json;
    };
    nlohmann::ordered_json points = nlohmann::ordered_json::array(), crossings = points;
    for (const CurvePoint& point : curve.points) points.push_back(json_of(point));
    for (const auto& crossing : curve.crossings)
        crossings.push_back(
            {{"share", crossing.share}, {"unseen", crossing.unseen}, {"seen", crossing.seen}});
    const auto alarms = find::clopper_pearson(curve.healthy.seen, curve.healthy.shots);
    const nlohmann::ordered_json json = {{"who", subject.who},
                                         {"what", subject.what},
                                         {"points", points},
                                         {"thresholds", crossings},
                                         {"healthy",
                                          {{"runs", curve.healthy.shots},
                                           {"false_alarms", curve.healthy.seen},
                                           {"low", alarms.low},
                                           {"high", alarms.high}}},
                                         {"monotone", curve.monotone},
                                         {"unknown", curve.unknown},
                                         {"trouble", curve.trouble}};
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string probe_csv(const Curve& curve, const ProbeSubject& subject) {
    std::string text = "magnitude,text,runs,seen,share,low,high,median_delay_s,harmed,wrong\n";
    for (const CurvePoint& point : curve.points) {
        const auto interval = point.interval();
        const std::string delay =
            point.delays.empty()
                ? ""
                : fmt::format("{:.3f}", std::chrono::duration<double>(point.median_delay()).count());
        text += fmt::format("{},{},{},{},{:.4f},{:.4f},{:.4f},{},{},{}\n", point.magnitude,
                            subject.unit(point.magnitude), point.shots, point.seen, point.share(),
                            interval.low, interval.high, delay, point.harmed, point.wrong);
    }
    return text;
}

namespace {

using scenarios::ErrorCode;

bool is_complete(const ProbeArguments& arguments, Session& session) {
    if (arguments.vary.empty()) {
        session.complain({ErrorCode::usage, "nothing is varied", "give --vary slow_rank.factor=1x..4x"});
        return false;
    }
    if (arguments.rules.empty() == arguments.scenario.empty()) {
        session.complain(
            {ErrorCode::usage, "a scenario or a rule file is needed, and not both",
             "deadrank sweep probe SCENARIO --vary …, or deadrank sweep probe --rules FILE --alert NAME "
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
        print_out("{}\n", probe_json(curve, subject));
    } else {
        print_out("{}", probe_text(curve, subject, style_of(stdout)));
    }
    if (!arguments.csv.empty()) {
        auto written = results::write_text(probe_csv(curve, subject), arguments.csv);
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
        "Exit code: 0 measured, 2 some runs are unknown, 64 the command line is wrong, 130 stopped "
        "(the "
        "points so far are shown).\n\n"
        "Examples:\n"
        "  deadrank sweep probe scheduling/one_slow_device --vary slow_rank.factor=1x..4x --detector "
        "straggler\n"
        "  deadrank sweep probe communication/rank_leaves_all_reduce --vary workload.steps=20..40 --tool "
        "torchfrtrace\n"
        "  deadrank sweep probe my.toml --vary pause_rank.for=1s..5m --command 'python3 mine.py {evidence}'\n"
        "  deadrank sweep probe --rules my.yml --alert GpuHot --failure thermal_throttle --vary "
        "lasts=10s..20m");
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
        ->check(number_between(0.1, 3600.0));
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
