// runners/backends/local/manifest.h — A program under test, as a TOML file describes it: how it starts, what
// it needs, how its steps and losses are read, and how long it may take. The program itself knows nothing of
// deadrank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/record/time.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

// Who starts the ranks: torchrun or deadrank (as the plan says), or the command itself.
enum class Starts { ranks, itself };

// A Python module that must be installed, and the lowest version of its package; empty = any.
struct Needed {
    std::string module, at_least;
};

// A workload setting of a scenario as words of the command line: "--steps {}", or by value "0" →
// "--in-order".
struct Argument {
    std::string words;
    std::map<std::string, std::string> by_value;
};

struct Manifest {
    std::string name;                  // what --subject calls it
    std::string framework;             // the column of the resilience table: "PyTorch DDP"
    std::string version_of = "torch";  // package whose version is shown with it
    std::string says;
    std::filesystem::path directory;  // {here} of the command

    Starts starts = Starts::ranks;
    std::vector<std::string> command;  // {here} {python} {ranks} {timeout} {checkpoints} are filled in
    std::map<std::string, std::string> environment;
    std::vector<std::string> plays;  // workload kinds; empty = any
    std::vector<std::string> usual;  // workload kinds that it plays unless another subject is named
    std::map<std::string, Argument> arguments;    // by workload setting
    std::map<std::string, std::int64_t> at_most;  // largest supported values of workload settings
    std::map<std::string, std::string> seams;     // name in a scenario → module.function of the program
    // Which ranks hold the same parameters: world, each, "modulo N", "block N"; empty = learnt from DDP,
    // DTensors and the like.
    std::string groups;
    std::string samples;  // "shared": the loaders share the samples of an epoch; empty = as the sampler shows
    std::vector<Needed> needs;
    // Seam or variable → where the framework's documentation says that it compares it among ranks, or makes
    // it alike. Of what stands not here nobody promised anything.
    std::map<std::string, std::string> compares;

    bool hook = true;  // watched from inside; else by its output alone
    std::string step;  // pattern over a line of output, with groups in the order of `fields`
    std::vector<std::string> fields = {"step", "loss"};  // of: rank, step, loss, digest

    results::Time timeout{10'000'000'000};  // of its collectives, where the plan states none; 0 = unknown
    results::Time start{90'000'000'000};    // until its first sign of life
    results::Time quiet{0};                 // silence that means stuck; 0 = from the time-out
    results::Time limit{0};                 // of the whole run; 0 = from the plan
    std::int64_t disk = 1'073'741'824;      // bytes that it may write below the run's directory
    std::int64_t largest_file = disk;       // bytes in any file, shared memory too; 0 = unbounded
};

// Errors: io, bad_input with every mistake and its place.
scenarios::Result<Manifest> load_manifest(const std::filesystem::path& file);
scenarios::Result<Manifest> parse_manifest(std::string_view toml, const std::filesystem::path& file);

// The subjects that ship with deadrank, sorted by name.
scenarios::Result<std::vector<Manifest>> shipped_subjects();

// By name, or by file where the text ends in ".toml". Errors: usage with the nearest name, and those of
// load_manifest.
scenarios::Result<Manifest> subject_named(const std::string& text);

// A command as it was typed: it starts its own ranks.
Manifest typed_subject(const std::vector<std::string>& command);

}  // namespace deadrank::runners
