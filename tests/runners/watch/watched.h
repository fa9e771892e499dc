// tests/runners/watch/watched.h — A program that is watched by `deadrank watch`, and what it begins with.
#pragma once

#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/watch/watch.h"

namespace deadrank::runners {

namespace fs = std::filesystem;

inline const fs::path users = fs::path(DEADRANK_SOURCE_DIRECTORY) / "tests" / "programs" / "python" / "users";

inline std::vector<std::string> symptoms_of(const std::vector<results::Finding>& findings) {
    std::vector<std::string> all;
    for (const auto& finding : findings) all.push_back(fmt::format("{}: {}", finding.symptom, finding.says));
    return all;
}

class DeviceWatch : public testing::Test {
protected:
    DeviceWatch() {
        fs::create_directories(directory_);
        setenv("OMP_NUM_THREADS", "1", 1);
    }
    ~DeviceWatch() override { fs::remove_all(directory_); }
    void SetUp() override {
        const auto python = best_python();
        if (!python) GTEST_SKIP() << python.error().text();
        python_ = *python;
    }

    std::vector<std::string> torchrun(const fs::path& script, std::vector<std::string> arguments = {}) const {
        std::vector<std::string> command = {
            python_.program.string(), "-m", "torch.distributed.run", "--standalone",
            "--nproc-per-node",       "2",  script.string()};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return command;
    }
    fs::path script(const std::string& text) const {
        std::ofstream(directory_ / "script.py") << text;
        return directory_ / "script.py";
    }
    scenarios::Result<watch::Watched> watched(const std::vector<std::string>& command) const {
        watch::WatchSpec spec{command, *local_home() / "hook", directory_, [](const watch::Ringing&) {}};
        spec.note = [this](const std::string& says) { noted_.push_back(says); };
        return watch::watch(spec);
    }

    fs::path directory_ = fs::temp_directory_path() / fmt::format("deadrank-watch-{}", getpid());
    mutable std::vector<std::string> noted_;  // while the program ran
    Python python_;
};

// What many programs begin with: a model that all ranks train, and its optimizer.
inline constexpr const char* trained = R"(import os, sys, time, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
rank, model = dist.get_rank(), DistributedDataParallel(nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def step():
    model(torch.randn(4, 64)).sum().backward()
    optimizer.step(), optimizer.zero_grad()
)";

}  // namespace deadrank::runners
