// scenarios/format/plan_toml.cpp — Writes a plan: every value stated, in one order, so that equal plans are
// equal bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "scenarios/format/literal.h"
#include "scenarios/model/plan.h"
#include "scenarios/model/quote.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::scenarios {

namespace {

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
    out += fmt::format("within = {}\nalso = {}\nreaction = {}\n", toml_duration(expect.within),
                       toml_list(expect.also), toml_text(expect.reaction));
    if (expect.recovers_within >= 0)
        out += fmt::format("recovers_within = {}\n", toml_duration(expect.recovers_within));
    if (!expect.unseen.empty()) out += fmt::format("unseen = {}\n", toml_text(expect.unseen));
    return out;
}

}  // namespace

std::string to_toml(const Plan& plan) {
    std::string out = head(plan) + bug_table(plan.bug) + "\n[cluster]\n" + toml_rows(plan.cluster);
    out += fmt::format("\n[workload]\nkind = {}\n", toml_text(plan.workload_kind)) + toml_rows(plan.workload);
    for (const FaultSpec& fault : plan.faults) {
        out += fmt::format("\n[[fault]]\nkind = {}\n", toml_text(fault.kind)) + toml_rows(fault.parameters);
        out += fmt::format("when = {}\n", toml_trigger(fault.when));
    }
    return out + expect_table(plan.expect);
}

std::string digest(const Plan& plan) {
    const std::string text = to_toml(plan);
    return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace deadrank::scenarios
