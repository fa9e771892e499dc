// sim/machine/environment.h — What a process finds when it starts: environment variables, and packages that
// may be missing, broken or of the wrong kind.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

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

    // "NAME=value" lines sorted by name, and "name=version" lines, as the evidence shows them.
    std::string lines(const Process& process, int attempt) const;
    std::string version_lines(const Process& process) const;

private:
    using Texts = std::map<std::string, std::string, std::less<>>;

    std::optional<std::string> from_launcher(const Process& process, std::string_view name) const;
    Texts all(const Process& process, int attempt) const;

    const ClusterSettings& settings_;
    const Texts told_, versions_;  // the cluster's, found without a copy of the name
    // As the last process that no fault has changed shows them: others differ in their ranks alone.
    struct Shown {
        int attempt = -1;
        Texts environment;
        std::string versions;
    };
    mutable Shown shown_;
};

void override_setting(std::vector<Tampering::Setting>& settings, std::string_view name,
                      std::optional<std::string> value);

// strtoll with base 0, whose end pointer is ignored: "abc" is 0 and "1O" is 1.
std::int64_t lax_integer(const std::string& text);

// What a process imports before its script runs: packages that are missing, broken or of the wrong kind end
// it there.

struct Machine;
struct Process;

// Throws RankFailure with the traceback's last line; a package.load event says what was looked for.
void load_packages(Machine& machine, Process& process);

}  // namespace deadrank::sim
