// scenarios/model/plan.cpp — Small questions asked of plans and faults.
#include "scenarios/model/plan.h"

#include "scenarios/model/check.h"

namespace deadrank::scenarios {

std::vector<std::int64_t> FaultSpec::ranks() const {
    const auto found = parameters.find("rank");
    return found == parameters.end() ? std::vector<std::int64_t>{} : found->second.list;
}

std::int64_t FaultSpec::number(std::string_view name, std::int64_t otherwise) const {
    const auto found = parameters.find(std::string(name));
    return found == parameters.end() ? otherwise : found->second.number;
}

std::string FaultSpec::text(std::string_view name, std::string otherwise) const {
    const auto found = parameters.find(std::string(name));
    return found == parameters.end() ? std::move(otherwise) : found->second.text;
}

std::string_view variant_name(Variant variant) {
    switch (variant) {
        case Variant::fault:
            return "fault";
        case Variant::control:
            return "control";
        case Variant::healed:
            return "healed";
    }
    return "fault";
}

std::int64_t Plan::world_size() const {
    const auto ranks = cluster.find("ranks");
    if (ranks != cluster.end() && ranks->second.number > 0) return ranks->second.number;
    return number(cluster, "nodes") * number(cluster, "gpus_per_node");
}

std::int64_t Plan::number(const Values& values, std::string_view name) const {
    const auto found = values.find(std::string(name));
    CHECK(found != values.end());
    return found->second.number;
}

std::int64_t cluster_number(const Plan& plan, const std::string& name, std::int64_t otherwise) {
    const auto found = plan.cluster.find(name);
    return found == plan.cluster.end() ? otherwise : found->second.number;
}

bool starts_bare(const Plan& plan) {
    const auto stated = plan.cluster.find("launcher");
    return stated != plan.cluster.end() && stated->second.text == "bare";
}

}  // namespace deadrank::scenarios
