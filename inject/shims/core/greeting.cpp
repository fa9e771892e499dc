// inject/shims/core/greeting.cpp — Of the environment only what steers such jobs: the rest is the user's.
#include "inject/shims/core/greeting.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

extern char** environ;

namespace deadrank::inject::shims {

namespace {

bool is_telling(std::string_view setting) {
    for (const char* start :
         {"NCCL_", "CUDA_VISIBLE", "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "OMPI_COMM_WORLD_", "OMPI_MCA_"}) {
        if (setting.starts_with(start)) return true;
    }
    return false;
}

std::string telling_environment() {
    std::string lines;
    for (char** one = environ; one && *one; ++one) {
        if (is_telling(*one)) lines += (lines.empty() ? "" : "\n") + std::string(*one);
    }
    return lines;
}

}  // namespace

void greet_rank(RankSession& rank, const std::string& versions, const char* local_rank) {
    if (!rank.evidence.open() || !rank.evidence.empty()) return;
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    const char* local = std::getenv(local_rank);
    Line line("rank.start", rank.rank);
    line.add("pid", ::getpid()).add("node", 0).add("gpu", local ? std::atoi(local) : 0).add("host", host);
    line.add("versions", versions).add("environment", telling_environment());
    rank.evidence.write(line);
}

std::string members_text(int ranks) { return ranks > 1 ? "0-" + std::to_string(ranks - 1) : "0"; }

}  // namespace deadrank::inject::shims
