// runners/backends/sim/python_play.cpp — From a scenario's program to a launch command of the simulated
// launcher.
#include "runners/backends/sim/python_play.h"

#include <fstream>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"

namespace deadrank::runners {

namespace {

constexpr const char* script = "train.py";
constexpr int gpus_of_the_zygote = 8;  // it counts none itself: each rank sees those of its own node

scenarios::Value workload_value(const scenarios::Plan& plan, const char* name) {
    const auto found = plan.workload.find(name);
    return found == plan.workload.end() ? scenarios::Value() : found->second;
}

}  // namespace

scenarios::Result<ManagedSettings> python_settings(const SimulatedGpus& gpus) {
    const auto python = python_with_torch_installed();
    if (!python) return tl::unexpected(python.error());
    const auto home = local_home(), package = python_package();
    if (!home) return tl::unexpected(home.error());
    if (!package) return tl::unexpected(package.error());
    ManagedSettings settings;
    settings.python = python->program;
    settings.package = *package;
    settings.hook = *home / "hook";
    if (gpus.count > 0) {
        auto variables = variables_of(gpus);
        if (!variables) return tl::unexpected(variables.error());
        settings.variables = std::move(*variables);
    }
    return settings;
}

scenarios::Result<Record> play_python(const scenarios::Plan& plan, const RunOptions& options,
                                      const inject::FaultCatalog& faults, std::shared_ptr<WarmPython> warm) {
    const bool gpus = workload_value(plan, "gpus").number != 0;
    auto settings = python_settings({.count = gpus ? gpus_of_the_zygote : 0});
    if (!settings) return tl::unexpected(settings.error());
    const auto scratch = Scratch::make("", {});
    if (!scratch) return tl::unexpected(scratch.error());
    settings->warm = std::move(warm);
    settings->directory = scratch->path();
    settings->text = workload_value(plan, "program").text;
    settings->own_settings = false;
    settings->keep_files = true;  // the directory is the run's own
    settings->command.argv = {script};
    settings->command.nodes = scenarios::cluster_number(plan, "nodes", 1);
    settings->command.ranks_per_node = scenarios::cluster_number(plan, "gpus_per_node", 1);
    if (gpus) {
        auto& environment = settings->command.environment;
        environment["DEADRANK_STANDIN_DEVICES"] = std::to_string(settings->command.ranks_per_node);
        if (const auto memory = plan.cluster.find("device_memory"); memory != plan.cluster.end())
            environment["DEADRANK_STANDIN_MEMORY"] = std::to_string(memory->second.number >> 20);
    }
    if (std::ofstream out(scratch->path() / script); !(out << settings->text))
        return scenarios::refuse(scenarios::ErrorCode::environment, "cannot write the scenario's program",
                                 "free space in the directory for temporary files");
    return ManagedRunner(*settings, faults).run(plan, options);
}

}  // namespace deadrank::runners
