// scenarios/format/plan_file.cpp — A plan as TOML, there and back.
#include "scenarios/format/plan_file.h"

#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "scenarios/format/closing.h"
#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/plan.h"
#include "scenarios/model/toml_text.h"

namespace deadrank::scenarios {

// ── Writes a plan: every value stated, in one order, so that equal plans are equal bytes.

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
    const std::string table = fmt::format(
        "\n[bug]\nstage = {}\nsymptom = {}\ncause = {}\nfix = {}\nreplays = {}\n", toml_text(bug.stage),
        toml_text(bug.symptom), toml_text(bug.cause), toml_text(bug.fix), toml_list(bug.replays));
    return bug.per_rank.empty() ? table : table + fmt::format("per_rank = {}\n", toml_text(bug.per_rank));
}

std::string expect_table(const Expectation& expect) {
    const std::string symptom = expect.silent()               ? toml_text(no_symptom)
                                : expect.alternatives.empty() ? toml_text(expect.symptom)
                                                              : toml_list(expect.symptoms());
    std::string out =
        fmt::format("\n[expect]\nsymptom = {}\nblames = {}\n", symptom, toml_list(words_of(expect.blames)));
    if (!expect.ranks.empty()) out += fmt::format("ranks = [{}]\n", fmt::join(expect.ranks, ", "));
    if (expect.step) out += fmt::format("step = {}\n", *expect.step);
    out += fmt::format("within = {}\nalso = {}\nreaction = {}\n", toml_duration(expect.within),
                       toml_list(expect.also), toml_text(enum_name(expect.reaction)));
    if (expect.recovers_within >= 0)
        out += fmt::format("recovers_within = {}\n", toml_duration(expect.recovers_within));
    if (!expect.unseen.empty()) out += fmt::format("unseen = {}\n", toml_text(expect.unseen));
    if (!expect.because.empty()) out += "[expect.because]\n";
    for (const auto& [field, why] : expect.because) out += fmt::format("{} = {}\n", field, toml_text(why));
    return out;
}

}  // namespace

std::string to_toml(const Plan& plan) {
    std::string out = head(plan) + bug_table(plan.bug) + "\n[cluster]\n" + toml_rows(plan.cluster);
    out += fmt::format("\n[workload]\nkind = {}\n", toml_text(plan.workload_kind)) + toml_rows(plan.workload);
    for (const FaultSpec& fault : plan.faults) {
        out += fmt::format("\n[[fault]]\nkind = {}\n", toml_text(fault.kind)) + toml_rows(fault.parameters);
        if (fault.provokes) out += "provokes = true\n";
        if (fault.hardware) out += "hardware = true\n";
        out += fmt::format("when = {}\n", toml_trigger(fault.when));
    }
    return out + expect_table(plan.expect);
}

std::string digest(const Plan& plan) {
    const std::string text = to_toml(plan);
    return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

// ── Reads a plan back, even one that was edited: what a scenario may leave open is refused here.

namespace {

Values concrete(const Settings& settings, Problems& problems) {
    Values values;
    for (const auto& [name, setting] : settings) {
        if (setting.options.size() == 1) {
            values.emplace(name, setting.options.front());
        } else if (!setting.options.empty() || setting.range || !setting.selector.empty()) {
            problems.add(setting.place, fmt::format("'{}' is left to chance", name),
                         "a plan states one value");
        }
    }
    return values;
}

// A setting with a default must be stated all the same: defaults may change, a plan may not.
void check_stated(const Values& values, const std::vector<Parameter>& parameters, const Place& place,
                  std::string_view where, Problems& problems) {
    for (const Parameter& parameter : parameters) {
        if (parameter.optional || parameter.fallback.empty() || values.count(parameter.name) > 0) continue;
        problems.add(place, fmt::format("{} lacks '{}'", where, parameter.name),
                     fmt::format("a plan states every value; the default is {}", parameter.fallback));
    }
}

std::uint64_t read_seed(Reader& reader) {
    const Node* node = reader.find("seed");
    std::uint64_t number = 0;
    if (node) {
        const char* const end = node->text.data() + node->text.size();
        const auto [rest, error] = std::from_chars(node->text.data(), end, number);
        if (error == std::errc() && rest == end) return number;
    }
    reader.problems().add(node ? node->place : reader.node().place, "[plan] lacks a seed from 0 to 2^64 - 1",
                          "add seed = 1");
    return 0;
}

Variant read_variant(Reader& reader) {
    std::vector<std::string> names;
    const Variant all[] = {Variant::fault, Variant::control, Variant::healed};
    for (const Variant one : all) names.emplace_back(variant_name(one));
    const std::string name = reader.one_of("variant", names, names.front());
    for (const Variant one : all) {
        if (name == variant_name(one)) return one;
    }
    return Variant::fault;
}

void read_head(Reader& top, Plan& plan) {
    const Node* table = top.table("plan");
    if (!table) {
        top.problems().add(top.node().place, "there is no [plan]",
                           "a scenario becomes a plan by `deadrank replay plan SCENARIO --seed N`");
        return;
    }
    Reader reader(*table, "[plan]", top.problems());
    plan.scenario = reader.required_text("scenario");
    plan.scenario_digest = reader.text("scenario_digest");
    plan.seed.number = read_seed(reader);
    plan.variant = read_variant(reader);
    reader.refuse_unknown_keys();
}

void read_plan_faults(Reader& top, Plan& plan, const Kind* workload, const Vocabulary& vocabulary) {
    for (const FaultSettings& fault : read_faults(top, vocabulary, workload)) {
        const Kind* kind = vocabulary.fault(fault.kind);
        if (!kind) continue;
        FaultSpec spec{fault.kind, concrete(fault.parameters, top.problems()),
                       trigger_of(concrete(fault.when.values, top.problems()), kind->at_start),
                       fault.provokes, fault.hardware};
        check_stated(spec.parameters, kind->parameters, fault.place, fault.kind, top.problems());
        plan.faults.push_back(std::move(spec));
    }
}

Plan read_plan(Reader& top, const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    Plan plan;
    read_format(top);
    read_head(top, plan);
    plan.bug = read_bug(top, taxonomy, {});
    plan.cluster = concrete(read_cluster(top), top.problems());
    check_stated(plan.cluster, cluster_parameters(), top.node().place, "[cluster]", top.problems());
    WorkloadSettings workload = read_workload(top, vocabulary, {});
    plan.workload_kind = workload.name;
    plan.workload = concrete(workload.settings, top.problems());
    if (workload.kind) {
        check_stated(plan.workload, workload.kind->parameters, top.node().place, "[workload]",
                     top.problems());
    }
    read_plan_faults(top, plan, workload.kind, vocabulary);
    const Bug healed{.symptom = ""};
    plan.expect = read_expectation(top, plan.variant == Variant::healed ? healed : plan.bug, taxonomy);
    plan.backends = read_backends(top);
    top.refuse_unknown_keys();
    return plan;
}

}  // namespace

Result<Plan> parse_plan(std::string_view toml, std::string_view name, const Taxonomy& taxonomy,
                        const Vocabulary& vocabulary) {
    const auto document = parse_document(toml, std::string(name));
    if (!document) return tl::unexpected(document.error());
    Problems problems;
    Reader top(*document, "a plan", problems);
    Plan plan = read_plan(top, taxonomy, vocabulary);
    if (!problems.empty()) return tl::unexpected(joined(problems.sorted()));
    auto found = contradiction(plan);
    if (!found && plan.variant != Variant::healed)
        found = needs_contradiction(plan, vocabulary, plan.workload);
    if (!found) found = phase_contradiction(plan, vocabulary);
    if (found) {
        return refuse(ErrorCode::bad_input, fmt::format("{}: {}", found->setting, found->what), found->remedy,
                      {std::string(name)});
    }
    return plan;
}

Result<Plan> load_plan(const std::filesystem::path& file, const Taxonomy& taxonomy,
                       const Vocabulary& vocabulary) {
    const auto text = read_text(file);
    if (!text) return tl::unexpected(text.error());
    return parse_plan(*text, file.string(), taxonomy, vocabulary);
}

// ── One form for each type, so that equal values are equal bytes.

std::string toml_duration(std::int64_t nanoseconds) {
    return toml_text(value_text({.type = ValueType::duration, .number = nanoseconds}));
}

std::string toml_literal(const Value& value) {
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

std::string toml_rows(const Values& values) {
    std::string out;
    for (const auto& [name, value] : values) out += fmt::format("{} = {}\n", name, toml_literal(value));
    return out;
}

std::string toml_trigger(const Trigger& when) {
    std::vector<std::string> parts;
    if (when.at_start) parts.push_back("start = true");
    if (when.at >= 0) parts.push_back("at = " + toml_duration(when.at));
    if (when.step >= 0) parts.push_back(fmt::format("step = {}", when.step));
    if (!when.phase.empty()) parts.push_back("phase = " + toml_text(when.phase));
    if (!when.before.empty()) parts.push_back("before = " + toml_text(when.before));
    if (!when.comm.empty()) parts.push_back("comm = " + toml_text(when.comm));
    if (when.nth != 1) parts.push_back(fmt::format("nth = {}", when.nth));
    if (when.always) parts.push_back("always = true");
    if (when.until_step >= 0) parts.push_back(fmt::format("until_step = {}", when.until_step));
    if (when.lasts >= 0) parts.push_back("lasts = " + toml_duration(when.lasts));
    return parts.empty() ? "{}" : fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

}  // namespace deadrank::scenarios
