// sim/program/builtins_world.cpp — The store, time, chance, and where faults act.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/model/value.h"
#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"
#include "sim/program/queues.h"

namespace deadrank::sim::program {

namespace {

// Store.

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

// Time.

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

// Chance, environment, faults.

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
            {"seam", seam},
            {"block", block}};
}

}  // namespace deadrank::sim::program
