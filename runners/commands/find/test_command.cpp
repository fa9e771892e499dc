// runners/commands/find/test_command.cpp — deadrank test -- pytest test_x.py: a suite over torch's test classes,
// whose processes are ranks of the simulated cluster; and each test once more with a fault.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "results/processes/child.h"
#include "results/record/words.h"
#include "runners/backends/process/scratch.h"
#include "results/processes/bounded.h"
#include "results/reports/json_files.h"
#include "runners/commands/find/mutant_report.h"
#include "runners/commands/find/suite_play.h"
#include "runners/commands/gpu_options.h"
#include "runners/commands/program_options.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/explore/program_trials.h"
#include "runners/serve/http.h"
#include "scenarios/format/fault_expression.h"

namespace deadrank::runners::commands {

namespace {

namespace fs = std::filesystem;
using explore::Outcome;
using scenarios::ErrorCode;

struct TestArguments {
    std::vector<std::string> command, faults, mutations;
    std::string sites, junit;
    SimulatedGpus gpus;
    std::uint64_t seed = 1;
    std::size_t limit = 0;
    bool mutate = false, in_tests = false, first_only = false, whole = false, json = false;
};

// What a suite's command begins with. DEADRANK_PYTHON names the Python of the suite as it names that of a program:
// "pytest -k x" is its pytest.
std::vector<std::string> under_stated_python(std::vector<std::string> command) {
    const char* stated = std::getenv("DEADRANK_PYTHON");
    if (!stated || !*stated) return command;
    const std::string first = command.front();
    if (first == "python" || first == "python3") {
        command.front() = stated;
    } else if (first == "pytest" || first == "py.test") {
        command.front() = "pytest";
        command.insert(command.begin(), {stated, "-m"});
    }
    return command;
}

std::string prefixed(const std::string& directory, const char* variable) {
    const char* old = std::getenv(variable);
    return old && *old ? directory + ":" + old : directory;
}

// What the faults showed: how many tests ended how, and each that hangs. Whether one did.
bool print_faulted(const std::vector<FaultedTest>& tests) {
    std::map<Outcome, std::size_t> counts;
    for (const FaultedTest& one : tests) ++counts[one.outcome];
    std::vector<std::string> parts;
    for (const auto& [outcome, count] : counts) parts.push_back(fmt::format("{} {}", count, explore::text_of(outcome)));
    print_error("deadrank: {} with a fault: {}\n", results::counted(tests.size(), "test"),
               fmt::join(parts, ", "));
    for (const FaultedTest& one : tests)
        if (one.outcome == Outcome::hang || one.outcome == Outcome::unknown)
            print_error("deadrank: {}: {}, {}: {}\n", one.outcome == Outcome::hang ? "hangs" : "unknown",
                       one.test, one.line, one.says);
    return counts[Outcome::hang] > 0;
}

// A line for each sort of tests whose ranks are not simulated.
void print_unmanaged(const std::vector<UnmanagedTest>& tests) {
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const UnmanagedTest& one : tests) by_reason[one.why].push_back(one.test);
    for (const auto& [why, names] : by_reason)
        print_error("deadrank: {} ran on ranks that are not simulated: {}: {}{}\n", results::counted(names.size(), "test"),
                    why, names.front(), names.size() > 1 ? ", …" : "");
}

class TestCommand {
public:
    TestCommand(const TestArguments& arguments, Session& session) : arguments_(arguments), session_(session) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, "");
        if (!session_.take(library)) return;
        if (auto checked = check(*library); !checked) return;
        const auto mutations = mutations_of(arguments_.mutations);
        if (!mutations) return session_.complain(mutations.error());
        choice_ = {*mutations, arguments_.sites, arguments_.in_tests, arguments_.limit, arguments_.seed};
        const auto package = python_package();
        if (!package) return session_.complain(package.error());
        SuiteSettings settings{.faults = arguments_.faults, .seed = arguments_.seed, .gpu_variables = {}, .package = *package};
        settings.recording = arguments_.mutate;
        settings.first_only = arguments_.first_only;
        if (arguments_.gpus.count > 0) {
            auto variables = variables_of(arguments_.gpus);
            if (!session_.take(variables)) return;
            settings.gpu_variables = std::move(*variables);
        }
        settings.progress = [this](std::size_t runs, std::size_t survivors) {
            progress_.show(fmt::format("  {} of {}, {} survive so far", runs, results::counted(planned_, "run"), survivors));
        };
        Suite suite(settings, *library, session_.extension);
        auto server = serve::HttpServer::listen(
            "127.0.0.1", 0, [&](const serve::HttpRequest& request) { return suite.answer(request); });
        if (!session_.take(server)) return;
        environment_ = environment_of(settings, (*server)->port(), suite.token());
        const auto begin = std::chrono::steady_clock::now();
        if (!run_suite(false)) return;
        print_error("deadrank: {} on simulated ranks\n", results::counted(suite.played(), "test"));
        print_unmanaged(suite.unmanaged());
        if (suite.not_played() > 0) {  // the suite calls such a test failed
            print_error("deadrank: {} of ranks could not be played: {}\n",
                        results::counted(suite.not_played(), "start"), suite.trouble());
            session_.code = exit_unknown;
            return;
        }
        if (suite.played() == 0 && (session_.code == exit_pass || arguments_.mutate)) {
            session_.complain({ErrorCode::unsupported, "no test started ranks by torch's test classes or mp.spawn",
                               "MultiProcessTestCase, MultiProcContinuousTest, what inherits from them, and "
                               "torch.multiprocessing.spawn are played"});
            return;
        }
        if (arguments_.mutate) return mutate(suite, begin);
        if (!suite.faulted().empty() && print_faulted(suite.faulted()) && session_.code == exit_pass)
            session_.code = exit_fail;
    }

private:
    // False after a complaint.
    bool check(const Library& library) {
        const auto refuse_it = [&](const char* what, const char* help) {
            session_.complain({ErrorCode::usage, what, help});
            return false;
        };
        if (arguments_.command.empty())
            return refuse_it("there is no suite", "write its command behind --, as in deadrank test -- pytest test_x.py");
        if (arguments_.mutate && !arguments_.faults.empty())
            return refuse_it("--mutate and --faults do not go together", "run the suite once with each");
        if (!arguments_.mutate && (!arguments_.sites.empty() || arguments_.limit > 0 || arguments_.first_only || arguments_.in_tests ||
                                   arguments_.json || !arguments_.junit.empty()))
            return refuse_it("--sites, --in-tests, --limit, --first, --json and --junit are for --mutate", "add --mutate");
        for (const std::string& line : arguments_.faults) {
            const auto fault = scenarios::read_fault_expression(line, library.vocabulary);
            if (!fault) {
                complain_of_line(session_, fault.error(), line);
                return false;
            }
            if (!fault->when.values.empty()) {
                session_.complain({ErrorCode::usage, fmt::format("'{}' names its moment", line),
                                   "each test is hit at a call that the seed draws: leave it out"});
                return false;
            }
        }
        return true;
    }

    static std::vector<std::string> environment_of(const SuiteSettings& settings, int port, const std::string& token) {
        const std::string hook =
            fmt::format("{}:{}", (settings.package / "suite_hook").string(), settings.package.string());
        const auto operators = settings.gpu_variables.find("PYTHONPATH");  // with this process's own behind them
        std::vector<std::string> environment = {
            fmt::format("DEADRANK_SUITE=http://127.0.0.1:{}/{}", port, token),
            "PYTHONPATH=" + (operators != settings.gpu_variables.end() ? hook + ":" + operators->second
                                                                       : prefixed(hook, "PYTHONPATH"))};
        for (const auto& [name, value] : settings.gpu_variables)
            if (name != "PYTHONPATH") environment.push_back(name + "=" + value);
        return environment;
    }

    // Leaves the suite's exit code in the session. False if it could not be started, or was stopped.
    bool run_suite(bool quiet) {
        using results::processes::Command;
        std::atomic<bool>& stop = stop_on_interrupt();
        std::vector<std::string> words = under_stated_python(arguments_.command);
        if (arguments_.json)  // standard output is the report's alone
            words.insert(words.begin(), {"/bin/sh", "-c", "exec \"$@\" >&2", "sh"});
        auto child = results::processes::Child::start(
            {.argv = std::move(words),
             .environment = results::processes::with_own_environment(environment_),
             .group = Command::Group::ours,
             .streams = quiet ? Command::Streams::log : Command::Streams::inherited,
             .log = quiet ? "/dev/null" : "",
             .grace = std::chrono::seconds(5)});
        if (!session_.take(child)) return false;
        while (!child->poll() && !stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (stop.load()) {
            child->end();
            session_.code = exit_interrupted;
            return false;
        }
        const results::processes::Exit exit = child->wait();
        session_.code = exit.signal != 0 ? 128 + exit.signal : exit.code;
        return true;
    }

    void mutate(Suite& suite, std::chrono::steady_clock::time_point begin) {
        MutantReport report;
        report.tests = suite.played();
        report.directory = suite.directory();
        report.seed = arguments_.seed;
        for (const auto& [name, test] : suite.recorded()) report.failing += test.passed ? 0 : 1;
        auto mutants = explore::mutants_of(suite.recorded(), choice_);
        report.found = explore::mutants_of(suite.recorded(), {choice_.mutations, choice_.sites, choice_.in_tests}).size();
        for (const explore::Mutant& one : mutants) planned_ += one.tests.size();
        bool whole = true;
        if (planned_ > 0) {
            print_error("deadrank: {} in {}\n", results::counted(mutants.size(), "mutant"), results::counted(planned_, "run"));
            suite.begin_mutants(std::move(mutants));
            whole = run_suite(true);
            progress_.clear();
        }
        report.mutants = suite.mutants();
        if (!whole) report.stopped = std::erase_if(report.mutants, [](const auto& one) { return one.runs.empty(); });
        for (explore::Mutant& one : report.mutants)
            if (one.runs.empty()) one.runs.push_back({.test = one.tests.front(), .trouble = not_again});
        if (whole && choice_.mutations.empty()) add_unreached(suite, report);
        std::stable_sort(report.mutants.begin(), report.mutants.end(),
                         [](const auto& a, const auto& b) { return a.site < b.site; });
        report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (arguments_.json)
            print_out("{}\n", results::reports::dumped(report.json(), 1));
        else
            print_out("{}", report.text(style_of(stdout), arguments_.whole));
        session_.code = whole ? report.code() : exit_interrupted;
        if (!arguments_.junit.empty())
            if (auto written = results::reports::write_junit(report.cases(), arguments_.junit); !written)
                session_.complain(written.error());
        if (report.found == 0)
            print_error("deadrank: no test that passes makes a call that --mutate could bend{}{}\n",
                        choice_.in_tests ? "" : ", outside of the files of tests (--in-tests)",
                        choice_.sites.empty() && choice_.mutations.empty() ? "" : ", of those asked for");
    }

    // Calls in the program's files that no recorded test has made.
    void add_unreached(const Suite& suite, MutantReport& report) const {
        const std::set<std::string> tests = explore::test_files_of(suite.recorded());
        std::set<std::string> files;
        std::set<explore::CallSite> reached;
        for (const auto& [name, test] : suite.recorded()) {
            for (const std::string& file : test.files)
                if (choice_.in_tests || !tests.contains(file)) files.insert(file);
            for (const auto& [site, mutations] : test.reached) reached.insert(site);
        }
        if (files.empty()) return;
        std::vector<std::string> words = {suite.python(), "-m", "deadrank.mutate"};
        words.insert(words.end(), files.begin(), files.end());
        const auto answer = results::processes::run_bounded(words, {}, {}, environment_);
        if (!answer || !answer->well()) return;
        for (const auto& one : nlohmann::json::parse(answer->out)) {
            explore::CallSite site{one["file"], one["first"], one["call"]};
            const std::int64_t last = one["last"];
            const bool seen = std::any_of(reached.begin(), reached.end(), [&](const explore::CallSite& other) {
                return other.file == site.file && other.line >= site.line && other.line <= last &&
                       other.call.ends_with(site.call);
            });
            if (!seen && explore::matches(site, choice_.sites)) report.mutants.push_back({std::move(site), "", {}, {}});
        }
    }

    static constexpr const char* not_again = "the suite did not start this test a second time";

    const TestArguments& arguments_;
    Session& session_;
    explore::MutantChoice choice_;
    std::vector<std::string> environment_;
    std::size_t planned_ = 0;
    Progress progress_;
};

// "  reductions: sum_for_mean, …", a line for each group.
std::string groups_text() {
    std::string text;
    for (const MutationGroup& group : mutation_groups())
        text += fmt::format("  {}: {}\n", group.name, fmt::join(group.mutations, ", "));
    return text;
}

void add_test(CLI::App& command, Session& session) {
    command.footer(
        "The suite runs unmodified. Tests over torch's MultiProcessTestCase and MultiProcContinuousTest "
        "(FSDPTest, DTensorTestBase and others inherit from them) get their ranks from the simulated cluster; "
        "all other tests run as they are.\n\n"
        "Functions that a test starts by torch.multiprocessing.spawn do so, too.\n\n"
        "With --faults each test that passes is played once more, with the fault at a rank and a call that "
        "the seed draws. It must end in bounded virtual time; hangs are listed.\n\n"
        "With --mutate the program under test is bent, one call at one line at a time: a mean becomes a sum, "
        "shards are swapped, optimizer state is not loaded. A test that passes with the program as it is should "
        "then fail. A mutant counts if it was executed and changed a value. `deadrank explain MUTATION` explains "
        "each; these are the groups and their mutations:\n" +
        groups_text() +
        "\n"
        "Exit code: the suite's own; 1 if it passed and a test hangs under a fault; 2 if no test started "
        "ranks. With --mutate: 0 if all mutants are noticed, 1 if one survived, 2 if none counts, 64 if the command line "
        "is wrong, 130 if it was stopped (what was played is shown).\n\n"
        "Where DEADRANK_PYTHON names a Python, a command that begins with python, python3 or pytest is run by it, and "
        "so are the ranks.\n\n"
        "Examples:\n"
        "  deadrank test -- pytest test_model.py\n"
        "  deadrank test --faults kill --seed 7 -- python test_ddp.py -k broadcast\n"
        "  deadrank test --gpus 4 -- pytest tests/distributed\n"
        "  deadrank test --mutate -- pytest tests/\n"
        "  deadrank test --mutate=reductions,seeds --sites 'trainer/*.py' --limit 50 -- pytest tests/");
    auto arguments = std::make_shared<TestArguments>();
    command.add_option("--command", arguments->command)->allow_extra_args(false)->group("");
    command
        .add_option("--faults", arguments->faults,
                    "Play each test once more with this fault, a line as of inject without rank and moment; "
                    "repeat for several")
        ->type_name("FAULT")
        ->allow_extra_args(false);
    command
        .add_option_function<std::string>(
            "--mutate",
            [arguments](const std::string& list) {
                arguments->mutate = true;
                if (!list.empty()) arguments->mutations = CLI::detail::split(list, ',');
            },
            "Bend the program under test, with these mutations or groups [all], and show which tests notice")
        ->expected(0, 1)
        ->default_str("")
        ->type_name("LIST")
        ->trigger_on_parse();
    command.add_option("--sites", arguments->sites,
                       "With --mutate: only calls whose \"call file:line\" has this in it; * and ? stand for anything")
        ->type_name("PATTERN");
    command.add_flag("--in-tests", arguments->in_tests,
                     "With --mutate: also calls in the files of the tests, as of a suite that tests torch itself");
    command.add_option("--limit", arguments->limit, "With --mutate: so many mutants at most, drawn by --seed")
        ->type_name("N");
    command.add_flag("--first", arguments->first_only, "With --mutate: stop playing a mutant once a test has noticed it");
    command.add_flag("-v,--verbose", arguments->whole, "With --mutate: a line for each mutant");
    command.add_option("--junit", arguments->junit, "With --mutate: write JUnit XML for CI, a test case for each mutant")
        ->type_name("FILE");
    command.add_option("--seed", arguments->seed, "Seed of every draw [1]")->type_name("N");
    add_gpus(command, arguments->gpus);
    add_json(command, arguments->json, "With --mutate: a JSON object with every mutant");
    command.callback([arguments, &session] { TestCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow test_row{"test", "Runs a suite of yours on simulated ranks, also with faults", add_test};

}  // namespace deadrank::runners::commands
