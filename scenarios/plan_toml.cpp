// scenarios/plan_toml.cpp — A plan as TOML and back: the scenario's own format with every value stated, so
// the round trip is exact.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/parts.h"
#include "scenarios/plan.h"

namespace deadrank::scenarios {

namespace {

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            out += '\\';
            out += letter;
        } else if (letter == '\n') {
            out += "\\n";
        } else if (letter == '\t') {
            out += "\\t";
        } else if (code < 0x20 || code == 0x7f) {
            out += fmt::format("\\u{:04X}", code);
        } else {
            out += letter;
        }
    }
    return out + '"';
}

std::string texts_literal(const std::vector<std::string>& texts) {
    std::vector<std::string> parts;
    for (const std::string& text : texts) parts.push_back(in_quotes(text));
    return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string literal(const Value& value) {
    switch (value.type) {
        case ValueType::boolean:
        case ValueType::integer:
            return value_text(value);
        case ValueType::ranks:
        case ValueType::nodes:
            return fmt::format("[{}]", fmt::join(value.list, ", "));
        case ValueType::table: {
            std::string out = "{";
            for (const auto& [name, text] : value.table) {
                out += fmt::format("{} {} = {}", out.size() > 1 ? "," : "", in_quotes(name), in_quotes(text));
            }
            return out + (value.table.empty() ? "}" : " }");
        }
        default:
            return in_quotes(value_text(value));
    }
}

void write_values(std::string& out, const Values& values) {
    for (const auto& [name, value] : values) out += fmt::format("{} = {}\n", name, literal(value));
}

std::string trigger_text(const Trigger& when) {
    std::vector<std::string> parts;
    const auto duration = [](std::int64_t nanoseconds) {
        return in_quotes(value_text({.type = ValueType::duration, .number = nanoseconds}));
    };
    if (when.at_start) parts.push_back("start = true");
    if (when.at >= 0) parts.push_back("at = " + duration(when.at));
    if (when.step >= 0) parts.push_back(fmt::format("step = {}", when.step));
    if (!when.phase.empty()) parts.push_back("phase = " + in_quotes(when.phase));
    if (!when.before.empty()) parts.push_back("before = " + in_quotes(when.before));
    if (!when.comm.empty()) parts.push_back("comm = " + in_quotes(when.comm));
    parts.push_back(fmt::format("nth = {}", when.nth));
    if (when.always) parts.push_back("always = true");
    if (when.until_step >= 0) parts.push_back(fmt::format("until_step = {}", when.until_step));
    if (when.lasts >= 0) parts.push_back("lasts = " + duration(when.lasts));
    return fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

void write_expectation(std::string& out, const Expectation& expect) {
    const auto duration = [](std::int64_t nanoseconds) {
        return in_quotes(value_text({.type = ValueType::duration, .number = nanoseconds}));
    };
    out += fmt::format("\n[expect]\nsymptom = {}\nblames = {}\n", in_quotes(expect.symptom),
                       texts_literal(expect.blames));
    if (!expect.ranks.empty()) out += fmt::format("ranks = [{}]\n", fmt::join(expect.ranks, ", "));
    if (expect.step) out += fmt::format("step = {}\n", *expect.step);
    out += fmt::format("within = {}\nalso = {}\nreaction = {}\n", duration(expect.within),
                       texts_literal(expect.also), in_quotes(expect.reaction));
    if (expect.recovers_within >= 0)
        out += fmt::format("recovers_within = {}\n", duration(expect.recovers_within));
    if (!expect.unseen.empty()) out += fmt::format("unseen = {}\n", in_quotes(expect.unseen));
}

// A setting of a plan: one value, nothing to draw.
Values concrete(const Settings& settings, Problems& problems, const toml::node& at) {
    Values values;
    for (const auto& [name, setting] : settings) {
        if (setting.options.size() == 1) {
            values.emplace(name, setting.options.front());
        } else if (problems.empty()) {
            problems.add(at, fmt::format("'{}' is left to chance", name),
                         fmt::format("a plan states every value; resolve {} again", problems.file()));
        }
    }
    return values;
}

Trigger read_trigger(const Values& values) {
    Trigger when;
    const auto number = [&](const char* name, std::int64_t otherwise) {
        const auto found = values.find(name);
        return found == values.end() ? otherwise : found->second.number;
    };
    const auto text = [&](const char* name) {
        const auto found = values.find(name);
        return found == values.end() ? std::string() : found->second.text;
    };
    when.at_start = number("start", 0) != 0;
    when.at = number("at", -1);
    when.step = number("step", -1);
    when.phase = text("phase");
    when.before = text("before");
    when.comm = text("comm");
    when.nth = number("nth", 1);
    when.always = number("always", 0) != 0;
    when.until_step = number("until_step", -1);
    when.lasts = number("lasts", -1);
    return when;
}

void read_head(TomlReader& top, Plan& plan, const toml::table& file, Problems& problems) {
    if (top.integer("format", 0) != 1)
        problems.add(file, "the format is not stated", "begin the file with format = 1");
    const toml::table* head = top.table("plan");
    if (!head) {
        problems.add(file, "there is no [plan]",
                     "this looks like a scenario: `deadrank plan` resolves one into a plan");
        return;
    }
    TomlReader reader(*head, "plan", problems);
    plan.scenario = reader.text("scenario", true);
    plan.scenario_digest = reader.text("scenario_digest");
    const std::string seed = reader.text("seed", true);
    if (auto number = parse_value(ValueType::integer, seed); number && number->number >= 0) {
        plan.seed.number = static_cast<std::uint64_t>(number->number);
    } else {
        problems.add(*head, fmt::format("seed '{}' is no number from 0", seed));
    }
    const std::string variant = reader.text("variant");
    for (const Variant known : {Variant::fault, Variant::control, Variant::healed}) {
        if (variant == variant_name(known)) plan.variant = known;
    }
    reader.refuse_the_rest();
}

}  // namespace

std::string to_toml(const Plan& plan) {
    std::string out = fmt::format(
        "# Plan of {}, seed {}: nothing is left to chance. Replay it with `deadrank replay FILE`.\nformat = "
        "1\n",
        plan.scenario, plan.seed.number);
    out += fmt::format("\n[plan]\nscenario = {}\nscenario_digest = {}\nseed = \"{}\"\nvariant = {}\n",
                       in_quotes(plan.scenario), in_quotes(plan.scenario_digest), plan.seed.number,
                       in_quotes(variant_name(plan.variant)));
    out += fmt::format("\n[bug]\nstage = {}\nsymptom = {}\ncause = {}\nfix = {}\nreplays = {}\n",
                       in_quotes(plan.bug.stage), in_quotes(plan.bug.symptom), in_quotes(plan.bug.cause),
                       in_quotes(plan.bug.fix), texts_literal(plan.bug.replays));
    out += "\n[cluster]\n";
    write_values(out, plan.cluster);
    out += fmt::format("\n[workload]\nkind = {}\n", in_quotes(plan.workload_kind));
    write_values(out, plan.workload);
    for (const FaultSpec& fault : plan.faults) {
        out += fmt::format("\n[[fault]]\nkind = {}\n", in_quotes(fault.kind));
        write_values(out, fault.parameters);
        out += fmt::format("when = {}\n", trigger_text(fault.when));
    }
    write_expectation(out, plan.expect);
    if (!plan.backends.empty()) {
        const auto at = out.find("format = 1\n") + 11;
        out.insert(at, fmt::format("backends = {}\n", texts_literal(plan.backends)));
    }
    return out;
}

Result<Plan> parse_plan(std::string_view toml, std::string_view name, const Taxonomy& taxonomy,
                        const Vocabulary& vocabulary) {
    const auto file = parse_toml(toml, std::string(name));
    if (!file) return tl::unexpected(file.error());
    Problems problems{std::string(name)};
    TomlReader top(*file, "plan", problems);
    Plan plan;
    read_head(top, plan, *file, problems);
    plan.bug = read_bug(top, taxonomy, problems);
    if (const toml::table* cluster = top.table("cluster")) {
        TomlReader reader(*cluster, "cluster", problems);
        plan.cluster = concrete(read_settings(reader, cluster_parameters(), problems), problems, *cluster);
        reader.refuse_the_rest();
    }
    Settings settings;
    const Kind* workload = read_workload(top, plan.workload_kind, settings, vocabulary, problems);
    if (workload) plan.workload = concrete(settings, problems, *file);
    for (const FaultSettings& fault : read_faults(top, vocabulary, workload, problems)) {
        plan.faults.push_back({fault.kind, concrete(fault.parameters, problems, *file),
                               read_trigger(concrete(fault.when.values, problems, *file))});
    }
    plan.expect = read_expectation(top, plan.bug, taxonomy, problems);
    plan.backends = top.texts("backends");
    top.refuse_the_rest();
    for (const Parameter& parameter : cluster_parameters()) {
        if (!parameter.optional && !plan.cluster.count(parameter.name)) {
            problems.add(*file, fmt::format("[cluster] lacks '{}'", parameter.name),
                         "a plan states every value");
        }
    }
    for (const Parameter& parameter : workload ? workload->parameters : std::vector<Parameter>{}) {
        if (!parameter.optional && !plan.workload.count(parameter.name)) {
            problems.add(*file, fmt::format("[workload] lacks '{}'", parameter.name),
                         "a plan states every value");
        }
    }
    if (!problems.empty()) return tl::unexpected(problems.first());
    return plan;
}

Result<Plan> load_plan(const std::filesystem::path& file, const Taxonomy& taxonomy,
                       const Vocabulary& vocabulary) {
    const auto text = read_text(file.string());
    if (!text) return tl::unexpected(text.error());
    return parse_plan(*text, file.string(), taxonomy, vocabulary);
}

}  // namespace deadrank::scenarios
