// runners/commands/judge/doctor_command.cpp — deadrank doctor: what would go wrong, before the job begins.
// Takes snapshots, examines them, and prints each remark with its remedy.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/processes/bounded.h"
#include "results/record/text_file.h"
#include "results/record/words.h"
#include "results/reports/style.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/simulated_gpus.h"
#include "runners/commands/command.h"
#include "runners/commands/gpu_options.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/library.h"
#include "runners/preflight/gathering.h"
#include "runners/preflight/machine_probe.h"
#include "scenarios/model/document.h"

namespace deadrank::runners::commands {

namespace {

namespace fs = std::filesystem;
using ProbedJob = results::preflight::Job;
using results::preflight::Remark;
using results::preflight::Weight;
using results::reports::Ink;
using results::reports::Style;
using scenarios::Result;

struct DoctorArguments {
    SimulatedGpus gpus;
    std::vector<int> pids;
    std::vector<std::string> from;
    std::string gather, snapshot;
    double wait = 60;
    bool json = false, rules = false, libraries = false;
};

constexpr const char* doctor_description = "Checks a machine or job before it begins: versions, network, limits";
constexpr const char* doctor_footer =
    "Started alone it looks at this process's environment and machine; started as the ranks of a job, by "
    "torchrun "
    "or mpirun, it compares them, and one of them tells. It is silent about what is well.\n\n"
    "Exit code: 0 nothing is wrong, 1 something will go wrong, 2 not all processes came.\n\n"
    "Examples:\n"
    "  deadrank doctor                                        here and now\n"
    "  torchrun --nproc-per-node 8 --no-python deadrank doctor   as the job's own ranks\n"
    "  mpirun -np 16 deadrank doctor --gather /shared/tmp     over hosts, by way of a shared directory\n"
    "  deadrank doctor --gpus 8                               what torch can do on simulated GPUs\n"
    "  deadrank doctor --pid 4711                             a process that runs already";

// "rank 3", "ranks 0-3", or a host and a process where no rank can be read.
std::string ranks_of(const ProbedJob& job, const Remark& remark) {
    std::vector<results::Rank> ranks;
    std::vector<std::string> others;
    for (const std::size_t at : remark.processes) {
        const std::string text(job[at].variable("RANK"));
        const bool digits =
            !text.empty() && text.size() < 9 && std::all_of(text.begin(), text.end(), ::isdigit);
        if (digits) {
            ranks.push_back(std::stoi(text));
        } else {
            others.push_back(fmt::format("{} process {}", job[at].host, job[at].pid));
        }
    }
    std::sort(ranks.begin(), ranks.end());
    if (!ranks.empty()) {
        const char* noun = ranks.size() == 1 ? "rank" : "ranks";
        others.insert(others.begin(), fmt::format("{} {}", noun, results::ranges_text(ranks)));
    }
    return fmt::format("{}", fmt::join(others, ", "));
}

nlohmann::ordered_json as_json(const ProbedJob& job, const std::vector<Remark>& remarks, bool complete) {
    nlohmann::ordered_json all = {{"processes", job.size()}, {"complete", complete}};
    all["remarks"] = nlohmann::ordered_json::array();
    for (const Remark& remark : remarks) {
        all["remarks"].push_back({{"weight", remark.weight == Weight::error ? "error" : "warning"},
                                  {"rule", remark.rule},
                                  {"who", ranks_of(job, remark)},
                                  {"subject", remark.subject},
                                  {"says", remark.says},
                                  {"remedy", remark.remedy},
                                  {"source", remark.source}});
    }
    return all;
}

void print_job_text(const ProbedJob& job, const std::vector<Remark>& remarks) {
    const Style style = style_of(stdout);
    for (const Remark& remark : remarks) {
        const bool error = remark.weight == Weight::error;
        print_out("{} {} · {} · {}\n", style.paint(error ? Ink::red : Ink::yellow, error ? "✘" : "!"),
                  style.paint(Ink::bold, remark.subject), ranks_of(job, remark), remark.rule);
        print_out("    {}\n    {}\n    {}\n", remark.says, style.paint(Ink::green, "do: " + remark.remedy),
                  style.paint(Ink::dim, remark.source));
    }
    if (!remarks.empty()) print_out("\n");
    print_out("  {} · {} examined by {}\n", results::counted(remarks.size(), "remark"),
              job.size() == 1 ? "1 process" : fmt::format("{} processes", job.size()),
              results::counted(results::preflight::rules().size(), "rule"));
}

void print_rules() {
    for (const auto& rule : results::preflight::rules()) print_out("  {:<17}{}\n", rule.name, rule.what);
}

Result<ProbedJob> read_snapshots(const std::vector<std::string>& files) {
    ProbedJob job;
    for (const std::string& file : files) {
        const auto text = scenarios::read_text(file);
        if (!text) {
            return scenarios::refuse(scenarios::ErrorCode::io, "cannot be read",
                                     "`deadrank doctor --snapshot FILE` writes one", {file});
        }
        auto one = results::preflight::snapshot_from_json(*text, file);
        if (!one) return tl::unexpected(one.error());
        job.push_back(std::move(*one));
    }
    put_in_order(job);
    return job;
}

Result<Gathered> take(const DoctorArguments& arguments) {
    Gathered gathered;
    if (!arguments.from.empty()) {
        auto job = read_snapshots(arguments.from);
        if (!job) return tl::unexpected(job.error());
        gathered.job = std::move(*job);
        return gathered;
    }
    for (const int pid : arguments.pids) {
        auto one = take_snapshot({.pid = pid});
        if (!one) return tl::unexpected(one.error());
        gathered.job.push_back(std::move(*one));
    }
    if (!gathered.job.empty()) {
        put_in_order(gathered.job);
        return gathered;
    }
    auto own = take_snapshot({});
    if (!own) return tl::unexpected(own.error());
    const GatherPlan plan = gather_plan(*own, arguments.gather);
    auto all =
        gather(*own, plan, std::chrono::milliseconds(static_cast<std::int64_t>(arguments.wait * 1000)));
    if (all && all->speaks && plan.this_host_only)
        print_error(
            "deadrank: only the processes of this host are compared; --gather DIR, a directory that "
            "all hosts see, compares all\n");
    if (all && all->speaks && !all->complete)
        print_error("deadrank: {} of {} processes came within {} s\n", all->job.size(), plan.expected,
                    arguments.wait);
    return all;
}

fs::path knowledge_of(const Library& library) {
    std::error_code ignored;
    const fs::path source = library.data / "../results/preflight";
    return fs::is_directory(source, ignored) ? source : library.data / "preflight";
}

void save(const DoctorArguments& arguments, Session& session) {
    auto own = take_snapshot({.pid = arguments.pids.empty() ? 0 : arguments.pids.front()});
    if (!session.take(own)) return;
    if (auto written = results::write_text(to_json(*own) + "\n", arguments.snapshot); !written)
        session.complain(written.error());
}

// What the installed torch does on simulated GPUs, by a program that tries it.
void report_gpus(const DoctorArguments& arguments, Session& session) {
    auto variables = variables_of(arguments.gpus);
    if (!session.take(variables)) return;
    auto python = best_python();
    if (!session.take(python)) return;
    std::vector<std::string> environment;
    for (const auto& [name, value] : *variables) environment.push_back(fmt::format("{}={}", name, value));
    environment.emplace_back("OMP_NUM_THREADS=1");
    const results::processes::Bounds bounds{
        .time = std::chrono::minutes(5)};  // a first call compiles the operators
    auto answer = results::processes::run_bounded(
        {python->program.string(), "-m", "deadrank_operators.report"}, bounds, {}, environment);
    if (!session.take(answer)) return;
    print_out("{}", answer->out);
    if (answer->well()) return;
    session.code = exit_fail;
    if (answer->out.empty())
        session.complain(
            {scenarios::ErrorCode::environment,
             fmt::format("{} {}: {}", python->program.string(), answer->how(), answer->last_error_text()),
             "name another Python in DEADRANK_PYTHON"});
}

void doctor(const DoctorArguments& arguments, Session& session) {
    if (arguments.gpus.count > 0) return report_gpus(arguments, session);
    if (arguments.libraries) return print_out("{}\n", library_versions());
    if (arguments.rules) return print_rules();
    if (!arguments.snapshot.empty()) return save(arguments, session);
    auto library = open_library(session.executable, session.extension, "");
    if (!session.take(library)) return;
    auto knowledge = results::preflight::load_knowledge(knowledge_of(*library));
    if (!session.take(knowledge)) return;
    auto gathered = take(arguments);
    if (!session.take(gathered)) return;
    const auto remarks = examine(gathered->job, *knowledge);
    const bool wrong = std::any_of(remarks.begin(), remarks.end(),
                                   [](const Remark& remark) { return remark.weight == Weight::error; });
    session.code = wrong ? exit_fail : gathered->complete ? exit_pass : exit_unknown;
    if (!gathered->speaks) return;
    if (arguments.json) {
        print_out("{}\n", as_json(gathered->job, remarks, gathered->complete).dump(2));
    } else {
        print_job_text(gathered->job, remarks);
    }
}

void add_doctor(CLI::App& command, Session& session) {
    command.footer(doctor_footer);
    auto arguments = std::make_shared<DoctorArguments>();
    command.add_option("--pid", arguments->pids, "The environment of these processes instead of our own")
        ->type_name("PID")
        ->check(number_between(1, 1 << 22));
    command.add_option("--from", arguments->from, "Snapshots taken earlier, one file a process")
        ->type_name("FILE");
    command
        .add_option("--snapshot", arguments->snapshot,
                    "Write this process's snapshot there and judge nothing")
        ->type_name("FILE");
    command.add_option("--gather", arguments->gather, "A directory that all hosts of the job see")
        ->type_name("DIR");
    command.add_option("--wait", arguments->wait, "Seconds to wait for the other processes [60]")
        ->type_name("S")
        ->check(number_between(0.0, 86400.0));
    command.add_flag("--rules", arguments->rules, "List the rules");
    add_gpus(command, arguments->gpus);
    add_json(command, arguments->json, "A JSON object with all remarks");
    command.add_flag("--libraries", arguments->libraries)->group("");
    command.callback([arguments, &session] { doctor(*arguments, session); });
}

}  // namespace

extern const CommandRow doctor_row{"doctor", doctor_description, add_doctor};

}  // namespace deadrank::runners::commands
