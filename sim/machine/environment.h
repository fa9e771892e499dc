// sim/machine/environment.h — What a process finds when it starts: environment variables, and packages that
// may be missing, broken or of the wrong kind.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/machine/cluster_settings.h"
#include "sim/machine/processes.h"

namespace deadrank::sim {

// What a process finds in its environment: the cluster's settings, the launcher's, and its own on top. Faults
// write the process's own, so they take precedence.
class Environment {
public:
    explicit Environment(const ClusterSettings& settings);

    std::optional<std::string> get(const Process& process, std::string_view name) const;
    std::string version(const Process& process, std::string_view package) const;  // empty = not installed
    // The cluster has it, and this process does not find it.
    bool misses(const Process& process, std::string_view package) const;

    // Fewer ranks than the launcher began with, and the host where they look for each other.
    void set_world(Rank ranks, std::string master);

    // "NAME=value" lines sorted by name, and "name=version" lines, as the evidence shows them.
    std::string lines(const Process& process, int attempt) const;
    std::string version_lines(const Process& process) const;

private:
    using Texts = std::map<std::string, std::string, std::less<>>;
    using Packages = std::vector<std::pair<std::string, std::string>>;  // few, so that each is looked at

    std::optional<std::string> from_launcher(const Process& process, std::string_view name) const;
    std::optional<std::string> from_slurm(const Process& process, std::string_view name) const;
    std::optional<std::string> from_agent(const Process& process, std::string_view name) const;
    Texts all(const Process& process) const;

    const std::string* installed(std::string_view package) const;  // by the cluster; nullptr: not at all

    const ClusterSettings& settings_;
    Rank ranks_ = 0;
    std::string master_ = "node0";
    const Texts told_;         // the cluster's, found without a copy of the name
    const Packages versions_;  // by name
    // As processes that no fault has changed show them: they differ in their places alone, which come between
    // these pieces.
    struct Shown {
        int attempt = -1, restart_count = 0;
        std::vector<std::string> environment;
        std::string versions;
    };
    void show(const Process& process, int attempt) const;
    mutable Shown shown_;
};

void override_setting(std::vector<Tampering::Setting>& settings, std::string_view name,
                      std::optional<std::string> value);

// strtoll with base 0, whose end pointer is ignored: "abc" is 0 and "1O" is 1.
std::int64_t lax_integer(const std::string& text);

struct Machine;
struct Process;

// What a process imports before its script runs: packages that are missing, broken or of the wrong kind end
// it there.
// Throws RankFailure with the traceback's last line; a package.load event says what was looked for.
void load_packages(Machine& machine, Process& process);

}  // namespace deadrank::sim
