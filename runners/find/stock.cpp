// runners/find/stock.cpp — A table of values for parameters that have no default, chosen so that the fault is
// not lost in the job's own noise.
#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "runners/find/knob.h"
#include "runners/find/passes.h"
#include "scenarios/model/kind_ids.h"

namespace deadrank::runners::find {

namespace {

using scenarios::FaultId;
using scenarios::FaultSpec;
using scenarios::Kind;
using scenarios::Parameter;
using scenarios::Value;
using scenarios::ValueType;

struct EffectiveValue {
    FaultId kind;
    std::string_view parameter, value;
};

// Required parameters, and optional ones that must be set for the fault to have an effect.
constexpr EffectiveValue effective_values[] = {
    {FaultId::break_package, "package", "nccl"},
    {FaultId::leak_memory, "bytes", "8GiB"},
    {FaultId::limit_host, "shared_memory", "1MiB"},
    {FaultId::limit_memory, "bytes", "1MiB"},
    {FaultId::reroot_collective, "to", "1"},
    {FaultId::set_env, "name", "NCCL_SOCKET_IFNAME"},
    {FaultId::set_env, "value", "ib9"},
    {FaultId::skew_version, "package", "nccl"},
    {FaultId::skew_version, "version", "2.19.3"},
    {FaultId::swap_operation, "to", "all_gather"},
    {FaultId::unset_env, "name", "RANK"},
    {FaultId::shift_clock, "by", "30s"},
    {FaultId::bend_value, "add", "1"},
    {FaultId::delay_collective, "by", "2s"},
    {FaultId::slow_rank, "factor", "4x"},
    {FaultId::throttle_device, "factor", "4x"},
    {FaultId::slow_link, "factor", "1000x"},
    {FaultId::lose_packets, "share", "20%"},
};

std::optional<Value> felt_value(const std::string& kind, const Parameter& parameter) {
    for (const EffectiveValue& one : effective_values) {
        if (kind != one.kind || one.parameter != parameter.name) continue;
        if (parameter.type == ValueType::text || parameter.type == ValueType::choice)
            return Value{.type = parameter.type, .text = std::string(one.value)};
        const auto value = scenarios::parse_value(parameter.type, one.value);
        if (value) return *value;
    }
    return default_of(parameter);
}

Aim aim_of(const Kind& kind) {
    if (kind.name == FaultId::swap_ranks) return Aim::two_ranks;
    for (const Parameter& parameter : kind.parameters) {
        if (parameter.type == ValueType::ranks) return Aim::rank;
        if (parameter.type == ValueType::nodes) return Aim::node;
    }
    return Aim::job;
}

// The workload's words that a parameter may name: its seams or its blocks.
const std::vector<std::string>* words_for(const Parameter& parameter, const Kind& workload) {
    if (parameter.name == "seam" || parameter.name == "checks") return &workload.seams;
    if (parameter.name == "block") return &workload.blocks;
    return nullptr;
}

void add_kind(Stock& stock, const Kind& kind, const Kind& workload) {
    Stocked stocked{.label = kind.name, .fault = {.kind = kind.name}, .aim = aim_of(kind)};
    stocked.at_start = kind.at_start;
    const Parameter* unbound = nullptr;
    for (const Parameter& parameter : kind.parameters) {
        if (parameter.type == ValueType::ranks || parameter.type == ValueType::nodes) continue;
        if (words_for(parameter, workload)) {
            unbound = &parameter;
            continue;
        }
        auto value = felt_value(kind.name, parameter);
        if (value) {
            stocked.fault.parameters.emplace(parameter.name, std::move(*value));
        } else if (!parameter.optional) {
            stock.left_out.push_back(
                fmt::format("{}: no usual value is known for '{}'", kind.name, parameter.name));
            return;
        }
    }
    if (!unbound) return stock.faults.push_back(std::move(stocked));
    for (const std::string& word : *words_for(*unbound, workload)) {
        Stocked one = stocked;
        one.label = fmt::format("{} {}", kind.name, word);
        one.fault.parameters[unbound->name] = {.type = ValueType::text, .text = word};
        stock.faults.push_back(std::move(one));
    }
}

}  // namespace

Stock stock_of(const scenarios::Vocabulary& words, const Kind& workload) {
    Stock stock;
    for (const Kind& kind : words.faults) add_kind(stock, kind, workload);
    return stock;
}

FaultSpec aimed(const Stocked& stocked, std::int64_t rank, const scenarios::Trigger& when,
                const scenarios::Plan& plan) {
    FaultSpec fault = stocked.fault;
    const auto place = [&](const char* name, ValueType type, std::vector<std::int64_t> list) {
        std::sort(list.begin(), list.end());
        fault.parameters[name] = {.type = type, .list = std::move(list)};
    };
    const std::int64_t ranks = plan.world_size();
    if (stocked.aim == Aim::rank) place("rank", ValueType::ranks, {rank});
    if (stocked.aim == Aim::two_ranks) place("rank", ValueType::ranks, {rank, (rank + 1) % ranks});
    if (stocked.aim == Aim::node)
        place("node", ValueType::nodes, {rank / plan.number(plan.cluster, "gpus_per_node")});
    fault.when = when;
    if (!stocked.at_start) return fault;
    fault.when = {};
    fault.when.at_start = true;
    return fault;
}

}  // namespace deadrank::runners::find
