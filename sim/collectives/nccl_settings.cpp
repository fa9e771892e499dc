// sim/collectives/nccl_settings.cpp — Facts: param.cc, socket.cc and tuning of NCCL 2.28, run with the stock
// library.
#include "sim/collectives/nccl_settings.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "sim/collectives/fabric.h"
#include "sim/machine/environment.h"

namespace deadrank::sim {

namespace {

using results::Code;
using results::Time;

std::vector<std::string> split_at(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char letter : text) {
        if (letter == separator) {
            parts.emplace_back();
        } else {
            parts.back() += letter;
        }
    }
    return parts;
}

void fail(NcclSettings& settings, Code code, std::string where, std::string problem) {
    if (!settings.problem.empty()) return;
    settings.problem = std::move(problem);
    settings.where = std::move(where);
    settings.problem_code = code;
}

bool known_algorithm(const std::string& name) {
    static constexpr std::string_view names[] = {"tree",     "ring", "collnetdirect", "collnetchain", "nvls",
                                                 "nvlstree", "pat"};
    std::string low = name;
    std::transform(low.begin(), low.end(), low.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    return std::find(std::begin(names), std::end(names), low) != std::end(names);
}

void read_algorithm(NcclSettings& settings, const std::string& text) {
    const std::string list = text.starts_with('^') ? text.substr(1) : text;
    for (const std::string& element : split_at(list, ',')) {
        if (known_algorithm(element)) continue;
        return fail(settings, Code::invalid_usage, "tuning.cc:88",
                    fmt::format("Unrecognized element token \"{}\" when parsing \"{}\"", element, text));
    }
    if (text.size() == 4 && (text[0] == 'T' || text[0] == 't')) settings.algorithm = Algorithm::tree;
    if (text.size() == 4 && (text[0] == 'R' || text[0] == 'r')) settings.algorithm = Algorithm::ring;
}

// "eth,ib" are prefixes, "=eth0" is exact, "^docker" is anything but.
bool matches(const std::string& interface, const std::string& pattern) {
    const bool negated = pattern.starts_with('^');
    std::string list = negated ? pattern.substr(1) : pattern;
    const bool exact = list.starts_with('=');
    if (exact) list = list.substr(1);
    const auto parts = split_at(list, ',');
    const bool any = std::any_of(parts.begin(), parts.end(), [&](const std::string& p) {
        return exact ? interface == p : interface.starts_with(p);
    });
    return any != negated;
}

// Without a preference: ib first, then anything but docker and lo, then docker, then lo.
int preference(const std::string& name) {
    if (name.starts_with("ib")) return 0;
    if (name.starts_with("docker")) return 2;
    return name.starts_with("lo") ? 3 : 1;
}

void choose_interface(NcclSettings& settings, const std::vector<Interface>& offered,
                      const std::optional<std::string>& wish) {
    const Interface* chosen = nullptr;
    for (const Interface& candidate : offered) {
        if (wish && !wish->empty() ? !matches(candidate.name, *wish) : false) continue;
        const bool by_order = wish && !wish->empty();
        if (!chosen || (!by_order && preference(candidate.name) < preference(chosen->name)))
            chosen = &candidate;
    }
    if (!chosen)
        return fail(settings, Code::invalid_usage, "bootstrap.cc:116",
                    "Bootstrap : no socket interface found");
    settings.interface = chosen->name;
    settings.reaches_peers = chosen->routable;
}

void read_root_address(NcclSettings& settings, const std::string& address) {
    settings.root_address = address;
    const auto colon = address.rfind(':');
    if (colon != std::string::npos && lax_integer(address.substr(colon + 1)) > 0) return;
    fail(settings, Code::system_error, "misc/socket.cc:582",
         fmt::format("ncclSocketConnect: connect to {}<0> returned Connection refused, exceeded error retry "
                     "count after 35 attempts",
                     address.substr(0, colon)));
    settings.problem_after = Time{59'500'000'000};
}

// The oldest driver that each major release of CUDA runs on.
void check_driver(NcclSettings& settings, const std::string& cuda, const std::string& driver) {
    const std::int64_t release = lax_integer(cuda);
    const std::int64_t needed = release >= 13 ? 580 : release == 12 ? 525 : release == 11 ? 450 : 0;
    if (driver.empty() || lax_integer(driver) >= needed) return;
    fail(settings, Code::unhandled_device_error, "init.cc:405",
         "Cuda failure 35 'CUDA driver version is insufficient for CUDA runtime version'");
}

}  // namespace

Time NcclSettings::retry_window() const {
    if (!gives_up || socket_transport || ib_timeout <= 0 || ib_timeout > 31) return results::never;
    return Time(4096) * (std::int64_t{1} << ib_timeout) * std::clamp<std::int64_t>(ib_retries + 1, 1, 8);
}

namespace {

// NCCL_BUFFSIZE cut into its eight steps, or the release's own size. The two sizes are those of a public
// report of skewed releases; at which release the border lies is our assumption.
std::int64_t network_chunk(const std::optional<std::string>& buffer, int version) {
    constexpr std::int64_t buffer_steps = 8;
    if (buffer && lax_integer(*buffer) > 0) return lax_integer(*buffer) / buffer_steps;
    return version > 0 && version < 21900 ? 64 << 10 : 512 << 10;
}

}  // namespace

NcclSettings read_nccl_settings(const Fabric& machine, const Process& process) {
    NcclSettings settings;
    check_driver(settings, machine.environment.version(process, "cuda"),
                 machine.environment.version(process, "driver"));
    const auto get = [&](std::string_view name) { return machine.environment.get(process, name); };
    settings.version = nccl_version_code(machine.environment.version(process, "nccl"));
    settings.network_chunk = network_chunk(get("NCCL_BUFFSIZE"), settings.version);
    const std::string debug = get("NCCL_DEBUG").value_or("");
    settings.informs = debug == "INFO" || debug == "TRACE";
    settings.warns = settings.informs || debug == "WARN";
    choose_interface(settings, machine.hosts[process.node].interfaces, get("NCCL_SOCKET_IFNAME"));
    if (const auto address = get("NCCL_COMM_ID")) read_root_address(settings, *address);
    if (const auto algorithm = get("NCCL_ALGO")) read_algorithm(settings, *algorithm);
    if (const auto channels = get("NCCL_MAX_NCHANNELS")) settings.channels_max = lax_integer(*channels);
    if (const auto timeout = get("NCCL_IB_TIMEOUT")) settings.ib_timeout = lax_integer(*timeout);
    if (const auto retries = get("NCCL_IB_RETRY_CNT")) settings.ib_retries = lax_integer(*retries);
    if (const auto disabled = get("NCCL_IB_DISABLE")) settings.socket_transport = lax_integer(*disabled) != 0;
    if (const auto net = get("NCCL_NET")) {
        if (*net == "Socket") settings.socket_transport = true;
        const bool without = *net == "IB" && settings.socket_transport;
        if ((*net != "Socket" && *net != "IB") || without) {
            fail(settings, Code::invalid_usage, "plugin/net.cc:285", "Failed to initialize any NET plugin");
        }
    }
    // gloo's pairs are plain TCP, which sends again for as long as it takes.
    settings.gives_up = machine.settings.library == LibraryKind::nccl;
    return settings;
}

int nccl_version_code(const std::string& version) {
    const auto parts = split_at(version, '.');
    if (parts.size() < 2) return 0;
    const auto number = [&](std::size_t i) {
        return i < parts.size() ? static_cast<int>(lax_integer(parts[i])) : 0;
    };
    return number(0) * 10000 + number(1) * 100 + number(2);
}

}  // namespace deadrank::sim
