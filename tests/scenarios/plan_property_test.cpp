// tests/scenarios/plan_property_test.cpp — Goal: any plan that can be built reads back, whatever its values
// and texts.
#include <gtest/gtest.h>

#include "scenarios/format/plan_file.h"
#include "tests/scenarios/sample.h"

#if __has_include(<rapidcheck.h>)
#include <rapidcheck.h>

namespace deadrank::tests {
namespace {

using scenarios::Parameter;
using scenarios::Plan;
using scenarios::Value;
using scenarios::ValueType;

rc::Gen<std::string> texts() { return rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)); }

// Any value of the parameter's type, within its bounds; degrees stay, for they must divide.
Value any_value(const Parameter& parameter, const Value& before) {
    Value value{.type = parameter.type};
    switch (parameter.type) {
        case ValueType::boolean:
            value.number = *rc::gen::inRange(0, 2);
            return value;
        case ValueType::text:
            value.text = *texts();
            return value;
        case ValueType::choice:
            value.text = *rc::gen::elementOf(parameter.choices);
            return value;
        case ValueType::table:
            value.table = *rc::gen::container<std::map<std::string, std::string>>(texts(), texts());
            return value;
        case ValueType::integer:
        case ValueType::ranks:
        case ValueType::nodes:
            return before;
        default:
            value.number = *rc::gen::inRange<std::int64_t>(
                std::max<std::int64_t>(parameter.least, -1'000'000'000'000), INT64_MAX);
            return value;
    }
}

void scatter(scenarios::Values& values, const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
        const auto found = values.find(parameter.name);
        if (found != values.end()) found->second = any_value(parameter, found->second);
    }
}

TEST(PlanProperty, EveryPlanReadsBack) {
    const auto vocabulary = sample_vocabulary();
    EXPECT_TRUE(rc::check([&] {
        SampleFile file;
        file.cluster = "environment = { A = \"1\" }\nnodes = [1, 2, 3]\n";
        file.more_faults = "[[fault]]\nkind = \"set_env\"\nrank = \"any\"\nname = \"A\"\nvalue = \"1\"\n";
        Plan plan = resolve_sample(file, *rc::gen::arbitrary<std::uint64_t>())->fault;
        scatter(plan.cluster, scenarios::cluster_parameters());
        scatter(plan.workload, vocabulary.workload(plan.workload_kind)->parameters);
        for (auto& fault : plan.faults) {
            scatter(fault.parameters, vocabulary.fault(fault.kind)->parameters);
            if (!fault.when.at_start) fault.when.comm = *texts();
            fault.when.lasts = *rc::gen::inRange<std::int64_t>(1, INT64_MAX);
        }
        plan.expect.within = *rc::gen::inRange<std::int64_t>(1, INT64_MAX);
        plan.expect.unseen = *texts();
        const auto back =
            scenarios::parse_plan(scenarios::to_toml(plan), "plan.toml", sample_taxonomy(), vocabulary);
        if (!back) RC_FAIL(back.error().text() + "\n" + scenarios::to_toml(plan));
        RC_ASSERT(*back == plan);
    }));
}

}  // namespace
}  // namespace deadrank::tests
#else
TEST(PlanProperty, IsChecked) { GTEST_SKIP() << "rapidcheck is not installed"; }
#endif
