// results/analysis/variables.cpp — Names are from the documentation of NCCL, PyTorch and gloo.
#include "results/analysis/variables.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "scenarios/model/text.h"

namespace deadrank::results::analysis {

namespace {

constexpr Variable variables[] = {
    {"RANK", Holds::rank, true},
    {"WORLD_SIZE", Holds::integer},
    {"LOCAL_RANK", Holds::rank, true},
    {"LOCAL_WORLD_SIZE", Holds::integer, true},
    {"GROUP_RANK", Holds::rank, true},
    {"GROUP_WORLD_SIZE", Holds::integer},
    {"ROLE_RANK", Holds::rank, true},
    {"ROLE_NAME", Holds::anything},
    {"ROLE_WORLD_SIZE", Holds::integer},
    {"MASTER_ADDR", Holds::anything},
    {"MASTER_PORT", Holds::port},
    {"CUDA_VISIBLE_DEVICES", Holds::anything, true},
    {"CUDA_DEVICE_MAX_CONNECTIONS", Holds::integer},
    {"NCCL_ALGO"},
    {"NCCL_BUFFSIZE", Holds::integer},
    {"NCCL_COMM_ID"},
    {"NCCL_CROSS_NIC", Holds::integer},
    {"NCCL_CUMEM_ENABLE", Holds::integer},
    {"NCCL_DEBUG"},
    {"NCCL_DEBUG_FILE", Holds::anything, true},
    {"NCCL_DEBUG_SUBSYS"},
    {"NCCL_IB_DISABLE", Holds::flag},
    {"NCCL_IB_GID_INDEX", Holds::integer},
    {"NCCL_IB_HCA"},
    {"NCCL_IB_RETRY_CNT", Holds::integer},
    {"NCCL_IB_TIMEOUT", Holds::integer},
    {"NCCL_LAUNCH_MODE"},
    {"NCCL_MAX_NCHANNELS", Holds::integer},
    {"NCCL_MIN_NCHANNELS", Holds::integer},
    {"NCCL_NET"},
    {"NCCL_NET_GDR_LEVEL"},
    {"NCCL_NET_PLUGIN"},
    {"NCCL_NSOCKS_PERTHREAD", Holds::integer},
    {"NCCL_NVLS_ENABLE", Holds::integer},
    {"NCCL_P2P_DISABLE", Holds::flag},
    {"NCCL_P2P_LEVEL"},
    {"NCCL_PROTO"},
    {"NCCL_SHM_DISABLE", Holds::flag},
    {"NCCL_SOCKET_FAMILY"},
    {"NCCL_SOCKET_IFNAME", Holds::interface},
    {"NCCL_SOCKET_NTHREADS", Holds::integer},
    {"NCCL_TOPO_FILE"},
    {"GLOO_SOCKET_IFNAME", Holds::interface},
    {"TORCH_DISTRIBUTED_DEBUG"},
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", Holds::integer},
    {"TORCH_NCCL_BLOCKING_WAIT", Holds::integer},
    {"TORCH_NCCL_TRACE_BUFFER_SIZE", Holds::integer},
    {"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", Holds::integer},
    {"TORCHELASTIC_RESTART_COUNT", Holds::integer},
    {"TORCHELASTIC_MAX_RESTARTS", Holds::integer},
    {"TORCHELASTIC_RUN_ID"},
    {"TORCHELASTIC_ERROR_FILE", Holds::anything, true},
    {"TORCHELASTIC_USE_AGENT_STORE"},
    {"OMP_NUM_THREADS", Holds::integer},
    {"DS_ACCELERATOR"},
};

bool is_integer(std::string_view value, std::int64_t& number) {
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return error == std::errc() && end == value.data() + value.size() && !value.empty();
}

}  // namespace

const Variable* known_variable(std::string_view name) {
    const auto found = std::find_if(std::begin(variables), std::end(variables),
                                    [&](const Variable& variable) { return variable.name == name; });
    return found == std::end(variables) ? nullptr : found;
}

std::string_view misspelled(std::string_view name) {
    if (known_variable(name) || name.size() < 8) return {};
    std::string_view nearest;
    std::size_t least = 3;  // two letters may be wrong, no more
    for (const Variable& variable : variables) {
        const std::size_t d = scenarios::edit_distance(name, variable.name);
        if (d < least) nearest = variable.name;
        least = std::min(least, d);
    }
    return nearest;
}

std::string objection(const Variable& variable, std::string_view value) {
    std::int64_t number = 0;
    const bool integer = is_integer(value, number);
    switch (variable.holds) {
        case Holds::anything:
            return {};
        case Holds::interface:
            if (value.starts_with("lo") || value.starts_with("=lo")) {
                return fmt::format("{}='{}' is the loopback, which no other host reaches", variable.name,
                                   value);
            }
            // A list of exclusions replaces the built-in one, which excludes the loopback.
            if (value.starts_with('^') && value.find("lo") == std::string_view::npos) {
                return fmt::format("{}='{}' lets the loopback be chosen", variable.name, value);
            }
            return {};
        case Holds::port:
            if (integer && number > 0 && number < 65'536) return {};
            return fmt::format("{}='{}' is not a port", variable.name, value);
        case Holds::flag:
        case Holds::integer:
        case Holds::rank:
            if (!integer) return fmt::format("{}='{}' is not a number", variable.name, value);
            if (variable.holds == Holds::rank && number < 0) {
                return fmt::format("{}={} is negative", variable.name, number);
            }
            return {};
    }
    return {};
}

std::ptrdiff_t devices_listed(std::string_view environment) {
    constexpr std::string_view name = "CUDA_VISIBLE_DEVICES=";
    const std::size_t at = environment.find(name);
    if (at == std::string_view::npos) return 0;
    const std::string_view list = environment.substr(at + name.size());
    return 1 + std::count(list.begin(), list.begin() + std::min(list.find('\n'), list.size()), ',');
}

}  // namespace deadrank::results::analysis
