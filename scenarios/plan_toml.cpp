// scenarios/plan_toml.cpp — Writes a plan: every value stated, in one order, so that equal plans are equal
// bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "scenarios/plan.h"
#include "scenarios/quote.h"

namespace deadrank::scenarios {

namespace {

std::string duration(std::int64_t nanoseconds) {
    return toml_text(value_text({.type = ValueType::duration, .number = nanoseconds}));
}

std::string literal(const Value& value) {
    switch (value.type) {
        case ValueType::boolean:
        case ValueType::integer:
        case ValueType::table:
            return value_text(value);
        case ValueType::ranks:
        case ValueType::nodes:
            return fmt::format("[{}]", value_text(value));
        default:
            return toml_text(value_text(value));
    }
}

std::string rows(const Values& values) {
    std::string out;
    for (const auto& [name, value] : values) out += fmt::format("{} = {}\n", name, literal(value));
    return out;
}

std::string trigger_literal(const Trigger& when) {
    std::vector<std::string> parts;
    if (when.at_start) parts.push_back("start = true");
    if (when.at >= 0) parts.push_back("at = " + duration(when.at));
    if (when.step >= 0) parts.push_back(fmt::format("step = {}", when.step));
    if (!when.phase.empty()) parts.push_back("phase = " + toml_text(when.phase));
    if (!when.before.empty()) parts.push_back("before = " + toml_text(when.before));
    if (!when.comm.empty()) parts.push_back("comm = " + toml_text(when.comm));
    if (when.nth != 1) parts.push_back(fmt::format("nth = {}", when.nth));
    if (when.always) parts.push_back("always = true");
    if (when.until_step >= 0) parts.push_back(fmt::format("until_step = {}", when.until_step));
    if (when.lasts >= 0) parts.push_back("lasts = " + duration(when.lasts));
    return parts.empty() ? "{}" : fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

std::string head(const Plan& plan) {
    return fmt::format(
        "# Plan of {}, seed {}: nothing is left to chance. Replay it with `deadrank replay FILE`.\n"
        "format = 1\nbackends = {}\n\n"
        "[plan]\nscenario = {}\nscenario_digest = {}\nseed = \"{}\"\nvariant = {}\n",
        in_one_line(plan.scenario), plan.seed.number, toml_list(plan.backends), toml_text(plan.scenario),
        toml_text(plan.scenario_digest), plan.seed.number, toml_text(variant_name(plan.variant)));
}

std::string bug_table(const Bug& bug) {
    return fmt::format("\n[bug]\nstage = {}\nsymptom = {}\ncause = {}\nfix = {}\nreplays = {}\n",
                       toml_text(bug.stage), toml_text(bug.symptom), toml_text(bug.cause), toml_text(bug.fix),
                       toml_list(bug.replays));
}

std::string expect_table(const Expectation& expect) {
    std::string out = fmt::format("\n[expect]\nsymptom = {}\nblames = {}\n", toml_text(expect.symptom),
                                  toml_list(expect.blames));
    if (!expect.ranks.empty()) out += fmt::format("ranks = [{}]\n", fmt::join(expect.ranks, ", "));
    if (expect.step) out += fmt::format("step = {}\n", *expect.step);
    out += fmt::format("within = {}\nalso = {}\nreaction = {}\n", duration(expect.within),
                       toml_list(expect.also), toml_text(expect.reaction));
    if (expect.recovers_within >= 0)
        out += fmt::format("recovers_within = {}\n", duration(expect.recovers_within));
    if (!expect.unseen.empty()) out += fmt::format("unseen = {}\n", toml_text(expect.unseen));
    return out;
}

}  // namespace

std::string to_toml(const Plan& plan) {
    std::string out = head(plan) + bug_table(plan.bug) + "\n[cluster]\n" + rows(plan.cluster);
    out += fmt::format("\n[workload]\nkind = {}\n", toml_text(plan.workload_kind)) + rows(plan.workload);
    for (const FaultSpec& fault : plan.faults) {
        out += fmt::format("\n[[fault]]\nkind = {}\n", toml_text(fault.kind)) + rows(fault.parameters);
        out += fmt::format("when = {}\n", trigger_literal(fault.when));
    }
    return out + expect_table(plan.expect);
}

std::string digest(const Plan& plan) {
    const std::string text = to_toml(plan);
    return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace deadrank::scenarios
