// sim/program/builtins_chance.cpp — Random numbers as torch draws them: generators, and what draws from one.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "sim/program/builtins.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

// ── A generator is a seed and how many numbers it has given: the same on every rank that has the same two.

std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

std::uint64_t drawn(Fields& fields) {
    Value& seed = *find_field(fields, "seed");
    Value& count = *find_field(fields, "count");
    const auto first = mixed(static_cast<std::uint64_t>(seed.number()));
    const auto number = mixed(first ^ static_cast<std::uint64_t>(count.number()));
    count = Value::whole(count.number() + 1);
    return number;
}

std::shared_ptr<Instance> new_generator(std::int64_t seed) {
    auto made = std::make_shared<Instance>();
    made->kind = generator_kind;
    made->name = "Generator";
    set_field(made->fields, "seed", Value::whole(seed));
    set_field(made->fields, "count", Value::whole(0));
    return made;
}

Value generator(Interpreter&, Arguments& given) {
    return Value::of(new_generator(given[0].is(Type::unset) ? 0 : as_whole(given[0], "a seed")));
}

// Of the rank itself, or one that is stated. As torch has it, those of all ranks begin alike.
Fields& fields_of(Interpreter& rank, const Value& stated_one) {
    if (stated(stated_one)) {
        if (!stated_one.is(Type::object) || stated_one.instance().kind != generator_kind)
            raise("TypeError",
                  fmt::format("argument 'generator' must be torch.Generator, not {}", type_word(stated_one)));
        return stated_one.instance().fields;
    }
    constexpr std::int64_t first_seed = 67'280'421'310'721;  // torch's own
    if (!rank.chance) rank.chance = new_generator(first_seed);
    return rank.chance->fields;
}

Number uniform(Fields& fields) { return static_cast<Number>(drawn(fields) >> (64 - fraction_bits)); }

// Box and Muller's: of two numbers from 0 to 1, the first of which is not 0.
Number normal(Fields& fields) {
    const Number length = square_root(-2 * logarithm(uniform(fields) + 1));
    constexpr Number whole_turn = 411'775;  // tau, in 65536ths
    const Number angle =
        elementwise(scenarios::program::Operator::multiply, whole_turn, uniform(fields), true);
    return elementwise(scenarios::program::Operator::multiply, length, cosine(angle), true);
}

std::shared_ptr<Tensor> decimals(Interpreter& rank, Fields& fields, Shape shape, Number (*draw)(Fields&)) {
    auto made = new_tensor(Dtype::f32, std::move(shape));
    rank.spend(made->count());
    for (Number& element : made->data()) element = draw(fields);
    return made;
}

Value draws(Interpreter& rank, const Arguments& given, Number (*draw)(Fields&)) {
    const auto made = decimals(rank, fields_of(rank, given[1]), shape_from(given[0]), draw);
    lay(rank, *made, given[2]);
    return Value::of(made);
}
Value uniforms(Interpreter& rank, Arguments& given) { return draws(rank, given, uniform); }
Value normals(Interpreter& rank, Arguments& given) { return draws(rank, given, normal); }

Value randint(Interpreter& rank, Arguments& given) {
    const std::int64_t low = as_whole(given[0], "low"), high = as_whole(given[1], "high");
    if (low >= high)
        raise(
            "RuntimeError",
            fmt::format("random_ expects 'from' to be less than 'to', but got from={} >= to={}", low, high));
    const Value size = given[2].is(Type::list) ? given[2] : Value::new_list({given[2]});
    const auto made = new_tensor(Dtype::i64, shape_from(size));
    lay(rank, *made, given[4]);
    Fields& fields = fields_of(rank, given[3]);
    rank.spend(made->count());
    const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    for (Number& element : made->data())
        element = static_cast<Number>(static_cast<std::uint64_t>(low) + drawn(fields) % span);
    return Value::of(made);
}

Value manual_seed(Interpreter& rank, Arguments& given) {
    const std::int64_t seed = as_whole(given[0], "a seed");
    rank.chance = new_generator(seed);
    return Value::of(rank.chance);
}

Value drawn_into(Interpreter& rank, const Value& object, bool bell, const std::vector<Value>& given) {
    Tensor& tensor = object.tensor();
    if (tensor.whole())
        raise("RuntimeError", fmt::format("\"{}\" not implemented for '{}'",
                                          bell ? "normal_kernel_cuda" : "check_uniform_bounds",
                                          tensor.dtype == Dtype::i64 ? "Long" : "Int"));
    const auto number = [&](std::size_t place, Number usual) {
        return is_stated(given, place) ? as_decimal(given[place]) : usual;
    };
    const Number first = number(0, 0), second = number(1, one);
    if (bell && second < 0)
        raise("RuntimeError",
              fmt::format("normal expects std >= 0.0, but found std {}", decimal_text(second)));
    if (!bell && first > second)
        raise("RuntimeError",
              fmt::format("uniform_ expects to return a [from, to) range, but found from={} > to={}",
                          decimal_text(first), decimal_text(second)));
    Fields& fields = fields_of(rank, given.size() > 2 ? given[2] : Value());
    const Number span = bell ? second : second - first;
    for (Number& element : tensor.data()) {
        const Number draw = bell ? normal(fields) : uniform(fields);
        element = first + elementwise(scenarios::program::Operator::multiply, draw, span, true);
    }
    fit(tensor);
    if (tensor.strided) tensor.flush();
    return object;
}

Value permutation(Fields& fields, std::int64_t size) {
    if (size < 0 || size > most_elements)
        raise("RuntimeError", "n must be non-negative, and no more than a million");
    const auto made = new_tensor(Dtype::i64, {size});
    const auto places = made->data();
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<Number>(i);
    for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[drawn(fields) % i]);
    return Value::of(made);
}

Value randperm(Interpreter& rank, Arguments& given) {
    Value made = permutation(fields_of(rank, given[1]), as_whole(given[0], "n"));
    lay(rank, made.tensor(), given[2]);
    return made;
}

}  // namespace

Value generator_method(Interpreter& rank, const Value& object, const std::string& name,
                       const std::vector<Value>& arguments) {
    Fields& fields = object.instance().fields;
    if (name == "manual_seed") {
        set_field(fields, "seed", Value::whole(as_whole(needed(arguments, 0, name), "a seed")));
        set_field(fields, "count", Value::whole(0));
        return object;
    }
    if (name == "randint") {
        const std::int64_t bound = as_whole(needed(arguments, 0, name), "bound");
        if (bound < 1) raise("ValueError", "bound must be positive");
        return Value::whole(static_cast<std::int64_t>(drawn(fields) % static_cast<std::uint64_t>(bound)));
    }
    if (name == "rand" || name == "randn") {
        Number (*const draw)(Fields&) = name == "rand" ? uniform : normal;
        if (arguments.empty()) return Value::decimal(draw(fields));
        const auto made = decimals(rank, fields, shape_from(Value::new_list(arguments)), draw);
        lay(rank, *made, {});
        return Value::of(made);
    }
    if (name == "randperm") return permutation(fields, as_whole(needed(arguments, 0, name), "n"));
    if (name == "get_state") return Value::new_list({fields[0].second, fields[1].second});
    if (name != "set_state")
        raise("AttributeError", fmt::format("'Generator' object has no attribute '{}'", name));
    const auto state = items_of(needed(arguments, 0, name));
    if (state.size() != 2) raise("RuntimeError", "RNG state is wrong size");
    set_field(fields, "seed", Value::whole(as_whole(state[0], "a seed")));
    set_field(fields, "count", Value::whole(as_whole(state[1], "a count")));
    return Value::none();
}

std::optional<Value> draws_in_place(Interpreter& rank, const Value& object, const std::string& name,
                                    const std::vector<Value>& given) {
    if (name != "normal_" && name != "uniform_") return std::nullopt;
    return drawn_into(rank, object, name == "normal_", given);
}

std::vector<BuiltinRow> chance_builtins() {
    return {{"Generator", generator}, {"manual_seed", manual_seed}, {"rand", uniforms},
            {"randn", normals},       {"randint", randint},         {"randperm", randperm}};
}

}  // namespace deadrank::sim::program
