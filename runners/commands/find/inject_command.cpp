// runners/commands/find/inject_command.cpp — deadrank inject: faults of one line each into a program of the
// user's, and what the program did.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/terminal.h"
#include "runners/commands/command.h"
#include "runners/commands/find/shrink_program.h"
#include "runners/commands/otlp_output.h"
#include "runners/commands/program_options.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/commands/under_test.h"
#include "runners/explore/program_trials.h"
#include "scenarios/format/fault_expression.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::commands {

namespace {

using explore::Outcome;
using explore::ProgramRun;
using results::reports::Ink;
using results::reports::Json;

struct InjectArguments {
    ProgramOptions program;
    std::vector<std::string> faults;
    std::string expect, within, record, html, otlp, debug;
    bool json = false, verbose = false, shrink = false;
};

// One fault of a plan, in words for people: "kill_rank rank 1".
std::vector<std::string> applied_marks(const results::Truth& truth) {
    std::vector<std::string> lines;
    for (const results::Mark& mark : truth.marks) {
        if (mark.kind == results::MarkKind::applied)
            lines.push_back(fmt::format("{} at {}", mark.says, results::duration_text(mark.at)));
    }
    return lines;
}

struct Answer {
    ProgramRun run;
    bool met = true;  // what --expect asked for
    std::string unmet;
    std::optional<MinimalProgram> least;
};

class InjectCommand {
public:
    InjectCommand(const InjectArguments& arguments, Session& session)
        : arguments_(arguments), session_(session), style_(style_of(stdout)) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, "");
        if (!session_.take(library)) return;
        std::vector<scenarios::FaultSettings> faults;
        for (const std::string& line : arguments_.faults) {
            auto fault = scenarios::read_fault_expression(line, library->vocabulary);
            if (!fault) return complain_of_line(session_, fault.error(), line);
            faults.push_back(std::move(*fault));
        }
        if (!arguments_.debug.empty()) {
            // A moment is read as that of a fault, which never acts.
            auto moment = scenarios::read_fault_expression("stop " + arguments_.debug, library->vocabulary);
            if (!moment) return session_.complain(moment.error());
            faults.push_back(std::move(*moment));
        }
        if (faults.empty())
            return session_.complain({scenarios::ErrorCode::usage, "there is no fault",
                                      "name one, as in 'kill rank 1 before all_reduce 7', or --debug"});
        if (auto effect = check_effect(arguments_.faults, arguments_.program, library->vocabulary); !effect)
            return session_.complain(effect.error());
        auto program = open_program(arguments_.program, session_.extension);
        if (!session_.take(program)) return;
        auto plan = scenarios::with_faults(program->healthy, faults, library->vocabulary);
        if (!plan) return complain_of_faults(plan.error(), faults, *program, library->vocabulary);
        plan->variant = scenarios::Variant::fault;
        auto traces = OtlpOutput::open(arguments_.otlp);
        if (!session_.take(traces)) return;
        const results::Detectors detectors = library->detectors();
        explore::ProgramTrials trials(program->healthy,
                                      {.stop = &stop_on_interrupt(), .detectors = &detectors});
        const auto runner = program->make_runner();
        const auto control = trials.control(*runner);
        if (was_stopped()) return;
        if (!control) return session_.complain(control.error());
        auto run = trials.play(*plan, *make_runner(*program), arguments_.debug.empty() ? runner.get() : nullptr);
        if (was_stopped()) return;
        if (!session_.take(run)) return;
        if (arguments_.faults.empty() && !run->fault.record.truth.idle()) return show_debugged(std::move(*run));
        if (is_compared(*run)) {
            const auto repeats = check_repeats(trials, *runner, *program, session_.extension);
            if (was_stopped()) return;
            if (!repeats) return session_.complain(repeats.error());
        }
        Answer answer{.run = std::move(*run), .met = true, .unmet = {}, .least = {}};
        judge(answer);
        if (arguments_.shrink && is_played(answer.run))
            answer.least = shrink_program(arguments_.program, arguments_.faults, answer.run, *library,
                                          session_.extension);
        keep(answer);
        if (*traces) trace(answer.run, **traces);
        if (arguments_.json)
            print_out("{}\n", results::reports::dumped(json_of(answer), 2));
        else
            print(answer);
        if (session_.code == exit_pass) session_.code = code_of_answer(answer);
    }

private:
    // At the line that is refused alone; of several lines, only some may be in conflict.
    void complain_of_faults(scenarios::Error error, const std::vector<scenarios::FaultSettings>& faults,
                            const OpenedProgram& program, const scenarios::Vocabulary& vocabulary) {
        for (std::size_t i = 0; i < arguments_.faults.size(); ++i) {
            const auto alone = scenarios::with_faults(program.healthy, {faults[i]}, vocabulary);
            if (!alone) return complain_of_line(session_, alone.error(), arguments_.faults[i]);
        }
        error.place = {};
        session_.complain(error);
    }

    // Whether the outcome rests on a comparison with the one healthy run.
    bool is_compared(const ProgramRun& run) const {
        return arguments_.shrink || run.outcome == Outcome::wrong_result ||
               run.outcome == Outcome::lost_checkpoint || run.outcome == Outcome::never_came;
    }

    bool was_stopped() {
        if (stop_on_interrupt().load()) session_.code = exit_interrupted;
        return stop_on_interrupt().load();
    }

    // With the program's output on this terminal, and with a debugger, as asked for.
    std::unique_ptr<Runner> make_runner(const OpenedProgram& program) const {
        ManagedSettings settings = program.settings;
        settings.debugged = !arguments_.debug.empty();
        if (arguments_.verbose)
            settings.print = [](results::Rank, bool error, std::string_view line) {
                static std::mutex printing;
                const std::lock_guard lock(printing);
                results::reports::write_unchanged(error ? stderr : stdout, fmt::format("{}\n", line));
            };
        return std::make_unique<ManagedRunner>(settings, session_.extension.all_faults());
    }

    void judge(Answer& answer) const {
        if (arguments_.expect.empty()) return;
        answer.met = explore::meets(*scenarios::read_word<explore::WantedEnd>(arguments_.expect), answer.run);
        if (!answer.met) {
            answer.unmet = fmt::format("not met: {}", arguments_.expect);
            return;
        }
        if (arguments_.within.empty()) return;
        const auto limit = scenarios::parse_value(scenarios::ValueType::duration, arguments_.within);
        const results::Time settled = results::find_settled_time(answer.run.fault.record.evidence);
        const results::Time took = settled - answer.run.fault_at();
        answer.met = limit && settled != results::never && took.count() <= limit->number;
        if (!answer.met)
            answer.unmet = fmt::format("not met: within {}, and it took {}", arguments_.within,
                                       results::duration_text(took));
    }

    static bool is_played(const ProgramRun& run) {
        return run.outcome != Outcome::never_came && run.outcome != Outcome::unknown;
    }

    int code_of_answer(const Answer& answer) const {
        if (!is_played(answer.run)) return exit_unknown;
        if (stop_on_interrupt().load()) return exit_interrupted;
        return answer.met ? exit_pass : exit_fail;
    }

    std::string again() const {
        std::string verb = "inject";
        if (!arguments_.expect.empty()) verb += " --expect " + arguments_.expect;
        if (!arguments_.within.empty()) verb += " --within " + arguments_.within;
        if (!arguments_.debug.empty()) verb += " --debug " + results::reports::shell_quoted(arguments_.debug);
        return command_line(verb, arguments_.program, arguments_.faults);
    }

    // What happened under the debugger is gone with the copy that it was in; what is kept is the job without it.
    void show_debugged(ProgramRun run) {
        run.outcome = Outcome::unaffected;
        run.says = fmt::format("the debugged copy is gone; the job without the debugger takes {}",
                               results::duration_text(run.control->record.ended));
        row("ended", run.says);
        row("again", again());
        keep({.run = std::move(run), .met = true, .unmet = {}, .least = {}});
    }

    void row(std::string_view head, const std::string& text) const {
        print_out("  {}  {}\n", style_.paint(Ink::dim, results::reports::pad_right(head, 8)), text);
    }

    void print(const Answer& answer) const {
        const ProgramRun& run = answer.run;
        const results::Evidence& healthy = run.control->record.evidence;
        row("healthy", fmt::format("{} ranks, {} in {} of virtual time{}", healthy.world_size(),
                                   results::counted(count_steps(healthy), "step"),
                                   results::duration_text(run.control->record.ended),
                                   run.control->findings.empty() ? "" : ", and an alarm"));
        for (const results::Finding& finding : run.control->findings)
            row("", fmt::format("false alarm: {}: {}", finding.symptom, finding.says));
        for (const std::string& mark : applied_marks(run.fault.record.truth)) row("fault", mark);
        for (const std::int32_t fault : run.innocent)
            row("", fmt::format("without '{}' it ends alike", arguments_.faults.at(static_cast<std::size_t>(fault))));
        const Ink ink = explore::is_bad(run.outcome) ? Ink::red : Ink::green;
        row("outcome", style_.paint(ink, explore::text_of(run.outcome)) +
                           (run.says.empty() ? "" : ": " + run.says));
        print_alarms(run);
        if (!arguments_.expect.empty())
            row("expected", answer.met ? style_.paint(Ink::green, "met") : style_.paint(Ink::red, answer.unmet));
        row("again", again());
        if (!answer.least) return;
        const explore::ShrunkProgram& shrunk = answer.least->shrunk;
        row("least",
            fmt::format("{}{}, {} ({}{})",
                        results::counted(static_cast<std::size_t>(shrunk.least.ranks), "rank"),
                        shrunk.least.nodes > 1 ? fmt::format(" on {} nodes", shrunk.least.nodes) : "",
                        fmt::join(shrunk.least.faults, "; "), results::counted(shrunk.tries, "run"),
                        shrunk.finished ? "" : ", stopped before the end"));
        row("", answer.least->again);
        print_out("\n{}", answer.least->test);
    }

    void print_alarms(const ProgramRun& run) const {
        if (!is_played(run)) return;
        if (run.fault.findings.empty()) return row("alarm", "none");
        for (const results::Finding& finding : run.fault.findings) {
            const std::string who = finding.blame.text();
            row("alarm", fmt::format("{}: {}{}, {}", finding.symptom, finding.says,
                                     who.empty() ? "" : " (" + who + ")",
                                     results::after_text(finding.at - run.fault_at(), "the fault")));
        }
    }

    std::vector<std::string> innocent_lines(const ProgramRun& run) const {
        std::vector<std::string> lines;
        for (const std::int32_t fault : run.innocent) lines.push_back(arguments_.faults.at(static_cast<std::size_t>(fault)));
        return lines;
    }

    Json json_of(const Answer& answer) const {
        const ProgramRun& run = answer.run;
        const bool came = run.fault_at() != results::never;
        Json json = {{"outcome", explore::name_of(run.outcome)},
                     {"says", run.says},
                     {"faults", arguments_.faults},
                     {"fault_at_ns", came ? Json(run.fault_at().count()) : Json(nullptr)},
                     {"ended_ns", run.fault.record.ended.count()},
                     {"culprit", results::blame_json(run.culprit())},
                     {"innocent", innocent_lines(run)},
                     {"alarm", run.alarm()},
                     {"findings", results::reports::findings_json(run.fault.findings)},
                     {"trace_hash", fmt::format("{:016x}", run.fault.record.trace_hash)}};
        json["healthy"] = {{"ranks", run.control->record.evidence.world_size()},
                           {"steps", count_steps(run.control->record.evidence)},
                           {"ended_ns", run.control->record.ended.count()},
                           {"findings", results::reports::findings_json(run.control->findings)},
                           {"trace_hash", fmt::format("{:016x}", run.control->record.trace_hash)}};
        if (!arguments_.expect.empty()) json["expect"] = {{"wanted", arguments_.expect}, {"met", answer.met}};
        json["again"] = again();
        if (answer.least)
            json["least"] = {{"faults", answer.least->shrunk.least.faults},
                             {"ranks", answer.least->shrunk.least.ranks},
                             {"nodes", answer.least->shrunk.least.nodes},
                             {"tries", answer.least->shrunk.tries},
                             {"finished", answer.least->shrunk.finished},
                             {"again", answer.least->again},
                             {"test", answer.least->test}};
        return json;
    }

    // The evidence of both runs, and the page.
    void keep(const Answer& answer) {
        const auto complain = [&](const scenarios::Result<void>& written) {
            if (!written) session_.complain(written.error());
        };
        const ProgramRun& run = answer.run;
        if (!arguments_.record.empty()) {
            const std::filesystem::path directory = arguments_.record;
            std::error_code ignored;  // the write below says what is wrong
            std::filesystem::create_directories(directory / "control", ignored);
            complain(results::write_evidence(run.fault.record.evidence, directory / "evidence.jsonl"));
            complain(results::write_evidence(run.control->record.evidence,
                                             directory / "control" / "evidence.jsonl"));
        }
        if (arguments_.html.empty()) return;
        results::reports::Page page;
        std::string title = fmt::format("{}", fmt::join(arguments_.faults, "; "));
        if (title.empty()) title = "debugger at " + arguments_.debug;
        add_to_page(page, 0, run, title, again());
        complain(page.write(arguments_.html, {}, "class", std::string(explore::text_of(run.outcome))));
    }

    // Both runs as traces: the one with the faults, and the healthy one.
    void trace(const ProgramRun& run, OtlpOutput& traces) {
        results::reports::TracedRun traced;
        traced.name = fmt::format("{}", fmt::join(arguments_.faults, "; "));
        traced.runner = "sim";
        traced.variant = scenarios::variant_name(scenarios::Variant::control);
        const std::string healthy = traces.spans_of(traced, *run.control);
        traced.variant = scenarios::variant_name(scenarios::Variant::fault);
        traced.verdict = explore::name_of(run.outcome);
        traced.reason = run.says;
        traces.take(0, traces.spans_of(traced, run.fault) + "," + healthy);
        if (const auto written = traces.finish(); !written) session_.complain(written.error());
    }

    const InjectArguments& arguments_;
    Session& session_;
    results::reports::Style style_;
};

std::string verbs_footer() {
    std::string text =
        "The program runs unmodified on the simulated cluster, once healthy and once with the faults. The "
        "files that it writes are put back.\n\n"
        "Faults, one line each:\n";
    for (const scenarios::FaultVerb& verb : scenarios::fault_verbs())
        text += fmt::format("  {:42} {}\n", verb.example, id_of(verb.kind));
    return text +
           "The seed draws a rank that is not named. Any other kind of fault is written with its name and "
           "parameters: 'stale_read path=model.pt at step 3'. deadrank explain KIND describes each.\n\n"
           "Exit code: 0 played, and as expected; 1 not as expected; 2 unknown, or the moment never came; 64 "
           "the command line is wrong; 130 stopped (143 by SIGTERM).\n\n"
           "Examples:\n"
           "  deadrank inject 'kill rank 1 before all_reduce 7' -- torchrun --nproc-per-node 8 train.py\n"
           "  deadrank inject 'stop rank 3 at step 5' --expect clear_error --within 10min -- torchrun "
           "--nnodes 4 --nproc-per-node 8 train.py\n"
           "  deadrank inject --debug 'rank 3 before all_reduce 7' -- torchrun --nproc-per-node 8 train.py\n"
           "  deadrank inject 'stop rank 5 at step 3' --shrink -- torchrun --nproc-per-node 8 train.py\n"
           "  deadrank inject 'kill rank 1 at step 3' --expect recovers -- torchrun --nproc-per-node 4 "
           "--max-restarts 2 train.py";
}

void add_inject(CLI::App& command, Session& session) {
    command.footer(verbs_footer());
    auto arguments = std::make_shared<InjectArguments>();
    command.add_option("faults", arguments->faults, "One line each: 'kill rank 1 before all_reduce 7'")
        ->type_name("FAULT");
    add_program_options(command, arguments->program);
    command
        .add_option("--expect", arguments->expect,
                    "Fail unless it: recovers, completes, clear_error, refuses")
        ->type_name("WHAT")
        ->check(CLI::IsMember(scenarios::list_words<explore::WantedEnd>()).description(""));
    command.add_option("--within", arguments->within, "… within this time after the fault, such as 60s")
        ->type_name("TIME")
        ->check([](const std::string& text) {
            const auto time = scenarios::parse_value(scenarios::ValueType::duration, text);
            return time ? std::string() : time.error().text();
        });
    command.add_option("--record", arguments->record, "Keep the evidence here, for diagnose")->type_name("DIR");
    command.add_option("--html", arguments->html, "Write a page that shows both runs")->type_name("FILE");
    add_otlp(command, arguments->otlp);
    command.add_option("--debug", arguments->debug,
                       "Open Python's debugger at this moment, such as 'rank 3 at step 12'; its command back returns to it")
        ->type_name("MOMENT");
    command.add_flag("--shrink", arguments->shrink,
                     "Then find the fewest faults, ranks and nodes that end alike, and print a test");
    command.add_flag("-v,--verbose", arguments->verbose, "Print what the program prints under the faults");
    add_json(command, arguments->json, "A JSON object instead of text");
    command.callback([arguments, &session] { InjectCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow inject_row{"inject", "Injects faults into a program of yours, and reports how it ended",
                                   add_inject};

}  // namespace deadrank::runners::commands
