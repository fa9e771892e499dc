// sim/machine/environment.h — What a process finds in its environment: the cluster's settings, the
// launcher's, and its own on top. Faults write the own ones, so they have the last word.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/machine/cluster_settings.h"
#include "sim/machine/process.h"

namespace deadrank::sim {

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
    // As the last process that nobody tampered with shows them: others differ in their ranks alone.
    struct Shown {
        int attempt = -1;
        Texts environment;
        std::string versions;
    };
    mutable Shown shown_;
};

void override_setting(std::vector<Tampering::Setting>& settings, std::string_view name,
                      std::optional<std::string> value);

// strtoll with base 0, whose end pointer nobody looks at: "abc" is 0 and "1O" is 1.
std::int64_t lax_integer(const std::string& text);

}  // namespace deadrank::sim
