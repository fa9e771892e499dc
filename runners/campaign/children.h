// runners/campaign/children.h — Runs pieces of work in forked children, so that one that crashes or hangs
// costs only itself. A child touches no MPI, no database and no terminal; it writes its answer to a pipe and
// exits.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners::campaign {

struct Ended {
    std::uint64_t number = 0;
    std::string answer;  // what it wrote
    int code = 0;
    int signal = 0;
    bool over_budget = false;  // we killed it
    double seconds = 0;

    bool well() const { return code == 0 && signal == 0 && !over_budget; }
};

class Children {
public:
    explicit Children(std::chrono::milliseconds budget) : budget_(budget) {}
    ~Children() { end_all(); }
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;

    // Errors: environment, when no process or pipe can be created.
    scenarios::Result<void> start(std::uint64_t number, const std::function<std::string()>& work);
    std::size_t running() const { return running_.size(); }

    // The children that ended; waits up to `patience` for the first one.
    std::vector<Ended> wait(std::chrono::milliseconds patience);
    void end_all();

private:
    struct Child {
        std::uint64_t number = 0;
        int pid = -1;
        std::string answer;
        std::chrono::steady_clock::time_point started;
    };
    void read(std::chrono::milliseconds patience, std::vector<Ended>& ended);
    void end_overdue(std::vector<Ended>& ended);
    static Ended reap(const Child& child);

    std::chrono::milliseconds budget_;
    std::map<int, Child> running_;  // by the pipe's descriptor
};

}  // namespace deadrank::runners::campaign
