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

void take(NcclSettings& settings, const Interface& chosen) {
    settings.interface = chosen.name;
    settings.reaches_peers = chosen.routable;
    settings.interface_bandwidth = chosen.bandwidth;
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
    take(settings, *chosen);
}

void take_loopback(NcclSettings& settings, std::string address) {
    take(settings, {"lo", false});
    settings.loopback = std::move(address);
}

// gloo takes one interface by its whole name; without a name the one that its host's name leads to. Where
// that name leads nowhere, torch says so and takes the loopback; where it leads to the loopback, as
// /etc/hosts of Debian has it, nobody says anything.
void choose_gloo_interface(NcclSettings& settings, const std::vector<Interface>& offered,
                           const std::optional<std::string>& wish, NameTrouble own_name) {
    const bool named = wish && !wish->empty();
    if (!named && own_name != NameTrouble::none) {
        settings.falls_back = own_name != NameTrouble::loopback;
        return take_loopback(settings, settings.falls_back ? "127.0.0.1" : "127.0.1.1");
    }
    if (named && *wish == "lo" && std::any_of(offered.begin(), offered.end(), [](const Interface& one) {
            return one.name == "lo" && !one.routable;
        }))
        return take_loopback(settings, "127.0.0.1");
    const auto chosen = std::find_if(offered.begin(), offered.end(), [&](const Interface& candidate) {
        return named ? candidate.name == *wish : candidate.routable;
    });
    if (chosen != offered.end()) return take(settings, *chosen);
    if (!named && !offered.empty()) return take(settings, offered.front());
    fail(settings, Code::system_error, "device.cc:84", "ifa != nullptr");
    settings.raises = fmt::format(
        "RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:84] ifa != "
        "nullptr. Unable to find address for: {}",
        named ? *wish : "the host's name");
}

// Cards are mlx5_0, mlx5_1, …; a filter that leaves none is no error: sockets are taken instead.
void choose_cards(NcclSettings& settings, const Topology& topology, const std::string& filter) {
    std::string names;  // without ports: mlx5_0:1 is mlx5_0
    for (const std::string& entry : split_at(filter, ','))
        names += (names.empty() ? "" : ",") + entry.substr(0, entry.find(':'));
    for (int card = 0; card < topology.cards(); ++card) {
        if (matches(fmt::format("mlx5_{}", card), names)) settings.cards.push_back(card);
    }
    settings.socket_transport |= settings.cards.empty();
}

// NCCL_NET_GDR_LEVEL: LOC, or 0 as it was counted once, lets no card reach a device. Other levels do here.
void read_direct_access(NcclSettings& settings, const std::optional<std::string>& level,
                        const std::optional<std::string>& read) {
    const bool none = level && (*level == "LOC" || *level == "0");
    const bool one_way = read && *read == "0";
    if (settings.direct == results::DirectAccess::copied || (!none && !one_way)) return;
    settings.copies_for = none ? "NCCL_NET_GDR_LEVEL" : "NCCL_NET_GDR_READ";
    if (none) settings.direct = results::DirectAccess::copied;
    settings.sends_copies = one_way;
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

// Shares are our assumption: reports have anything from a third to two thirds.
std::int64_t NcclSettings::own_permille(std::int64_t link_bandwidth) const {
    constexpr std::int64_t copied_permille = 500, one_way_permille = 700;
    if (socket_transport) {
        if (interface_bandwidth <= 0) return 1000;
        return std::clamp<std::int64_t>(
            interface_bandwidth / std::max<std::int64_t>(link_bandwidth / 1000, 1), 1, 1000);
    }
    if (direct == results::DirectAccess::copied) return copied_permille;
    return sends_copies ? one_way_permille : 1000;
}

int NcclSettings::card_for(int local, const Topology& topology) const {
    const int own = topology.card_of(local);
    if (cards.empty() || std::binary_search(cards.begin(), cards.end(), own)) return own;
    return cards[static_cast<std::size_t>(local) % cards.size()];
}

std::string NcclSettings::transport_inside() const { return through_shared ? "SHM" : "NVLink"; }

std::string NcclSettings::transport() const {
    if (socket_transport) return fmt::format("NET/Socket over {}", interface);
    if (direct != results::DirectAccess::copied && !sends_copies) return "NET/IB";
    return fmt::format("NET/IB copied through host memory{}{}", copies_for.empty() ? "" : " for ",
                       copies_for);
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

NcclSettings read_nccl_settings(const Fabric& machine, const Process& process, bool over_gloo) {
    NcclSettings settings;
    check_driver(settings, machine.environment.version(process, "cuda"),
                 machine.environment.version(process, "driver"));
    const auto get = [&](std::string_view name) { return machine.environment.get(process, name); };
    settings.version = nccl_version_code(machine.environment.version(process, "nccl"));
    settings.network_chunk = network_chunk(get("NCCL_BUFFSIZE"), settings.version);
    const std::string debug = get("NCCL_DEBUG").value_or("");
    settings.informs = debug == "INFO" || debug == "TRACE";
    settings.warns = settings.informs || debug == "WARN";
    const HostState& host = machine.hosts[process.node];
    if (over_gloo)
        choose_gloo_interface(settings, host.interfaces, get("GLOO_SOCKET_IFNAME"),
                              trouble_with(process, machine.topology.host_name(process.node)));
    else
        choose_interface(settings, host.interfaces, get("NCCL_SOCKET_IFNAME"));
    if (const auto address = get("NCCL_COMM_ID")) read_root_address(settings, *address);
    if (const auto algorithm = get("NCCL_ALGO")) read_algorithm(settings, *algorithm);
    if (const auto channels = get("NCCL_MAX_NCHANNELS")) settings.channels_max = lax_integer(*channels);
    if (const auto timeout = get("NCCL_IB_TIMEOUT")) settings.ib_timeout = lax_integer(*timeout);
    if (const auto retries = get("NCCL_IB_RETRY_CNT")) settings.ib_retries = lax_integer(*retries);
    settings.socket_transport = !machine.settings.rdma;
    if (const auto cards = get("NCCL_IB_HCA")) choose_cards(settings, machine.topology, *cards);
    if (const auto disabled = get("NCCL_IB_DISABLE"))
        settings.socket_transport |= lax_integer(*disabled) != 0;
    if (const auto disabled = get("NCCL_P2P_DISABLE")) settings.through_shared = lax_integer(*disabled) != 0;
    settings.through_shared |= get("NCCL_P2P_LEVEL").value_or("") == "LOC";
    settings.peers_stuck = host.peers_stuck && !settings.through_shared;
    if (const auto index = get("NCCL_IB_GID_INDEX")) settings.gid_index = lax_integer(*index);
    settings.direct = host.direct;
    read_direct_access(settings, get("NCCL_NET_GDR_LEVEL"), get("NCCL_NET_GDR_READ"));
    if (const auto net = get("NCCL_NET")) {
        if (*net == "Socket") settings.socket_transport = true;
        const bool without = *net == "IB" && settings.socket_transport;
        if ((*net != "Socket" && *net != "IB") || without) {
            fail(settings, Code::invalid_usage, "plugin/net.cc:285", "Failed to initialize any NET plugin");
        }
    }
    // gloo's pairs are plain TCP, which sends again for as long as it takes.
    settings.gives_up = !over_gloo;
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
