// runners/backends/sim/managed_runner.cpp — A plan, a launch command and a warm Python become one run.
#include "runners/backends/sim/managed_runner.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

#include "results/record/payload_line.h"
#include "runners/backend/memory.h"
#include "runners/backends/process/guard.h"
#include "runners/backends/process/kept_files.h"
#include "runners/backends/process/private_files.h"
#include "runners/backends/process/simulated_gpus.h"
#include "runners/backends/sim/job_copies.h"
#include "runners/backends/sim/left_files_search.h"
#include "runners/backends/sim/patched_packages.h"
#include "runners/backends/sim/sim_play.h"
#include "scenarios/model/python_program.h"
#include "sim/machine/plan_settings.h"

extern char** environ;

namespace deadrank::runners {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Setting;
using scenarios::ValueType;

// The variables of this process that ranks keep. Those of launchers come from the simulated one.
std::map<std::string, std::string> own_environment() {
    static constexpr std::array<std::string_view, 12> foreign = {
        "RANK=",       "WORLD_SIZE=", "LOCAL_RANK=", "LOCAL_WORLD_SIZE=",
        "GROUP_RANK=", "ROLE_",       "MASTER_",     "TORCHELASTIC",
        "OMPI_",       "PMI",         "SLURM_",      "DEADRANK_"};
    std::map<std::string, std::string> variables;
    for (char** entry = environ; *entry; ++entry) {
        const std::string text = *entry;
        const std::size_t equals = text.find('=');
        const bool theirs = std::any_of(foreign.begin(), foreign.end(),
                                        [&](std::string_view begin) { return text.starts_with(begin); });
        if (equals != std::string::npos && !theirs)
            variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return variables;
}

// What torch imports lazily in most training programs: imported once, not in each rank.
constexpr std::array<const char*, 6> usual_imports = {"torch",
                                                      "torch._dynamo",
                                                      "torch.distributed.checkpoint",
                                                      "torch.distributed.fsdp",
                                                      "torch.distributed.pipelining",
                                                      "torch.distributed.tensor"};

void state(scenarios::Settings& settings, const std::string& name, scenarios::Value value) {
    Setting setting;
    setting.options = {std::move(value)};
    if (const auto old = settings.find(name); old != settings.end()) setting.place = old->second.place;
    settings[name] = setting;
}

void state(scenarios::Settings& settings, const std::string& name, ValueType type, std::int64_t number) {
    state(settings, name, {.type = type, .number = number});
}

bool read_record(sim::World& world, std::string_view line) {
    results::Payload payload;
    const auto keep = [&](std::string_view words) { return world.text(words); };
    if (!results::read_payload(line, keep, payload)) return false;
    world.record(payload);
    return true;
}

std::string quoted(const std::string& text) {
    std::string json = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') json += '\\';
        json += letter;
    }
    return json + "\"";
}

// In front of the libraries that the user or simulated GPUs load first.
std::string preloaded(const std::filesystem::path& library,
                      const std::map<std::string, std::string>& variables) {
    const char* own = std::getenv("LD_PRELOAD");
    const auto stated = variables.find("LD_PRELOAD");
    const std::string others = stated != variables.end() ? stated->second : own ? own : "";
    return library.string() + (others.empty() ? "" : ":" + others);
}

// What a run of a user's program leaves as it was: the files that it changes, and the temporary ones.
struct Surroundings {
    std::optional<Scratch> temporary;
    std::optional<Guard> guard;
};

scenarios::Result<Surroundings> set_up_surroundings(const std::filesystem::path& directory,
                                                    const std::atomic<bool>* stop) {
    Surroundings around;
    auto temporary = Scratch::make({}, {"tmp", "layers"});
    if (!temporary) return tl::unexpected(temporary.error());
    around.temporary.emplace(std::move(*temporary));
    auto guard = Guard::begin(directory, stop);
    if (!guard) return tl::unexpected(guard.error());
    around.guard.emplace(std::move(*guard));
    return around;
}

void put_into(sim::managed::Program& program, const Surroundings& around) {
    std::error_code ignored;
    program.temporary = (around.temporary->path() / "tmp").string();
    program.temporary_shown = std::filesystem::temp_directory_path(ignored).string();
    program.environment["TMPDIR"] = program.environment["DEADRANK_TEMPORARY"] = program.temporary;
    program.environment["DEADRANK_KEPT"] = around.guard->directory().string();
    program.environment["LD_PRELOAD"] = preloaded(files_shim(), program.environment);
}

// Restores the user's files to what they were before the run.
scenarios::Result<void> give_back_to(Guard& guard, Record& record,
                                     std::set<std::filesystem::path>& changed) {
    const auto given = guard.end();
    if (!given) return tl::unexpected(given.error());
    changed.insert(given->directories.begin(), given->directories.end());
    if (given->files + given->removed + given->told.size() > 0)
        record.notes.push_back("of what the program changed, the run " + given->says);
    return {};
}

sim::managed::Program program_of(const ManagedSettings& settings, const scenarios::Plan& plan) {
    sim::managed::Program program;
    program.argv = settings.command.argv;
    program.cwd = std::filesystem::absolute(settings.directory).string();
    program.environment = own_environment();
    if (!settings.own_settings)
        std::erase_if(program.environment, [](const auto& one) {
            return one.first.starts_with("TORCH_") || one.first.starts_with("NCCL_") ||
                   one.first.starts_with("CUDA_");
        });
    for (const auto& [name, value] : settings.variables) program.environment[name] = value;
    for (const auto& [name, value] : settings.command.environment) program.environment[name] = value;
    program.seed = plan.seed.number;
    program.restarts_max = scenarios::cluster_number(plan, "restarts_max", 0);
    program.real_limit = settings.real_limit;
    program.print = settings.print;
    program.options["armed"] = plan.faults.empty() ? "false" : "true";
    if (settings.compute > 0) program.options["compute"] = std::to_string(settings.compute);
    if (settings.tell_lines) program.options["tell_lines"] = "true";
    program.options["ranks_per_node"] = std::to_string(settings.command.ranks_per_node);
    if (const std::string& name = settings.command.local_rank_argument; !name.empty())
        program.options["local_rank_argument"] = quoted(name);
    if (!settings.hook.empty()) {
        program.options["hook"] = quoted(settings.hook.string());
        program.options["plan"] = "{}";
    }
    // Ranks that run beside others use files in turn, which the library below libc sees to.
    if (files_shim().empty()) return program;
    program.at_once = settings.at_once > 0 ? settings.at_once : 2 * processor_count();
    return program;
}

// Bytes of each simulated GPU; 0: the program has none.
std::int64_t memory_of_devices(const ManagedSettings& settings) {
    for (const auto* environment : {&settings.command.environment, &settings.variables})
        if (const auto stated = environment->find("DEADRANK_STANDIN_MEMORY"); stated != environment->end())
            return std::atoll(stated->second.c_str()) << 20;
    const auto model = settings.variables.find("DEADRANK_STANDIN_GPU");
    return model == settings.variables.end() ? 0 : memory_of(model->second);
}

// What the user says to torch and NCCL reaches their simulated parts as well. The scenario's own settings
// win.
void pass_on_settings(scenarios::Settings& cluster, const LaunchCommand& command) {
    std::map<std::string, std::string> variables = own_environment();
    for (const auto& [name, value] : command.environment) variables[name] = value;
    std::erase_if(variables, [](const auto& one) {
        return !one.first.starts_with("TORCH_") && !one.first.starts_with("NCCL_") &&
               one.first != "SLURM_JOB_ID";
    });
    if (const auto stated = cluster.find("environment"); stated != cluster.end())
        for (const auto& [name, value] : stated->second.options.front().table) variables[name] = value;
    if (!variables.empty()) state(cluster, "environment", {.type = ValueType::table, .table = variables});
}

sim::managed::ZygoteSettings zygote_of(const ManagedSettings& settings) {
    sim::managed::ZygoteSettings zygote{.python = settings.python,
                                        .package = settings.package,
                                        .hook = settings.hook,
                                        .preload = {usual_imports.begin(), usual_imports.end()},
                                        .environment = settings.variables};
    const auto with_files_shim = [&] {
        if (!files_shim().empty()) zygote.environment["LD_PRELOAD"] = preloaded(files_shim(), zygote.environment);
        return zygote;
    };
    if (!settings.text.empty()) return with_files_shim();  // one for all scenarios
    zygote.program = settings.imports_of;
    if (settings.command.argv.front().ends_with(".py"))
        zygote.program = settings.directory / settings.command.argv.front();
    zygote.preload.insert(zygote.preload.end(), settings.preload.begin(), settings.preload.end());
    const auto& stated =
        settings.warm_environment.empty() ? settings.command.environment : settings.warm_environment;
    for (const auto& [name, value] : stated) zygote.environment[name] = value;
    return with_files_shim();
}

}  // namespace

scenarios::Scenario launched_by(scenarios::Scenario scenario, const LaunchCommand& command) {
    state(scenario.cluster, "nodes", ValueType::integer, command.nodes);
    state(scenario.cluster, "gpus_per_node", ValueType::integer, command.ranks_per_node);
    scenario.cluster.erase("ranks");
    const auto usual = [&](const std::string& name, scenarios::Value value) {
        if (scenario.cluster.count(name) == 0) state(scenario.cluster, name, std::move(value));
    };
    usual("launcher", {.type = ValueType::choice, .text = std::string(enum_name(command.launcher))});
    usual("restarts_max", {.type = ValueType::integer, .number = command.restarts_max});
    pass_on_settings(scenario.cluster, command);
    if (command.monitor_interval > 0)
        usual("monitor_interval", {.type = ValueType::duration, .number = command.monitor_interval});
    return scenario;
}

scenarios::Plan plan_of(const LaunchCommand& command, scenarios::Seed seed) {
    scenarios::Plan plan;
    plan.scenario = "program";
    plan.seed = seed;
    plan.variant = scenarios::Variant::control;
    for (const auto& [name, setting] : launched_by({}, command).cluster)
        plan.cluster[name] = setting.options.front();
    return plan;
}

scenarios::Capabilities ManagedRunner::capabilities() const {
    return {.backend = "sim", .levers = {"*"}, .workloads = {"*"}};
}

namespace {

// Modules write temporary files when they are imported: they get a directory that lives as long as the zygote.
void give_temporary_files(sim::managed::ZygoteSettings& settings) {
    auto temporary = Scratch::make({}, {"tmp"});
    if (!temporary) throw sim::managed::HostTrouble(temporary.error().what, temporary.error().remedy);
    auto kept = std::make_shared<Scratch>(std::move(*temporary));
    settings.environment["TMPDIR"] = (kept->path() / "tmp").string();
    settings.holds = std::move(kept);
}

scenarios::Result<std::shared_ptr<sim::managed::Zygote>> warm_zygote(
    WarmPython& warm, const sim::managed::ZygoteSettings& settings) {
    try {
        return warm.get(settings, give_temporary_files);
    } catch (const sim::managed::HostTrouble& trouble) {
        return refuse(ErrorCode::environment, trouble.what(), trouble.help);
    }
}

// The rank reads the patched text from a file of its own, so that patches of several ranks stay apart.
scenarios::Result<inject::Done> patch_rank(const ManagedSettings& settings, sim::managed::ManagedJob& job,
                                           results::Rank rank, std::string_view patch) {
    const auto parts = scenarios::split_patch(patch);
    if (!parts) return refuse(ErrorCode::bad_input, parts.error().what, parts.error().remedy);
    const auto part = std::find_if(parts->begin(), parts->end(), [](const auto& one) { return one.file.empty(); });
    if (part == parts->end()) return inject::Done{};  // the interpreter has it already
    if (settings.text.empty())
        return refuse(ErrorCode::unsupported, "a program of your own cannot be patched",
                      "change it, or make it the program of a scenario: kind = \"python\"");
    const auto patched = scenarios::apply_patch(settings.text, part->text);
    if (!patched) return refuse(ErrorCode::bad_input, patched.error().what, patched.error().remedy);
    const auto file = std::filesystem::absolute(settings.directory) / fmt::format(".rank{}.py", rank);
    if (std::ofstream out(file); !(out << *patched))
        return refuse(ErrorCode::environment, fmt::format("cannot write '{}'", file.string()),
                      "free space in the directory for temporary files");
    job.replace_source(rank, file.string());
    return inject::Done{};
}

// What the simulated disk holds in place of what the program wrote, by path.
std::map<std::string, sim::managed::Spoilt> list_spoilt(const sim::Cluster& cluster,
                                                        const sim::managed::ManagedJob& job) {
    std::map<std::string, sim::managed::Spoilt> all;
    for (const auto& [path, latest] : job.files)
        if (auto spoilt = job.find_spoilt(cluster.file_content(path), latest)) all[path] = std::move(*spoilt);
    return all;
}

// Where a copy of a run has files of its own.
PrivateLayers private_layers(const ManagedSettings& settings, const std::filesystem::path& temporary) {
    PrivateLayers layers{
        {settings.changed->begin(), settings.changed->end()}, temporary / "layers", temporary / "copies.lock"};
    layers.directories.push_back(settings.directory);
    layers.directories.push_back(temporary / "tmp");
    return layers;
}

}  // namespace

scenarios::Result<void> ManagedRunner::can_branch() const {
    if (settings_.keep_files)
        return refuse(ErrorCode::unsupported, "the program's files are kept, so its runs share them");
    auto temporary = Scratch::make({}, {"tmp", "layers"});
    if (!temporary) return tl::unexpected(temporary.error());
    const PrivateLayers layers = private_layers(settings_, temporary->path());
    return try_private_files(layers.directories, layers.memory);
}

scenarios::Result<Record> ManagedRunner::play(const scenarios::Plan& plan, const RunOptions& options) {
    auto cluster = sim::cluster_settings(plan.cluster);
    if (!cluster) return tl::unexpected(cluster.error());
    cluster->agent_keeps_store = plan.workload_kind == scenarios::python_workload &&
                                 cluster->launcher == sim::LauncherKind::torchrun &&
                                 !plan.cluster.contains("store");
    if (const std::int64_t memory = memory_of_devices(settings_); memory > 0) cluster->device_memory = memory;
    auto patched = patched_packages(settings_.python, plan);
    if (!patched) return tl::unexpected(patched.error());
    sim::managed::ZygoteSettings zygote = zygote_of(settings_);
    zygote.patched = std::move(*patched);
    const auto warm = warm_zygote(*settings_.warm, zygote);
    if (!warm) return tl::unexpected(warm.error());
    sim::managed::Program program = program_of(settings_, plan);
    // As torch's launcher names what it ran.
    const auto script = std::find_if(program.argv.begin(), program.argv.end(),
                                     [](const std::string& word) { return !word.starts_with('-'); });
    if (script != program.argv.end()) cluster->job = *script;
    if (options.branches || settings_.debugged) {
        program.options["held"] = "true";
        program.at_once = 1;  // the job can be copied while no process runs
    }
    if (program.at_once > 1) program.options["beside_others"] = "true";
    if (options.order_seed) program.options["order_seed"] = std::to_string(*options.order_seed);
    std::optional<Surroundings> around;
    if (!settings_.keep_files) {
        auto made = set_up_surroundings(settings_.directory, options.stop);
        if (!made) return tl::unexpected(made.error());
        put_into(program, around.emplace(std::move(*made)));
    }
    const PrivateLayers layers = around ? private_layers(settings_, around->temporary->path()) : PrivateLayers{};
    if (around && options.branches) program.options["copies"] = quoted(layers.lock.string());
    sim::managed::ManagedJob job(*warm, std::move(program), read_record, options.stop);
    std::map<std::string, sim::managed::Spoilt> spoilt;
    const pid_t began_in = ::getpid();
    const auto see_left_files = [&](Record& record) {
        const auto& ends = record.truth.ends;
        const bool any_finished = std::count(ends.begin(), ends.end(), results::RankEnd::finished) > 0;
        if (!around || !options.left_files || !any_finished) return;
        record.left = find_left_files({.changed = list_changed(around->guard->directory()),
                                       .directory = std::filesystem::absolute(settings_.directory),
                                       .temporary = around->temporary->path(),
                                       .scratch = around->temporary->path() / "tmp",
                                       .spoilt = spoilt,
                                       .within = ::getpid() == began_in ? 0 : ::getpid(),
                                       .healthy = options.healthy_left},
                                      job.zygote());
    };
    std::optional<BranchingRun> branching;
    std::optional<DebuggedRun> debugged;
    if (around && options.branches)
        branching.emplace(job, layers, *options.branches, see_left_files);
    if (around && settings_.debugged)
        debugged.emplace(job, layers, plan, options.stop);
    const Performance performance{
        .cluster = *cluster,
        .script = [&](sim::World& world) { job.play(world); },
        .patch = [&](results::Rank rank,
                     std::string_view patch) { return patch_rank(settings_, job, rank, patch); },
        .stop = [&] { return job.stopped(); },
        .stop_asked_every = 64,
        .stack_bytes = 512 << 10,
        .gate = branching  ? inject::Gate([&](std::size_t fault) { return branching->decide_passage(fault); })
                : debugged ? inject::Gate([&](std::size_t fault) { return debugged->decide_passage(fault); })
                           : nullptr,
        .at_standstill = [&] { job.show_stacks(); },
        .at_end = [&](const sim::Cluster& ended) { spoilt = list_spoilt(ended, job); }};
    scenarios::Result<Record> record = refuse(ErrorCode::internal, "the stage never played");
    stages_.play([&](sim::Engine& engine) {
        const auto simulation = [&](const scenarios::Plan& played) {
            return simulate(engine, faults_, played, performance, options);
        };
        if (debugged) {
            debugged->play([&] { return simulation(plan); }, record);
        } else if (!branching) {
            record = simulation(plan);
        } else if (options.branches->from_start()) {
            branching->play_each(plan, simulation, record);
        } else {
            branching->play([&] { return simulation(plan); }, record);
        }
    });
    job.finish();
    if (branching) options.branches->await_copies();
    if (record && !branching && !job.trouble()) {
        try {
            see_left_files(*record);
        } catch (const sim::managed::HostTrouble& trouble) {
            record = refuse(ErrorCode::environment, trouble.what(), trouble.help);
        }
    }
    if (around && record) {
        if (auto given = give_back_to(*around->guard, *record, *settings_.changed); !given) return tl::unexpected(given.error());
    }
    if (job.trouble()) return refuse(ErrorCode::environment, job.trouble()->what(), job.trouble()->help);
    return record;
}

}  // namespace deadrank::runners
