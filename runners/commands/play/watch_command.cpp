// runners/commands/play/watch_command.cpp — deadrank watch: runs an unmodified program with our hook in its
// ranks. Alarms go to the terminal, to a file of JSON lines and to a Prometheus endpoint; the exit code is
// the program's.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "results/processes/child.h"
#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/terminal.h"
#include "runners/backends/process/scratch.h"
#include "runners/commands/command.h"
#include "runners/commands/gpu_options.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/commands/under_test.h"
#include "runners/pipeline/play_trial.h"
#include "runners/pipeline/run_files.h"
#include "runners/serve/http.h"
#include "runners/watch/watch.h"

namespace deadrank::runners::commands {

namespace {

namespace fs = std::filesystem;
using results::reports::Ink;
using scenarios::ErrorCode;

struct WatchArguments {
    std::vector<std::string> command;
    std::string record, json, html, catalog;
    SimulatedGpus gpus;
    int port = -1, attach = 0;
    bool quiet = false, simulated = false, keep_files = false;
    std::int64_t ranks = 0, real_limit = real_limit_usual, compute = 0;
    std::uint64_t seed = 1, order = 0;
};

// The job's state as Prometheus metrics. Written by the watch loop, read by the server's threads.
class Board {
public:
    void put(const watch::JobStatus& standing) {
        std::string text;
        const auto head = [&](std::string_view name, std::string_view kind, std::string_view what) {
            text += fmt::format("# HELP deadrank_watch_{0} {2}\n# TYPE deadrank_watch_{0} {1}\n", name, kind,
                                what);
        };
        const auto of_ranks = [&](std::string_view name, std::string_view what, auto&& value) {
            head(name, "gauge", what);
            for (const auto& [rank, state] : standing.ranks)
                text += fmt::format("deadrank_watch_{}{{rank=\"{}\"}} {}\n", name, rank, value(state));
        };
        const auto seconds = [](results::Time time) { return static_cast<double>(time.count()) / 1e9; };
        of_ranks("rank_step", "Last step that the rank ended.", [](const auto& state) { return state.step; });
        of_ranks("step_seconds", "How long that step took.",
                 [&](const auto& state) { return seconds(state.step_took); });
        of_ranks("silent_seconds", "Since the rank's last sign of life.", [&](const auto& state) {
            return state.alive ? seconds(standing.now - state.last_sign) : 0.0;
        });
        of_ranks("rank_alive", "1 while the rank's process lives.",
                 [](const auto& state) { return state.alive ? 1 : 0; });
        of_ranks("rank_watched", "1 while its evidence comes in; 0 once its hook has turned itself off.",
                 [](const auto& state) { return state.watched ? 1 : 0; });
        head("alarm", "gauge", "1 for each alarm that has rung.");
        for (const results::Finding& finding : standing.rang)
            text += fmt::format("deadrank_watch_alarm{{symptom=\"{}\",blames=\"{}\"}} 1\n", finding.symptom,
                                finding.blame.text());
        head("processor_seconds_total", "counter",
             "Processor time that watching has taken outside of the ranks.");
        text += fmt::format("deadrank_watch_processor_seconds_total {}\n", standing.own_seconds);
        const std::lock_guard lock(mutex_);
        text_ = std::move(text);
    }
    serve::HttpResponse answer(const serve::HttpRequest& request) const {
        if (request.target != "/metrics") return {404, "there is /metrics\n"};
        const std::lock_guard lock(mutex_);
        return {200, text_, "text/plain; version=0.0.4; charset=utf-8"};
    }

private:
    mutable std::mutex mutex_;
    std::string text_;
};

scenarios::Result<void> check(const WatchArguments& arguments) {
    if (arguments.attach > 0) {
        return scenarios::refuse(
            ErrorCode::unsupported,
            fmt::format("process {} cannot be watched from now on: the hook comes in when Python starts",
                        arguments.attach),
            "restart it under deadrank watch -- …, or read its Flight Recorder dumps with deadrank "
            "diagnose import");
    }
    if (arguments.command.empty())
        return scenarios::refuse(ErrorCode::usage, "there is no program to watch",
                                 "write it behind --, as in deadrank watch -- torchrun train.py");
    return {};
}

// An outer watch already watches this job: run the program without a second one.
[[noreturn]] void exec_unwatched(const std::vector<std::string>& command) {
    print_error("deadrank: this job is watched already; the program runs under that watch alone\n");
    const int why = results::processes::replace_process(command);
    print_error("deadrank: {} cannot be started: {}\n", command.front(), std::strerror(why));
    std::_Exit(127);
}

void print_ringing(const watch::Ringing& ringing) {
    const auto style = style_of(stderr);
    const results::Finding& finding = ringing.finding;
    std::string line = fmt::format("deadrank: {} {} · {}", style.paint(Ink::red, "✘"),
                                   style.paint(Ink::bold, finding.symptom), finding.says);
    if (const std::string who = finding.blame.text(); !who.empty()) line += fmt::format(" ({})", who);
    print_error("{}, {} after the start\n{}", line, results::duration_text(finding.at), ringing.stacks);
    std::fflush(stderr);
}

void write_page(const WatchArguments& arguments, const fs::path& evidence, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto judged = judge_directory(*library, evidence);
    if (!session.take(judged)) return;
    // The evidence may lie in a directory that goes away with this process: the page names the program instead.
    std::string command = std::string("deadrank watch ") + (arguments.simulated ? "--simulated " : "") + "--html " + results::reports::shell_quoted(arguments.html) + " --";
    std::string program;
    for (const std::string& word : arguments.command)
        program += (program.empty() ? "" : " ") + results::reports::shell_quoted(word);
    judged->outcome.commands = {command + " " + program};
    judged->outcome.scenario = program;
    results::reports::Page page;
    add_to_page(page, 0, *judged);
    const auto written =
        page.write(arguments.html, results::score_by_class({judged->outcome}, library->taxonomy), "class",
                   "a program that was watched");
    if (!written) session.complain(written.error());
}

void print_watch_summary(const WatchArguments& arguments, const watch::Watched& watched) {
    for (const std::string& note : watched.notes) print_error("deadrank: {}\n", note);
    if (arguments.quiet || watched.evidence.each<results::RankStart>().empty()) return;
    const std::int64_t steps = count_steps(watched.evidence);
    std::string alarms = watched.rang.empty() ? "no alarm" : results::counted(watched.rang.size(), "alarm");
    const auto lost = watched.evidence.each<results::EvidenceLost>();
    if (!lost.empty())
        alarms += fmt::format(" up to {}, after which evidence is missing,",
                              results::duration_text(lost.front()->at));
    print_error("deadrank: {} in {}, {} steps, {} events\n", alarms, results::duration_text(watched.lasted),
                steps, watched.evidence.events().size());
}

// The program's own exit code, or 1 if it succeeded although something rang.
int code_of(const watch::Watched& watched) {
    if (watched.signal) return 128 + watched.signal;
    if (watched.code) return watched.code;
    if (!watched.rang.empty()) return exit_fail;
    return watched.nothing ? exit_unknown : exit_pass;
}

// The code of the rank that failed first, as a launcher ends with it.
int code_of_job(const results::Evidence& evidence) {
    for (const results::Event* event : evidence.each<results::RankExit>()) {
        const auto& exit = *event->as<results::RankExit>();
        if (exit.signal != 0) return 128 + exit.signal;
        if (exit.code != 0) return exit.code;
    }
    return exit_pass;
}

// The same program on the simulated cluster, at any number of ranks and in virtual time.
void watch_simulated(const WatchArguments& arguments, Session& session) {
    auto settings = managed_program(arguments.command, arguments.ranks, arguments.gpus);
    if (!session.take(settings)) return;
    settings->keep_files = arguments.keep_files;
    settings->real_limit = std::chrono::seconds(arguments.real_limit);
    settings->compute = arguments.compute;
    std::mutex printing;
    if (!arguments.quiet)
        settings->print = [&](results::Rank, bool error, std::string_view line) {
            const std::lock_guard lock(printing);
            results::reports::write_unchanged(error ? stderr : stdout, fmt::format("{}\n", line));
            std::fflush(error ? stderr : stdout);  // as it is printed, into a file too
        };
    ManagedRunner runner(*settings, session.extension.all_faults());
    PipelineOptions options;
    options.stop = &stop_on_interrupt();
    if (arguments.order > 0) options.order_seed = arguments.order;
    const auto plan = plan_of(settings->command, {arguments.seed});
    auto played = play_plan(plan, runner, options);
    flush_out();
    if (options.stop->load()) {
        session.code = exit_interrupted;
        return;
    }
    if (!session.take(played)) return;
    const results::Evidence& evidence = played->record.evidence;
    for (const results::Finding& finding : played->findings)
        if (!arguments.quiet) print_ringing({finding, ""});
    if (!arguments.record.empty() || !arguments.html.empty()) {
        const auto scratch = Scratch::make(arguments.record, {"evidence"});
        if (!scratch) return session.complain(scratch.error());
        const fs::path file =
            (arguments.record.empty() ? scratch->path() : fs::path(arguments.record)) / "evidence.jsonl";
        if (const auto kept = results::write_evidence(evidence, file); !kept)
            session.complain(kept.error());
        else if (!arguments.html.empty())
            write_page(arguments, file, session);
    }
    const std::int64_t steps = count_steps(evidence);
    for (const std::string& note : played->record.notes)
        if (!arguments.quiet) print_error("deadrank: {}\n", note);
    if (!arguments.quiet)
        print_error(
            "deadrank: {} on {} simulated ranks in {} of virtual time, {} steps, trace {:016x}\n",
            played->findings.empty() ? "no alarm" : results::counted(played->findings.size(), "alarm"),
            settings->command.ranks(), results::duration_text(played->record.ended), steps,
            played->record.trace_hash);
    const int code = code_of_job(evidence);
    session.code = code != exit_pass ? code : played->findings.empty() ? exit_pass : exit_fail;
}

void watch_command(const WatchArguments& arguments, Session& session) {
    if (auto sound = check(arguments); !sound) return session.complain(sound.error());
    if (arguments.simulated) return watch_simulated(arguments, session);
    if (std::getenv("DEADRANK_EVIDENCE")) exec_unwatched(arguments.command);
    const auto home = local_home();
    if (!home) return session.complain(home.error());
    std::map<std::string, std::string> variables;
    if (arguments.gpus.count > 0) {
        auto found = variables_of(arguments.gpus);
        if (!session.take(found)) return;
        variables = std::move(*found);
    }
    const auto scratch = Scratch::make(arguments.record, {"evidence"});
    if (!scratch) return session.complain(scratch.error());
    std::ofstream lines;
    if (!arguments.json.empty()) {
        lines.open(arguments.json == "-" ? "/dev/stdout" : arguments.json, std::ios::app);
        if (!lines)
            return session.complain(
                {ErrorCode::io, arguments.json + " cannot be written", "choose another file"});
    }
    Board board;
    board.put({});
    std::unique_ptr<serve::HttpServer> server;
    if (arguments.port >= 0) {
        auto listening = serve::HttpServer::listen(
            "127.0.0.1", arguments.port,
            [&](const serve::HttpRequest& request) { return board.answer(request); });
        if (!session.take(listening)) return;
        server = std::move(*listening);
        print_error("deadrank: http://127.0.0.1:{}/metrics\n", server->port());
    }
    bool told = false;  // that the file takes no more lines
    const auto ring = [&](const watch::Ringing& ringing) {
        if (!arguments.quiet) print_ringing(ringing);
        if (lines.is_open())
            lines << results::reports::finding_json(ringing.finding)
                         .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                  << std::endl;
        if (lines.is_open() && !lines && !std::exchange(told, true))
            print_error("deadrank: {} cannot be written: alarms are told here alone\n", arguments.json);
    };
    const auto tell = [&](const std::string& says) {
        if (!arguments.quiet) print_error("deadrank: settings differ: {}\n", says);
    };
    const auto note = [](const std::string& says) { print_error("deadrank: {}\n", says); };
    const auto stand = [&](const watch::JobStatus& standing) { board.put(standing); };
    const auto watched = watch::watch(
        {arguments.command, *home / "hook", scratch->path(), ring, variables, stand, tell, note});
    if (!watched) return session.complain(watched.error());
    session.code = code_of(*watched);
    const fs::path file =
        (arguments.record.empty() ? scratch->path() : fs::path(arguments.record)) / "evidence.jsonl";
    if (!arguments.record.empty() || !arguments.html.empty()) {
        // Failing to write the evidence is reported, but does not change the program's exit code.
        if (auto kept = results::write_evidence(watched->evidence, file); !kept)
            print_error("deadrank: {}\n", kept.error().text());
        else if (!arguments.html.empty())
            write_page(arguments, file, session);
    }
    print_watch_summary(arguments, *watched);
}

void add_watch(CLI::App& command, Session& session) {
    command.footer(
        "Plays nothing and injects nothing: the program runs as it is, with its terminal and its signals, "
        "and a "
        "hook in each Python process that has a RANK. A hook that fails turns itself off and says so.\n\n"
        "Exit code: the program's own where that is not 0; else 1 when an alarm rang, 2 when no rank was "
        "watched, and 0.\n\n"
        "Examples:\n"
        "  deadrank watch -- torchrun --nproc-per-node 4 train.py\n"
        "  deadrank watch --simulated -- torchrun --nnodes 8 --nproc-per-node 8 train.py\n"
        "  deadrank watch --json alarms.jsonl --port 9401 -- accelerate launch train.py\n"
        "  deadrank watch --record seen --html seen.html -- torchrun train.py\n"
        "  deadrank watch --gpus 8 -- torchrun --nproc-per-node 8 train.py   a program for GPUs, without "
        "any\n"
        "  deadrank diagnose seen/evidence.jsonl                     what may lie behind it");
    auto arguments = std::make_shared<WatchArguments>();
    command.add_option("--command", arguments->command)->allow_extra_args(false)->group("");
    command.add_option("--record", arguments->record, "Keep the evidence here, for judge and diagnose")
        ->type_name("DIR");
    command
        .add_option("--json", arguments->json, "Add one JSON line for each alarm to this file; - is stdout")
        ->type_name("FILE");
    command.add_option("--html", arguments->html, "Write a page that shows the run, at its end")
        ->type_name("FILE");
    command.add_option("-p,--port", arguments->port, "Answer Prometheus on 127.0.0.1; 0 takes any port")
        ->type_name("N")
        ->check(CLI::Range(0, 65535).description(""));
    command.add_flag("--simulated", arguments->simulated,
                     "Play the program on the simulated cluster: any number of ranks, virtual time");
    add_real_limit(command, arguments->real_limit);
    add_compute(command, arguments->compute);
    command.add_flag(
        "--keep-files", arguments->keep_files,
        "With --simulated: what the program writes stays; else its files are restored at the end");
    command
        .add_option("--ranks", arguments->ranks, "With --simulated: number of ranks, instead of the command's")
        ->type_name("N")
        ->check(CLI::Range(1, 100000).description(""));
    command.add_option("--seed", arguments->seed, "With --simulated: the seed of every draw [1]")
        ->type_name("N")
        ->check(whole_number());
    command
        .add_option("--order", arguments->order,
                    "With --simulated: what may come in any order comes in one drawn from this seed, as sweep --orders")
        ->type_name("N");
    command.add_option("--attach", arguments->attach, "A running process: refused, with the reason")
        ->type_name("PID");
    add_gpus(command, arguments->gpus);
    add_catalog(command, arguments->catalog);
    command.add_flag("-q,--quiet", arguments->quiet, "Print nothing but what was not watched");
    command.callback([arguments, &session] { watch_command(*arguments, session); });
}

}  // namespace

extern const CommandRow watch_row{"watch", "Watches a program of yours while it runs, and raises alarms",
                                  add_watch};

}  // namespace deadrank::runners::commands
