// sim/program/builtins_told.cpp — What a program tells observers of itself: phases, losses, samples, digests,
// and values beside what they should be.
#include <fmt/format.h>
#include <limits>

#include "sim/program/builtins.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

Value phase(Interpreter& rank, Arguments& given) {
    rank.world().phase(results::phase_named(given[0].text()));
    return Value::none();
}

Value log(Interpreter& rank, Arguments& given) {
    int level = 0;
    if (stated(given[1])) {
        const std::string& word = text_in(given[1], "a level");
        level = word == "error" ? 2 : word == "warning" ? 1 : 0;
        if (level == 0 && word != "info" && word != "debug")
            raise("ValueError",
                  fmt::format("there is no level '{}': known are debug, info, warning and error", word));
    }
    rank.world().log(shown_text(given[0]), level);
    return Value::none();
}

Number number_in(const Value& value, std::string_view what) {
    if (value.is(Type::tensor)) return element_from(value, Dtype::f32);
    if (!value.is_number())
        raise("TypeError", fmt::format("{} must be a number, not {}", what, type_word(value)));
    return as_decimal(value);
}

Value loss(Interpreter& rank, Arguments& given) {
    rank.reach_device();
    rank.loss = number_in(given[0], "a loss");
    return Value::none();
}

Value grad_norm(Interpreter& rank, Arguments& given) {
    rank.reach_device();
    rank.gradient_norm = number_in(given[0], "a norm");
    return Value::none();
}

// Ranks of one replica read the same samples: its name is told once, and again when it changes.
void tell_replica(Interpreter& rank, const Value& group) {
    std::string name = shown_text(group);
    if (group.is(Type::group))
        for (const Rank member : group.group().ranks) name += fmt::format(" {}", member);
    if (name == rank.told_replica) return;
    rank.told_replica = name;
    rank.world().record(results::RankConfig{rank.world().text("data.replica"), rank.world().text(name)});
}

Value samples(Interpreter& rank, Arguments& given) {
    std::string listed;
    std::vector<std::int64_t> ids;
    bool in_order = true;
    for (const Value& item : items_of(given[0])) {
        ids.push_back(as_whole(item, "a sample"));
        in_order &= ids.size() == 1 || ids.back() == ids[ids.size() - 2] + 1;
        listed += fmt::format("{}{}", listed.empty() ? "" : ",", ids.back());
    }
    results::DataBatch shown;
    shown.step = rank.step();
    shown.epoch = stated(given[1]) ? as_whole(given[1], "an epoch") : 0;
    shown.first = ids.empty() ? 0 : ids.front();
    shown.count = static_cast<std::int32_t>(ids.size());
    if (stated(given[2])) tell_replica(rank, given[2]);
    if (!in_order) shown.samples = rank.world().text(listed);
    rank.world().record(shown);
    return Value::none();
}

Value digest(Interpreter& rank, Arguments& given) {
    std::vector<Number> content;
    encode_value(given[1], content, false);
    rank.spend(std::ssize(content));
    const std::string group = stated(given[2]) ? text_in(given[2], "a group") : "replica";
    rank.world().record(results::ParametersDigest{rank.step(), digest_of(content), rank.world().text(group),
                                                  rank.world().text(text_in(given[0], "a name"))});
    return Value::none();
}

Value config(Interpreter& rank, Arguments& given) {
    rank.world().record(results::RankConfig{rank.world().text(text_in(given[0], "a name")),
                                            rank.world().text(shown_text(given[1]))});
    return Value::none();
}

bool only_rounding_apart(Number a, Number b) {
    if (a == not_a_number || b == not_a_number) return false;
    return a > b ? a - rounding <= b : b - rounding <= a;
}

// What a value is compared with stands before its name, so that a detector knows what it means.
Value sample(Interpreter& rank, Arguments& given, std::string_view kind) {
    Number seen = number_in(given[1], "a value");
    double expected = std::numeric_limits<double>::quiet_NaN();
    if (!kind.empty()) {
        const Number due = number_in(given[2], "what is expected");
        if (only_rounding_apart(seen, due)) seen = due;
        expected = shown(due);
    }
    const std::string& stated_name = text_in(given[0], "a name");
    const bool counted = stated_name == "evaluation.samples";  // which has a meaning of its own
    const std::string name = counted ? stated_name : std::string(kind) + stated_name;
    rank.world().record(results::ValueSample{rank.step(), rank.world().text(name), shown(seen), expected});
    return Value::none();
}

Value value(Interpreter& rank, Arguments& given) { return sample(rank, given, ""); }
Value check(Interpreter& rank, Arguments& given) { return sample(rank, given, "check."); }
Value reference(Interpreter& rank, Arguments& given) { return sample(rank, given, "reference."); }
Value restored(Interpreter& rank, Arguments& given) { return sample(rank, given, "restored."); }

}  // namespace

std::vector<BuiltinRow> told_builtins() {
    return {{"phase", phase},         {"log", log},          {"loss", loss},
            {"grad_norm", grad_norm}, {"samples", samples},  {"digest", digest},
            {"config", config},       {"value", value},      {"check", check},
            {"reference", reference}, {"restored", restored}};
}

}  // namespace deadrank::sim::program
