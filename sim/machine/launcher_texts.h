// sim/machine/launcher_texts.h — What torchrun and mpirun print when a process failed, in their own words.
// Texts: torch 2.11 (torch/distributed/elastic, torch/testing common_distributed), Open MPI 4.1.
#pragma once

#include <string>

#include "sim/machine/process.h"

namespace deadrank::sim {

std::string torchrun_failed_line(
    const Process& process);  // failed (exitcode: -9) local_rank: 2 (pid: 1002) of binary: …
std::string torchrun_report(const std::string& script, const Process& process, const std::string& host,
                            Time when);
std::string mpirun_report(const Process& process, const std::string& host);
int mpirun_code(const Process& process);
std::string test_name(const std::string& script, Rank ranks);  // test_train.py::test_on_8_ranks
std::string test_process_failed(const Process& process);
std::string test_timed_out(const Process& process, Time after);

}  // namespace deadrank::sim
