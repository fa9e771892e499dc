// runners/commands/find/test_command.cpp — deadrank test -- pytest test_x.py: a suite over torch's test classes,
// whose processes are ranks of the simulated cluster; and each test once more with a fault.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "results/processes/child.h"
#include "results/record/text_file.h"
#include "results/record/words.h"
#include "runners/backends/process/scratch.h"
#include "runners/commands/gpu_options.h"
#include "runners/commands/program_options.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/explore/moments.h"
#include "runners/explore/program_trials.h"
#include "runners/serve/http.h"
#include "scenarios/format/fault_expression.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/chance.h"

namespace deadrank::runners::commands {

namespace {

namespace fs = std::filesystem;
using explore::Outcome;
using nlohmann::json;
using scenarios::ErrorCode;

struct TestArguments {
    std::vector<std::string> command, faults;
    SimulatedGpus gpus;
    std::uint64_t seed = 1;
};

// A test that was played once more with a fault.
struct FaultedTest {
    std::string test, line, says;
    Outcome outcome = Outcome::unknown;
};

std::string random_token() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

// Modules of torch that nearly every suite of ranks imports.
const std::vector<std::string> suite_modules = {"torch.testing._internal.common_distributed",
                                                "torch.testing._internal.common_fsdp"};

// Answers the requests of a test runner's process: plays a test on managed ranks, and then with a fault.
class Suite {
public:
    Suite(const TestArguments& arguments, const Library& library, const Extension& extension,
          std::map<std::string, std::string> gpu_variables, fs::path package)
        : arguments_(arguments),
          library_(library),
          extension_(extension),
          gpu_variables_(std::move(gpu_variables)),
          package_(std::move(package)),
          warm_(std::make_shared<WarmPython>()) {}

    serve::HttpResponse answer(const serve::HttpRequest& request) {
        if (request.method != "POST" || request.target != "/" + token_) return {404, "no such test\n"};
        try {
            return {200, play(json::parse(request.body)).dump(), "application/json"};
        } catch (const std::exception& trouble) {
            return {500, trouble.what()};
        }
    }

    const std::string& token() const { return token_; }
    std::size_t played() const { return played_; }
    const std::vector<FaultedTest>& faulted() const { return faulted_; }

private:
    json play(const json& request) {
        auto scratch = Scratch::make("", {});
        if (!scratch) throw std::runtime_error(scratch.error().text());
        const fs::path file = scratch->path() / "request.json";
        if (auto written = results::write_text(request.dump(), file); !written)
            throw std::runtime_error(written.error().text());
        const ManagedSettings settings = settings_of(request, file);
        ManagedRunner runner(settings, extension_.all_faults());
        const scenarios::Plan plan = plan_of(settings.command, {arguments_.seed});
        auto played = play_plan(plan, runner, {.stop = &stop_on_interrupt()});
        if (!played) throw std::runtime_error(played.error().text());
        const auto healthy = std::make_shared<const Played>(std::move(*played));
        const json reply = reply_of(healthy->record, request.at("ranks").get<int>(), scratch->path());
        const bool passed = std::all_of(reply["codes"].begin(), reply["codes"].end(),
                                        [](const json& code) { return code.is_number() && code == 0; });
        {
            const std::lock_guard lock(mutex_);
            ++played_;
        }
        if (passed && healthy->record.truth.completed())
            for (const std::string& fault : arguments_.faults)
                play_with(fault, request.at("test").get<std::string>(), healthy, runner);
        return reply;
    }

    ManagedSettings settings_of(const json& request, const fs::path& file) {
        ManagedSettings settings;
        settings.python = request.at("python").get<std::string>();
        settings.package = package_;
        settings.preload = suite_modules;
        settings.variables = gpu_variables_;
        settings.directory = request.at("cwd").get<std::string>();
        settings.warm = warm_;
        settings.keep_files = true;  // a suite cleans up after itself, and the ranks leave their results
        settings.command.launcher = "bare";
        settings.command.ranks_per_node = request.at("ranks").get<std::int64_t>();
        settings.command.argv = {"-m", "deadrank.suite_rank", file.string()};
        for (const auto& [name, value] : request.at("environment").items())
            if (gpu_variables_.count(name) == 0 && name != "PYTHONPATH")
                settings.command.environment[name] = value.get<std::string>();
        settings.imports_of = request.at("file").get<std::string>();
        settings.warm_environment = first_environment(settings.command.environment);
        return settings;
    }

    // Suites give each test a directory of its own in a variable. All tests share the interpreter that the
    // first one needs: what its modules read on import is what the suite's own process had then.
    std::map<std::string, std::string> first_environment(const std::map<std::string, std::string>& of_test) {
        const std::lock_guard lock(mutex_);
        if (first_environment_.empty()) first_environment_ = of_test;
        return first_environment_;
    }

    static json reply_of(const Record& record, int ranks, const fs::path& place) {
        std::vector<json> codes(static_cast<std::size_t>(ranks));  // null: it never ended
        std::vector<std::string> outputs(codes.size());
        for (const results::Event& event : record.evidence.events()) {
            if (event.rank < 0 || event.rank >= ranks) continue;
            const auto rank = static_cast<std::size_t>(event.rank);
            if (const auto* exit = event.as<results::RankExit>())
                codes[rank] = exit->signal != 0 ? -exit->signal : exit->code;
            if (const auto* log = event.as<results::RankLog>())
                outputs[rank] += std::string(record.evidence.text(log->line)) + "\n";
        }
        json reply = {{"codes", codes}, {"outputs", outputs}, {"results", json::array()}};
        for (int rank = 0; rank < ranks; ++rank) {
            std::ifstream file(place / fmt::format("result.{}", rank));
            if (!file) {
                reply["results"].push_back(nullptr);
                continue;
            }
            reply["results"].push_back(
                std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
        }
        return reply;
    }

    // At a rank and a call that the seed draws.
    void play_with(const std::string& fault, const std::string& test,
                   const std::shared_ptr<const Played>& healthy, Runner& runner) {
        const auto moments = explore::list_moments(healthy->record.evidence, explore::MomentKind::calls);
        FaultedTest one{.test = test, .line = fault, .says = {}};
        if (moments.empty()) {
            one.outcome = Outcome::never_came;
            return keep(std::move(one));
        }
        const std::uint64_t drawn = scenarios::mix(scenarios::number_of(test + "/" + fault) ^
                                                   scenarios::mix(arguments_.seed));
        const explore::ProgramMoment& moment = moments[scenarios::bounded(drawn, moments.size())];
        one.line = fmt::format("{} rank {} {}", fault, moment.rank, moment.text());
        auto settings = scenarios::read_fault_expression(one.line, library_.vocabulary);
        if (!settings) throw std::runtime_error(settings.error().text());
        auto faulty = scenarios::with_faults(healthy->plan, {std::move(*settings)}, library_.vocabulary);
        if (!faulty) throw std::runtime_error(faulty.error().text());
        faulty->variant = scenarios::Variant::fault;
        explore::ProgramTrials trials(healthy->plan, {.stop = &stop_on_interrupt()}, healthy);
        if (const auto run = trials.play(*faulty, runner)) {
            one.outcome = run->outcome;
            one.says = run->says;
            // A test runner ends a stopped rank as soon as another one fails.
            if (one.outcome == Outcome::hang && others_end(run->fault.record)) one.outcome = Outcome::watchdog;
        } else {
            one.says = run.error().text();
        }
        keep(std::move(one));
    }

    // Whether every rank ends that is not at fault.
    static bool others_end(const Record& record) {
        const auto guilty = record.truth.culprit().ranks;
        const auto& ends = record.truth.ends;
        for (std::size_t rank = 0; rank < ends.size(); ++rank) {
            const bool ended = ends[rank] == results::RankEnd::finished || ends[rank] == results::RankEnd::failed ||
                               ends[rank] == results::RankEnd::killed;
            if (!ended && std::count(guilty.begin(), guilty.end(), static_cast<results::Rank>(rank)) == 0)
                return false;
        }
        return true;
    }

    void keep(FaultedTest one) {
        const std::lock_guard lock(mutex_);
        faulted_.push_back(std::move(one));
    }

    const TestArguments& arguments_;
    const Library& library_;
    const Extension& extension_;
    const std::map<std::string, std::string> gpu_variables_;
    const fs::path package_;
    const std::shared_ptr<WarmPython> warm_;
    const std::string token_ = random_token();
    std::mutex mutex_;
    std::map<std::string, std::string> first_environment_;
    std::size_t played_ = 0;
    std::vector<FaultedTest> faulted_;
};

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

void run_suite(const TestArguments& arguments, Session& session) {
    if (arguments.command.empty())
        return session.complain({ErrorCode::usage, "there is no suite",
                                 "write its command behind --, as in deadrank test -- pytest test_x.py"});
    auto library = open_library(session.executable, session.extension, "");
    if (!session.take(library)) return;
    for (const std::string& line : arguments.faults) {
        const auto fault = scenarios::read_fault_expression(line, library->vocabulary);
        if (!fault) return complain_of_line(session, fault.error(), line);
        if (!fault->when.values.empty())
            return session.complain({ErrorCode::usage, fmt::format("'{}' names its moment", line),
                                     "each test is hit at a call that the seed draws: leave it out"});
    }
    const auto home = local_home();
    if (!home) return session.complain(home.error());
    const fs::path package = fs::weakly_canonical(*home / ".." / ".." / ".." / "sim" / "managed" / "python");
    std::map<std::string, std::string> gpu_variables;
    if (arguments.gpus.count > 0) {
        auto variables = variables_of(arguments.gpus);
        if (!session.take(variables)) return;
        gpu_variables = std::move(*variables);
    }
    Suite suite(arguments, *library, session.extension, gpu_variables, package);
    auto server = serve::HttpServer::listen(
        "127.0.0.1", 0, [&](const serve::HttpRequest& request) { return suite.answer(request); });
    if (!session.take(server)) return;
    const std::string hook = fmt::format("{}:{}", (package / "suite_hook").string(), package.string());
    const auto operators = gpu_variables.find("PYTHONPATH");  // with this process's own behind them
    std::vector<std::string> environment = {
        fmt::format("DEADRANK_SUITE=http://127.0.0.1:{}/{}", (*server)->port(), suite.token()),
        "PYTHONPATH=" + (operators != gpu_variables.end() ? hook + ":" + operators->second
                                                          : prefixed(hook, "PYTHONPATH"))};
    for (const auto& [name, value] : gpu_variables)
        if (name != "PYTHONPATH") environment.push_back(name + "=" + value);
    std::atomic<bool>& stop = stop_on_interrupt();
    auto child = results::processes::Child::start(
        {.argv = arguments.command,
         .environment = results::processes::with_own_environment(std::move(environment)),
         .group = results::processes::Command::Group::ours,
         .streams = results::processes::Command::Streams::inherited,
         .grace = std::chrono::seconds(5)});
    if (!session.take(child)) return;
    while (!child->poll() && !stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (stop.load()) {
        child->end();
        session.code = exit_interrupted;
        return;
    }
    const results::processes::Exit exit = child->wait();
    session.code = exit.signal != 0 ? 128 + exit.signal : exit.code;
    print_error("deadrank: {} on simulated ranks\n", results::counted(suite.played(), "test"));
    if (suite.played() == 0 && session.code == exit_pass) {
        session.complain({ErrorCode::unsupported, "no test started ranks by torch's test classes",
                          "MultiProcessTestCase, MultiProcContinuousTest and what inherits from them are played"});
        return;
    }
    if (!suite.faulted().empty() && print_faulted(suite.faulted()) && session.code == exit_pass)
        session.code = exit_fail;
}

void add_test(CLI::App& command, Session& session) {
    command.footer(
        "The suite runs unmodified. Tests over torch's MultiProcessTestCase and MultiProcContinuousTest "
        "(FSDPTest, DTensorTestBase and others inherit from them) get their ranks from the simulated cluster; "
        "all other tests run as they are.\n\n"
        "With --faults each test that passes is played once more, with the fault at a rank and a call that "
        "the seed draws. It must end in bounded virtual time; hangs are listed.\n\n"
        "Exit code: the suite's own; 1 if it passed and a test hangs under a fault; 2 if no test started "
        "ranks.\n\n"
        "Examples:\n"
        "  deadrank test -- pytest test_model.py\n"
        "  deadrank test --faults kill --seed 7 -- python test_ddp.py -k broadcast\n"
        "  deadrank test --gpus 4 -- pytest tests/distributed");
    auto arguments = std::make_shared<TestArguments>();
    command.add_option("--command", arguments->command)->allow_extra_args(false)->group("");
    command
        .add_option("--faults", arguments->faults,
                    "Play each test once more with this fault, a line as of inject without rank and moment; "
                    "repeat for several")
        ->type_name("FAULT")
        ->allow_extra_args(false);
    command.add_option("--seed", arguments->seed, "Decides every draw [1]")->type_name("N");
    add_gpus(command, arguments->gpus);
    command.callback([arguments, &session] { run_suite(*arguments, session); });
}

}  // namespace

extern const CommandRow test_row{"test", "Runs a suite of yours on simulated ranks, also with faults", add_test};

}  // namespace deadrank::runners::commands
