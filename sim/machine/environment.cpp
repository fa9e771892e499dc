// sim/machine/environment.cpp — What a process finds when it starts: environment variables, and packages that
// may be missing, broken or of the wrong kind.
#include "sim/machine/environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>

#include "sim/machine/machine.h"

namespace deadrank::sim {

// ── Three layers, the nearest first: the process's own, the launcher's, the cluster's.

namespace {

constexpr std::array launcher_names = {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                                       "RANK",       "WORLD_SIZE"};

constexpr std::array agent_names = {"PET_NNODES", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID",
                                    "TORCHELASTIC_USE_AGENT_STORE"};

// In which processes differ, sorted.
constexpr std::array<std::string_view, 3> place_names = {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "RANK"};

// Open MPI's own names beside those that torch reads.
constexpr std::pair<std::string_view, std::string_view> mpi_names[] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "RANK"},
    {"OMPI_COMM_WORLD_SIZE", "WORLD_SIZE"},
};

// … and those by which its ranks find their place on a node, of which observers see nothing.
constexpr std::pair<std::string_view, std::string_view> unseen_mpi_names[] = {
    {"OMPI_COMM_WORLD_NODE_RANK", "LOCAL_RANK"},
    {"OMPI_UNIVERSE_SIZE", "WORLD_SIZE"},
    {"PMIX_RANK", "RANK"},
};

const std::optional<std::string>* find(const std::vector<Tampering::Setting>& settings,
                                       std::string_view name) {
    for (const auto& [known, value] : settings) {
        if (known == name) return &value;
    }
    return nullptr;
}

template <class Texts>
std::string joined(const Texts& settings) {
    std::size_t length = 0;
    for (const auto& [name, value] : settings) length += name.size() + value.size() + 2;
    std::string text;
    text.reserve(length);
    for (const auto& [name, value] : settings) {
        if (!text.empty()) text += '\n';
        text.append(name).append(1, '=').append(value);
    }
    return text;
}

template <class Texts>
void apply_overrides(Texts& all, const std::vector<Tampering::Setting>& own) {
    for (const auto& [name, value] : own) {
        if (value) {
            all[name] = *value;
        } else {
            all.erase(name);
        }
    }
}

}  // namespace

Environment::Environment(const ClusterSettings& settings)
    : settings_(settings),
      ranks_(settings.process_count()),
      told_(settings.environment.begin(), settings.environment.end()),
      versions_(settings.versions.begin(), settings.versions.end()) {}

void Environment::set_world(Rank ranks, std::string master) {
    ranks_ = ranks;
    master_ = std::move(master);
}

std::optional<std::string> Environment::get(const Process& process, std::string_view name) const {
    if (process.tampering) {
        if (const auto* own = find(process.tampering->own, name)) return *own;
        if (const auto* own = find(process.tampering->environment, name)) {
            process.tampering->asked.emplace(name);
            return *own;
        }
    }
    if (auto given = from_launcher(process, name)) return given;
    const auto found = told_.find(name);
    if (found == told_.end()) return std::nullopt;
    return found->second;
}

std::optional<std::string> Environment::from_launcher(const Process& process, std::string_view name) const {
    if (settings_.launcher == LauncherKind::mpirun) {
        for (const auto& [mpi, usual] : mpi_names) {
            if (name == mpi) return from_launcher(process, usual);
        }
        for (const auto& [mpi, usual] : unseen_mpi_names) {
            if (name == mpi) return from_launcher(process, usual);
        }
    }
    if (name.starts_with("SLURM") && told_.contains("SLURM_JOB_ID") && !told_.contains(name))
        return from_slurm(process, name);
    const bool own = name == "RANK" || name == "WORLD_SIZE" || name.starts_with("LOCAL_");
    const bool usual =
        name.starts_with("MASTER_") || name == "NCCL_DEBUG" || name == "TORCH_DISTRIBUTED_DEBUG";
    if (!own && !usual) return from_agent(process, name);
    const auto local_size = [&] {
        const Rank first = static_cast<Rank>(process.node) * settings_.gpus_per_node;
        return std::min<Rank>(settings_.gpus_per_node, settings_.process_count() - first);
    };
    if (name == "RANK") return std::to_string(process.given_rank);
    if (name == "WORLD_SIZE") return std::to_string(ranks_);
    if (name == "LOCAL_RANK") return std::to_string(process.local);
    if (name == "LOCAL_WORLD_SIZE") return std::to_string(local_size());
    // What a launch script sets unless the job says otherwise.
    const bool told = told_.contains(name);
    if (name == "MASTER_ADDR" && !told) return master_;
    if (name == "MASTER_PORT" && !told) return "29500";
    if (name == "NCCL_DEBUG" && !told) return "WARN";
    if (name == "TORCH_DISTRIBUTED_DEBUG" && !told && settings_.debug_detail) return "DETAIL";
    return std::nullopt;
}

// As srun sets them for each task: a torchrun is one task on its node, whatever ranks it starts there; else
// each rank is one.
std::optional<std::string> Environment::from_slurm(const Process& process, std::string_view name) const {
    const bool agents = settings_.launcher == LauncherKind::torchrun;
    const int nodes = settings_.nodes, per_node = agents ? 1 : settings_.gpus_per_node;
    const Rank tasks = agents ? nodes : settings_.process_count();
    if (name == "SLURM_PROCID") return std::to_string(agents ? process.node : process.id);
    if (name == "SLURM_LOCALID") return std::to_string(agents ? 0 : process.local);
    if (name == "SLURM_NODEID") return std::to_string(process.node);
    if (name == "SLURM_NTASKS" || name == "SLURM_NPROCS") return std::to_string(tasks);
    if (name == "SLURM_NNODES" || name == "SLURM_JOB_NUM_NODES") return std::to_string(nodes);
    if (name == "SLURM_NTASKS_PER_NODE") return std::to_string(per_node);
    if (name == "SLURM_TASKS_PER_NODE")
        return nodes > 1 ? fmt::format("{}(x{})", per_node, nodes) : std::to_string(per_node);
    if (name == "SLURM_JOB_NODELIST" || name == "SLURM_NODELIST")
        return nodes > 1 ? fmt::format("node[0-{}]", nodes - 1) : "node0";
    if (name == "SLURMD_NODENAME") return fmt::format("node{}", process.node);
    return std::nullopt;
}

// What torchrun's agents add of their own.
std::optional<std::string> Environment::from_agent(const Process& process, std::string_view name) const {
    const bool of_agents = name.starts_with("TORCHELASTIC_") || name == "PET_NNODES";
    if (!of_agents || settings_.launcher != LauncherKind::torchrun) return std::nullopt;
    if (name == "TORCHELASTIC_RESTART_COUNT") return std::to_string(process.restart_count);
    if (told_.contains(name)) return std::nullopt;
    if (name == "PET_NNODES" && settings_.nodes_min > 0)
        return fmt::format("{}:{}", settings_.nodes_min, settings_.nodes);
    if (settings_.store == StoreLife::rank) return std::nullopt;
    if (name == "TORCHELASTIC_RUN_ID") return settings_.run_id;
    if (name == "TORCHELASTIC_USE_AGENT_STORE") return "True";
    return std::nullopt;
}

std::string Environment::version(const Process& process, std::string_view package) const {
    if (process.tampering) {
        if (const auto* own = find(process.tampering->versions, package)) {
            process.tampering->asked.emplace(package);
            return own->value_or("");
        }
    }
    const std::string* found = installed(package);
    return found ? *found : "";
}

const std::string* Environment::installed(std::string_view package) const {
    for (const auto& [name, version] : versions_) {
        if (name == package) return &version;
    }
    return nullptr;
}

bool Environment::misses(const Process& process, std::string_view package) const {
    const std::string* found = installed(package);
    if (!found) return false;
    return process.tampering ? version(process, package).empty() : found->empty();
}

Environment::Texts Environment::all(const Process& process) const {
    Texts all = told_;
    for (const char* name : launcher_names) all[name] = from_launcher(process, name).value_or(all[name]);
    for (const char* name : {"NCCL_DEBUG", "TORCH_DISTRIBUTED_DEBUG"}) {
        if (auto value = from_launcher(process, name)) all[name] = *value;
    }
    if (settings_.launcher == LauncherKind::mpirun) {
        for (const auto& [mpi, usual] : mpi_names) all[std::string(mpi)] = *from_launcher(process, mpi);
    }
    for (const char* name : agent_names) {
        if (auto value = from_agent(process, name)) all[name] = *value;
    }
    return all;
}

std::string Environment::lines(const Process& process, int attempt) const {
    if (process.tampering) {
        Texts own = all(process);
        apply_overrides(own, process.tampering->environment);
        return joined(own);
    }
    if (settings_.launcher == LauncherKind::mpirun) return joined(all(process));
    if (shown_.attempt != attempt || shown_.restart_count != process.restart_count) show(process, attempt);
    std::string text;
    text.reserve(1024);
    for (std::size_t i = 0; i < place_names.size(); ++i)
        text.append(shown_.environment[i]).append(*from_launcher(process, place_names[i]));
    return text.append(shown_.environment.back());
}

void Environment::show(const Process& process, int attempt) const {
    shown_.attempt = attempt;
    shown_.restart_count = process.restart_count;
    shown_.environment.assign(1, {});
    for (const auto& [name, value] : all(process)) {
        std::string& piece = shown_.environment.back();
        if (shown_.environment.size() > 1 || !piece.empty()) piece += '\n';
        piece.append(name).append(1, '=');
        if (std::find(place_names.begin(), place_names.end(), name) == place_names.end())
            piece += value;
        else
            shown_.environment.emplace_back();
    }
}

std::string Environment::version_lines(const Process& process) const {
    if (process.tampering) {
        Texts own(versions_.begin(), versions_.end());
        apply_overrides(own, process.tampering->versions);
        return joined(own);
    }
    if (shown_.versions.empty()) shown_.versions = joined(versions_);
    return shown_.versions;
}

void override_setting(std::vector<Tampering::Setting>& settings, std::string_view name,
                      std::optional<std::string> value) {
    for (auto& [known, held] : settings) {
        if (known == name) {
            held = std::move(value);
            return;
        }
    }
    settings.emplace_back(name, std::move(value));
}

std::int64_t lax_integer(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 0); }

// ── Imports in the order of a training script: broken ones as the fault describes them, then torch and what
// it binds.

namespace {

void refuse_package(Machine& machine, Process& process, std::string_view package, std::string_view problem,
                    results::Code code) {
    Recorder& recorder = machine.recorder;
    const std::string version = machine.environment.version(process, package);
    recorder.record(process.id, results::PackageLoad{recorder.text(package), recorder.text(version),
                                                     recorder.text(problem), code});
    // A problem that names its exception already is written as it is.
    const auto colon = problem.find(": ");
    const std::string_view name = problem.substr(0, colon == std::string_view::npos ? 0 : colon);
    const bool named = name.ends_with("Error") || name.ends_with("Exception");
    throw RankFailure(named ? std::string(problem) : fmt::format("ImportError: {}", problem));
}

// What is broken harms only who asks for it. From public release notes and reports.
struct PackageUser {
    std::string_view package;  // what it asks for
    std::string_view name;
    std::array<int, 3> until;  // the first release that no longer does
};

constexpr PackageUser package_users[] = {
    // DeepSpeed#5337: the launcher's `log` became `logger`; 0.14.4 asks for neither.
    {"torch.distributed.elastic.agent.server.api", "deepspeed", {0, 14, 4}},
};

std::array<int, 3> numbers_of(std::string_view version) {
    std::array<int, 3> numbers{};
    for (int& number : numbers) {
        const auto [after, error] = std::from_chars(version.data(), version.data() + version.size(), number);
        if (error != std::errc()) break;
        version.remove_prefix(static_cast<std::size_t>(after - version.data()));
        if (!version.starts_with('.')) break;
        version.remove_prefix(1);
    }
    return numbers;
}

// The loader takes the first directory of the path that has the library: the bundle's copy, or the system's.
bool loads_bundled_library(const Machine& machine, const Process& process, std::string_view package) {
    const std::string path = machine.environment.get(process, "LD_LIBRARY_PATH").value_or("");
    const std::string_view first = std::string_view(path).substr(0, path.find(':'));
    return first.ends_with(fmt::format("site-packages/nvidia/{}/lib", package));
}

// "torch 2.4" is there where torch 2.4.0 is installed, "cuda 12" where any 12 is.
bool is_installed(const Machine& machine, const Process& process, std::string_view release) {
    const auto space = release.find(' ');
    if (space == std::string_view::npos) return false;
    const std::string installed = machine.environment.version(process, release.substr(0, space));
    const std::string_view wanted = release.substr(space + 1);
    return installed == wanted || installed.starts_with(std::string(wanted) + '.');
}

bool asks_for(const Machine& machine, const Process& process, const Tampering::BrokenPackage& broken) {
    if (broken.shadowed && loads_bundled_library(machine, process, broken.package)) return false;
    if (is_installed(machine, process, broken.built_for)) return false;
    for (const PackageUser& asker : package_users) {
        if (asker.package != broken.package) continue;
        const std::string version = machine.environment.version(process, asker.name);
        if (!version.empty() && numbers_of(version) >= asker.until) return false;
    }
    return true;
}

}  // namespace

void load_packages(Machine& machine, Process& process) {
    if (process.tampering) {
        for (const auto& broken : process.tampering->broken_packages) {
            if (!asks_for(machine, process, broken)) continue;
            refuse_package(machine, process, broken.package, broken.problem, results::Code::corrupt);
        }
    }
    if (machine.environment.misses(process, "torch")) {
        refuse_package(machine, process, "torch", "ModuleNotFoundError: No module named 'torch'",
                       results::Code::not_found);
    }
    if (machine.environment.misses(process, "nccl")) {
        refuse_package(machine, process, "nccl",
                       "libnccl.so.2: cannot open shared object file: No such file or directory",
                       results::Code::not_found);
    }
}

}  // namespace deadrank::sim
