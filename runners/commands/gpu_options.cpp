// runners/commands/gpu_options.cpp — --gpus and --gpu: a machine of simulated GPUs for a program of the
// user's.
#include "runners/commands/gpu_options.h"

#include <fmt/format.h>
#include <string>
#include <vector>

#include "scenarios/model/value.h"

namespace deadrank::runners::commands {

void add_real_limit(CLI::App& command, std::int64_t& seconds) {
    command
        .add_option("--real-limit", seconds,
                    "Of a program on the simulated cluster: real time without a call of any rank, after "
                    "which the run "
                    "is unknown, as 120 or 2min [120]")
        ->type_name("SECONDS")
        ->transform([](const std::string& text) {  // "2min" as well as 120, as --compute takes its time
            const auto time = scenarios::parse_value(scenarios::ValueType::duration, text);
            return time ? std::to_string(time->number / 1'000'000'000) : text;
        })
        ->check(CLI::Range(1, 86400).description(""));
}

void add_gpus(CLI::App& command, SimulatedGpus& gpus) {
    CLI::Option* count = command
                             .add_option("--gpus", gpus.count,
                                         "Show the program N simulated GPUs: torch's CPU kernels compute the "
                                         "operators of cuda tensors, and nccl is torch's own group")
                             ->type_name("N")
                             ->check(CLI::Range(1, gpus_most).description(""));
    command
        .add_option("--gpu", gpus.model,
                    "Their model, for name, memory and capability: h100, a100, b200 [h100]")
        ->type_name("MODEL")
        ->needs(count)
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(gpu_models), std::end(gpu_models)))
                    .description(""));
}

void add_compute(CLI::App& command, std::int64_t& nanoseconds) {
    const auto parsed = [](const std::string& text) {
        return scenarios::parse_value(scenarios::ValueType::duration, text);
    };
    command
        .add_option_function<std::string>(
            "--compute", [parsed, &nanoseconds](const std::string& text) { nanoseconds = parsed(text)->number; },
            "Virtual time that a step of each rank computes, such as 20ms; slow ranks take a multiple [0]")
        ->type_name("TIME")
        ->check([parsed](const std::string& text) {
            const auto time = parsed(text);
            if (!time) return time.error().text();
            return time->number < 0 ? std::string("it cannot be negative") : std::string();
        });
}

}  // namespace deadrank::runners::commands
