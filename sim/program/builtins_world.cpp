// sim/program/builtins_world.cpp — The store, time, chance, where faults act, and what observers are told.
#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "scenarios/model/value.h"
#include "sim/program/builtins.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"
#include "sim/program/queues.h"

namespace deadrank::sim::program {

namespace {

// ── Store.

Value store_set(Interpreter& rank, Arguments& given) {
    rank.host().store().set(text_in(given[0], "a key"), shown_text(given[1]));
    return Value::none();
}

Value store_set_once(Interpreter& rank, Arguments& given) {
    return Value::new_text(rank.host().store().set_once(text_in(given[0], "a key"), shown_text(given[1])));
}

Value store_get(Interpreter& rank, Arguments& given) {
    constexpr Time usual{300'000'000'000};
    const Time patience = stated(given[1]) ? time_in(given[1]) : usual;
    const std::string key = text_in(given[0], "a key");
    if (auto found = rank.host().store().wait(key, patience)) return Value::new_text(*found);
    throw LibraryError(Code::timeout,
                       fmt::format("torch.distributed.DistStoreError: wait timeout after {}ms, keys: /{}",
                                   patience.count() / 1'000'000, key));
}

Value store_add(Interpreter& rank, Arguments& given) {
    return Value::whole(rank.host().store().add(text_in(given[0], "a key"), as_whole(given[1], "an amount")));
}

Value store_check(Interpreter& rank, Arguments& given) {
    constexpr Time at_once{1'000'000};
    return Value::boolean(rank.host().store().wait(text_in(given[0], "a key"), at_once).has_value());
}

// ── Time.

Value compute(Interpreter& rank, Arguments& given) {
    rank.reach_device();
    if (rank.queues()) return rank.queues()->kernel(time_in(given[0])), Value::none();
    rank.world().device().compute(time_in(given[0]));
    return Value::none();
}

Value sleep(Interpreter& rank, Arguments& given) {
    if (rank.queues()) return rank.queues()->streams().sleep(time_in(given[0])), Value::none();
    rank.world().timer().sleep(time_in(given[0]));
    return Value::none();
}

Value now(Interpreter& rank, Arguments&) {
    return Value::decimal(
        saturate((Wide{rank.world().timer().now().count()} << fraction_bits) / 1'000'000'000));
}

// ── Chance, environment, faults.

Value random(Interpreter& rank, Arguments& given) {
    const std::int64_t bound = as_whole(given[2], "bound");
    if (bound < 1) raise("ValueError", "bound must be positive");
    const auto index = static_cast<std::uint64_t>(as_whole(given[1], "index"));
    return Value::whole(static_cast<std::int64_t>(
        rank.world().chance(text_in(given[0], "a purpose"), index, static_cast<std::uint64_t>(bound))));
}

Value env(Interpreter& rank, Arguments& given) {
    const auto found = rank.world().env().get(text_in(given[0], "a name"));
    return found ? Value::new_text(*found) : given[1].is(Type::unset) ? Value::none() : given[1];
}

Value version(Interpreter& rank, Arguments& given) {
    return Value::new_text(rank.world().env().version(text_in(given[0], "a package")));
}

Value leave(Interpreter&, Arguments& given) {
    const auto code = !stated(given[0]) ? 0 : static_cast<int>(as_whole(given[0], "a code"));
    throw RankFailure(fmt::format("SystemExit: {}", code), code);
}

Value stop_training(Interpreter& rank, Arguments&) {
    rank.host().stop();
    throw RankFailure(std::string(stop_word), 0);
}

Value at_exit(Interpreter& rank, Arguments& given) {
    rank.seldom().at_exit.push_back(given[0]);
    return given[0];
}

constexpr std::uint64_t hash_bound = std::uint64_t{1} << 61;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) { return (hash ^ with) * 0x100000001b3; }

std::uint64_t spelling(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : text) hash = mixed(hash, static_cast<unsigned char>(letter));
    return hash;
}

std::uint64_t hashed(Interpreter& rank, const Value& x) {
    if (x.is(Type::none)) return 0xfca86420;
    if (x.is(Type::decimal) && x.number() % one != 0)
        return static_cast<std::uint64_t>(x.number()) * 0x9e3779b9;
    if (x.is_number()) return static_cast<std::uint64_t>(x.is(Type::decimal) ? x.number() / one : x.number());
    if (x.is(Type::text)) {
        const std::uint64_t own = spelling(x.text());
        const auto seed = rank.world().env().get("PYTHONHASHSEED").value_or("random");
        return seed == "random" ? rank.world().chance("program.hash", own, hash_bound)
                                : mixed(own, spelling(seed)) % hash_bound;
    }
    if (!x.is(Type::list) || !x.list().fixed)
        raise("TypeError", fmt::format("unhashable type: {}", type_word(x)));
    std::uint64_t hash = 0x345678;
    for (const Value& item : x.list().items) hash = mixed(hash, hashed(rank, item));
    return hash % hash_bound;
}

Value hash(Interpreter& rank, Arguments& given) {
    return Value::whole(static_cast<std::int64_t>(hashed(rank, given[0])));
}

Value seam(Interpreter& rank, Arguments& given) {
    const Value& usual = given[1];
    if (!usual.is_number())
        raise("TypeError", fmt::format("the value of a seam must be a number, not {}", type_word(usual)));
    const std::int64_t bent = rank.world().seam(given[0].text(), usual.number());
    if (usual.is(Type::boolean)) return Value::boolean(bent != 0);
    return usual.is(Type::whole) ? Value::whole(bent) : Value::decimal(bent);
}

Value block(Interpreter& rank, Arguments& given) {
    return Value::boolean(rank.world().block(given[0].text()));
}

}  // namespace

std::vector<BuiltinRow> world_builtins() {
    return {{"store_set", store_set},
            {"store_set_once", store_set_once},
            {"store_get", store_get},
            {"store_add", store_add},
            {"store_check", store_check},
            {"compute", compute},
            {"sleep", sleep},
            {"now", now},
            {"random", random},
            {"env", env},
            {"version", version},
            {"exit", leave},
            {"stop_training", stop_training},
            {"atexit_register", at_exit},
            {"hash", hash},
            {"seam", seam},
            {"block", block}};
}

// ── What a program tells observers of itself: phases, losses, samples, digests, and values beside what they
// should be.

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
