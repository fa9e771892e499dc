// runners/backends/local/job.h — The processes of one job: torchrun, or every rank by itself, each with its
// environment.
#pragma once

#include <filesystem>
#include <vector>

#include "runners/backends/local/subject.h"
#include "runners/backends/process/launch.h"
#include "runners/backends/process/python.h"

namespace deadrank::runners {

struct JobPlace {
    std::filesystem::path directory;    // of this run
    std::filesystem::path hook;         // goes to PYTHONPATH
    int port = 0;                       // where the ranks meet
    std::string preload;                // before the ranks' libraries, by colon; empty = nothing
    std::filesystem::path kept;         // where it copies files before it changes them; empty = not at all
    std::string address = "127.0.0.1";  // and the host of that port
    std::string network;                // what hooks must know of their nodes' networks; empty = none
    std::string store;                  // what hooks must know of the proxy before the store; empty = none
};

std::vector<ChildSpec> children_of(const scenarios::Plan& plan, const Manifest& manifest,
                                   const Subject& subject, const Python& python, const JobPlace& place);

}  // namespace deadrank::runners
