// runners/commands/play/determinism_command.cpp — deadrank replay determinism: one plan gives one run, here
// and in another process. The other process is this program, started with the same arguments and asked for
// its prints.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "results/record/words.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/gpu_options.h"
#include "runners/commands/play/determinism_of_program.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/find/determinism_check.h"

namespace deadrank::runners::commands {

using find::Checked;
using find::CheckOptions;
using find::OtherProcess;
using find::RunDigest;
using find::TrialDigest;
using find::Window;

// ── What `deadrank replay determinism` prints about the trials that it compared.

void print_checked_json(const std::vector<Checked>& all);

// One line per scenario, a story for each that differs, and a last line with the counts.
void print_checked(const std::vector<Checked>& all, bool quiet, double seconds);

namespace {

using nlohmann::ordered_json;
using results::reports::Ink;
using results::reports::Style;

std::string_view outcome_name(Checked::Agreement outcome) {
    return outcome == Checked::same ? "same" : outcome == Checked::differs ? "differs" : "unknown";
}

ordered_json event_json(const std::optional<TraceEvent>& event, const std::string& evidence) {
    ordered_json json = {{"ended", !event.has_value()}};
    if (event) {
        json["event"] = event->index;
        json["at"] = event->at.count();
        json["rank"] = event->rank;
        json["what"] = event->what;
        json["digest"] = fmt::format("{:016x}", event->digest);
    }
    if (!evidence.empty()) json["evidence"] = evidence;
    return json;
}

ordered_json json_of(const Checked& one) {
    const RunDigest& fault = one.print.runs[static_cast<std::size_t>(scenarios::Variant::fault)];
    ordered_json json = {
        {"scenario", one.print.scenario},       {"seed", one.print.seed},
        {"outcome", outcome_name(one.outcome)}, {"trace_hash", fmt::format("{:016x}", fault.trace_hash)},
        {"events", one.print.events()},         {"verdict", one.print.verdict}};
    if (one.outcome == Checked::differs) {
        json["differs_in"] = one.what.what;
        json["variant"] = scenarios::variant_name(one.what.variant);
        json["against"] = one.against;
    }
    if (one.divergence) {
        json["here"] = event_json(one.divergence->one, one.divergence->evidence_one);
        json["there"] = event_json(one.divergence->other, one.divergence->evidence_other);
    }
    if (!one.reason.empty()) json["reason"] = one.reason;
    return json;
}

void print_story(const Checked& one, const Style& style) {
    const auto row = [&](std::string_view label, const std::string& text) {
        if (text.empty()) return;
        print_out("    {}{}\n", style.paint(Ink::dim, results::reports::pad_right(label, 10)), text);
    };
    if (one.outcome == Checked::unknown) return row("unknown", one.reason);
    row("differs", fmt::format("in {}: {} run, seed {}; the first run here against {}", one.what.what,
                               scenarios::variant_name(one.what.variant), one.print.seed, one.against));
    if (one.divergence) {
        row("here", find::text_of(one.divergence->one));
        row("", one.divergence->evidence_one);
        row("there", find::text_of(one.divergence->other));
        row("", one.divergence->evidence_other);
    }
    row("but", one.reason);
}

// The trials [begin, end) belong to one scenario.
using Place = std::vector<Checked>::const_iterator;
void print_scenario(Place begin, Place end, const Style& style, bool quiet) {
    std::uint64_t events = 0;
    for (Place one = begin; one != end; ++one) events += one->print.events();
    const auto bad =
        std::count_if(begin, end, [](const Checked& one) { return one.outcome != Checked::same; });
    if (bad == 0 && quiet) return;
    print_out(
        "  {} {}  {}\n", style.paint(bad == 0 ? Ink::green : Ink::red, bad == 0 ? "✔" : "✘"),
        begin->print.scenario,
        style.paint(Ink::dim,
                    fmt::format("{}, {} events",
                                results::counted(static_cast<std::size_t>(end - begin), "seed"), events)));
    for (Place one = begin; one != end; ++one) {
        if (one->outcome != Checked::same) print_story(*one, style);
    }
}

}  // namespace

void print_checked_json(const std::vector<Checked>& all) {
    for (const Checked& one : all)
        print_out("{}\n", json_of(one).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

void print_checked(const std::vector<Checked>& all, bool quiet, double seconds) {
    const Style style = style_of(stdout);
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end = std::find_if(begin, all.end(), [&](const Checked& one) {
            return one.print.scenario != begin->print.scenario;
        });
        print_scenario(begin, end, style, quiet);
        begin = end;
    }
    const auto count = [&](Checked::Agreement outcome) {
        return std::count_if(all.begin(), all.end(),
                             [&](const Checked& one) { return one.outcome == outcome; });
    };
    std::uint64_t events = 0;
    for (const Checked& one : all) events += one.print.events();
    print_out(
        "\n  {} same · {} differ · {} unknown · each trial played twice here and once in another process, "
        "{} events a time · {:.1f} s\n",
        count(Checked::same), count(Checked::differs), count(Checked::unknown), events, seconds);
}

namespace {

struct DeterminismArguments {
    SelectionOptions selection;
    SeedOptions seeds;
    int jobs = 0;
    bool json = false, quiet = false, explore_order = false;
    bool prints = false;  // set for the other process: print only the hashes
    std::string trace;    // variant:first:last
    ProgramRuns program;
};

constexpr const char* determinism_description =
    "Proves that one plan is one run: here, again, and in another process";
constexpr const char* determinism_footer =
    "Each trial (the run with the fault, its control and its healed run) is played twice in this process and "
    "once in another one. "
    "Events, evidence, findings and verdicts must be the same. Where they differ, the checkpoints of both "
    "runs "
    "are bisected, and the first differing event is printed in both forms.\n\n"
    "A command behind -- is played on the simulated cluster, each time in an interpreter of its own. Where "
    "two runs "
    "differ, the first differing event is printed with the line of Python that its rank was at.\n\n"
    "Exit code: 0 all the same, 1 something differs, 2 something is unknown, 64 the command line or a "
    "file is wrong, 130 stopped by Ctrl-C.\n\n"
    "Examples:\n"
    "  deadrank replay determinism                                  the whole catalog, seed 1\n"
    "  deadrank replay determinism communication --seeds 1..20      twenty draws of each scenario of a "
    "stage\n"
    "  deadrank replay determinism my_bug.toml --explore-order      also where ties in time fall by chance\n"
    "  deadrank replay determinism --runs 5 -- torchrun --nproc-per-node 8 train.py   a program of yours";

struct TraceRequest {
    scenarios::Variant variant = scenarios::Variant::fault;
    Window window;
};

// Parses --trace, which only this program itself passes.
TraceRequest read_trace(const std::string& text) {
    TraceRequest asked;
    const std::string name = text.substr(0, text.find(':'));
    for (const auto variant : {scenarios::Variant::control, scenarios::Variant::healed}) {
        if (scenarios::variant_name(variant) == name) asked.variant = variant;
    }
    const char* at = text.data() + std::min(name.size() + 1, text.size());
    const char* end = text.data() + text.size();
    at = std::from_chars(at, end, asked.window.first).ptr;
    std::from_chars(std::min(at + 1, end), end, asked.window.last);
    return asked;
}

class DeterminismCommand {
public:
    DeterminismCommand(const DeterminismArguments& arguments, Session& session)
        : arguments_(arguments), session_(session) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, arguments_.selection.catalog);
        if (!session_.take(library)) return;
        auto seeds = seeds_of(arguments_.seeds);
        if (!session_.take(seeds)) return;
        auto selection = select(*library, arguments_.selection);
        if (!session_.take(selection)) return;
        for (const scenarios::Error& error : selection->broken) session_.complain(error);
        const auto make = [this] { return std::move(*make_runner("sim", session_.extension)); };
        std::vector<Job> jobs;
        for (const scenarios::Scenario& scenario : selection->scenarios) {
            if (!playable_on(scenario, "sim")) continue;
            for (const scenarios::Seed& seed : *seeds) jobs.push_back({&scenario, seed});
        }
        detectors_ = library->detectors();
        if (arguments_.prints) return print(jobs, make, *library);
        if (!arguments_.trace.empty()) return trace(jobs, make, *library);
        check(jobs, make, *library);
    }

private:
    CheckOptions options() {
        CheckOptions options;
        options.line.explore_order = arguments_.explore_order;
        options.line.stop = &stop_on_interrupt();
        options.line.detectors = &detectors_;
        options.threads = arguments_.jobs > 0 ? arguments_.jobs : usual_jobs("sim");
        return options;
    }

    void print(const std::vector<Job>& jobs, const MakeRunner& make, const Library& library) {
        find::print_all(jobs, make, library.vocabulary, options(),
                        [](const TrialDigest& print) { print_out("{}\n", find::to_line(print)); });
    }

    void trace(const std::vector<Job>& jobs, const MakeRunner& make, const Library& library) {
        const TraceRequest asked = read_trace(arguments_.trace);
        for (const Job& job : jobs) {
            auto traced = find::trace_one(job, asked.variant, asked.window, *make(), library.vocabulary,
                                          options().line);
            if (!session_.take(traced)) return;
            print_out("{}\n", find::to_line(*traced));
        }
    }

    void check(const std::vector<Job>& jobs, const MakeRunner& make, const Library& library) {
        Progress progress;
        CheckOptions options = this->options();
        std::mutex one_at_a_time;
        options.progress = [&](std::size_t done, std::size_t all) {
            const std::lock_guard lock(one_at_a_time);
            progress.show(fmt::format("  {} of {}", done, all));
        };
        const auto begin = std::chrono::steady_clock::now();
        const std::vector<Checked> all =
            find::check_all(jobs, make, library.vocabulary, elsewhere(), options);
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        progress.clear();
        arguments_.json ? print_checked_json(all) : print_checked(all, arguments_.quiet, seconds);
        const auto any = [&](Checked::Agreement outcome) {
            return std::any_of(all.begin(), all.end(),
                               [&](const Checked& one) { return one.outcome == outcome; });
        };
        if (all.size() < jobs.size())
            print_error("deadrank: stopped after {} of {} trials\n", all.size(), jobs.size());
        if (options.line.stop->load()) {
            session_.code = exit_interrupted;
        } else if (any(Checked::differs)) {
            session_.code = exit_fail;
        } else if (session_.code == exit_pass && any(Checked::unknown)) {
            session_.code = exit_unknown;
        }
    }

    std::vector<std::string> command() const {
        std::vector<std::string> words = {session_.executable.string(), "replay", "determinism"};
        const SelectionOptions& selection = arguments_.selection;
        if (!selection.catalog.empty()) words.insert(words.end(), {"--catalog", selection.catalog});
        if (arguments_.explore_order) words.emplace_back("--explore-order");
        return words;
    }

    OtherProcess elsewhere() const {
        OtherProcess elsewhere;
        elsewhere.prints = [this] {
            std::vector<std::string> words = command();
            const SelectionOptions& selection = arguments_.selection;
            const auto filter = [&](const char* name, const std::vector<std::string>& values) {
                for (const std::string& value : values) words.insert(words.end(), {name, value});
            };
            filter("--stage", selection.stages);
            filter("--symptom", selection.symptoms);
            filter("--cause", selection.causes);
            filter("--fix", selection.fixes);
            filter("--class", selection.classes);
            const SeedOptions& seeds = arguments_.seeds;
            if (seeds.range.empty()) {
                words.insert(words.end(), {"--seed", std::to_string(seeds.seed)});
            } else {
                words.insert(words.end(), {"--seeds", seeds.range});
            }
            words.insert(words.end(), {"--jobs", "1", "--prints"});
            words.insert(words.end(), selection.names.begin(), selection.names.end());
            return words;
        };
        elsewhere.trace = [this](const Job& job, scenarios::Variant variant, const Window& window) {
            std::vector<std::string> words = command();
            words.insert(words.end(), {"--seed", std::to_string(job.seed.number), "--trace",
                                       fmt::format("{}:{}:{}", scenarios::variant_name(variant), window.first,
                                                   window.last),
                                       job.scenario->file.string()});
            return words;
        };
        return elsewhere;
    }

    const DeterminismArguments& arguments_;
    Session& session_;
    results::Detectors detectors_;
};

void add_determinism(CLI::App& command, Session& session) {
    command.footer(determinism_footer);
    auto arguments = std::make_shared<DeterminismArguments>();
    add_selection(command, arguments->selection);
    add_seeds(command, arguments->seeds);
    command.add_option("-j,--jobs", arguments->jobs, "Trials at once [the processors]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_json(command, arguments->json, "One JSON object a line and trial");
    command.add_flag("-q,--quiet", arguments->quiet, "Print what differs and the last line only");
    command.add_flag("--explore-order", arguments->explore_order, "Let chance decide ties in time");
    command.add_flag("--prints", arguments->prints, "Play once and print hashes")->group("");
    command.add_option("--trace", arguments->trace, "Print a window of one run's trace")->group("");
    command.add_option("--command", arguments->program.command)->allow_extra_args(false)->group("");
    command.add_option("--runs", arguments->program.runs, "Of a program behind --: play it so often [2]")
        ->type_name("N")
        ->check(CLI::Range(2, 1000).description(""));
    command
        .add_option("--ranks", arguments->program.ranks,
                    "Of a program behind --: so many ranks instead of the command's")
        ->type_name("N")
        ->check(CLI::Range(1, 100000).description(""));
    add_gpus(command, arguments->program.gpus);
    add_real_limit(command, arguments->program.real_limit);
    command.callback([arguments, &session] {
        arguments->program.seed = arguments->seeds.seed;
        if (!arguments->program.command.empty()) return check_program(arguments->program, session);
        DeterminismCommand(*arguments, session)();
    });
}

}  // namespace

extern const CommandRow determinism_row{"determinism", determinism_description, add_determinism};

}  // namespace deadrank::runners::commands
