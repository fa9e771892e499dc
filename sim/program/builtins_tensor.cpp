// sim/program/builtins_tensor.cpp — Functions that make tensors.
#include <fmt/format.h>
#include <utility>

#include "sim/program/builtins.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

Dtype stated_dtype(const Value& word, Dtype otherwise) {
    return word.is(Type::unset) || word.is(Type::none) ? otherwise : dtype_of(word);
}

// `where`: the device that the call states, if any.
Value filled(Interpreter& rank, std::shared_ptr<Tensor> made, const Value& where, const Value& value) {
    rank.spend(made->count());
    lay(rank, *made, where);
    if (!value.is(Type::unset)) assign(*made, value);
    return Value::of(std::move(made));
}

// What lay in memory: small numbers that no other rank has.
void fill_unwritten(Interpreter& rank, Tensor& made) {
    constexpr std::uint64_t spread = 1 << 12;
    for (Number& element : made.data()) {
        const auto drawn = rank.world().chance("program.empty", rank.garbage_drawn++, spread);
        element =
            converted(static_cast<Number>(drawn) - static_cast<Number>(spread / 2), Dtype::i64, made.dtype);
    }
}

Value new_from(Interpreter& rank, Arguments& given) {
    if (given[0].is(Type::function) || given[0].is(Type::object))
        raise("RuntimeError", fmt::format("Could not infer dtype of {}", type_word(given[0])));
    auto made = tensor_from(given[0], stated_dtype(given[1], Dtype::none));
    if (given[0].is(Type::tensor) && !stated(given[2])) return rank.spend(made->count()), Value::of(made);
    return filled(rank, std::move(made), given[2], {});
}
Value zeros(Interpreter& rank, Arguments& given) {
    return filled(rank, new_tensor(stated_dtype(given[1], Dtype::f32), shape_from(given[0])), given[2], {});
}
Value ones(Interpreter& rank, Arguments& given) {
    return filled(rank, new_tensor(stated_dtype(given[1], Dtype::f32), shape_from(given[0])), given[2],
                  Value::whole(1));
}
Value empty(Interpreter& rank, Arguments& given) {
    auto made = new_tensor(stated_dtype(given[1], Dtype::f32), shape_from(given[0]));
    fill_unwritten(rank, *made);
    return filled(rank, std::move(made), given[2], {});
}
Value full(Interpreter& rank, Arguments& given) {
    const Value size = given[0].is(Type::list) ? given[0] : Value::new_list({given[0]});
    const Dtype usual = given[1].is(Type::decimal) ? Dtype::f32 : Dtype::i64;
    return filled(rank, new_tensor(stated_dtype(given[2], usual), shape_from(size)), given[3], given[1]);
}
Value arange(Interpreter& rank, Arguments& given) {
    const auto& ends = given[0].list().items;
    if (ends.empty() || ends.size() > 3) raise("TypeError", "arange() takes one to three numbers");
    const auto end = [&](std::size_t i) { return as_whole(ends[i], "an end"); };
    const std::int64_t first = ends.size() > 1 ? end(0) : 0, last = end(ends.size() > 1 ? 1 : 0);
    const std::int64_t by = ends.size() > 2 ? end(2) : 1;
    if (by == 0) raise("RuntimeError", "step must be nonzero");
    if (by > 0 ? last < first : last > first)
        raise("RuntimeError", "upper bound and larger bound inconsistent with step sign");
    const Wide count = (Wide{last} - first + by - (by > 0 ? 1 : -1)) / by;
    auto made = new_tensor(Dtype::i64, {saturate(count)});
    std::int64_t next = first;
    for (Number& element : made->data()) element = std::exchange(next, next + by);
    const Dtype dtype = stated_dtype(given[1], Dtype::i64);
    return filled(rank, dtype == Dtype::i64 ? made : cast(*made, dtype), given[2], {});
}
Value eye(Interpreter& rank, Arguments& given) {
    const std::int64_t size = as_whole(given[0], "n");
    auto made = new_tensor(Dtype::f32, {size, size});
    for (std::int64_t i = 0; i < size; ++i) made->data()[static_cast<std::size_t>(i * size + i)] = one;
    return filled(rank, std::move(made), given[1], {});
}
// Of another one's shape, and where that one lies unless a device is stated.
std::shared_ptr<Tensor> alike(Interpreter& rank, const Value& other, std::string_view call,
                              const Value& dtype, const Value& where) {
    const auto like = tensor_in(other, call, "tensor");
    auto made = new_tensor(stated_dtype(dtype, like->dtype), like->shape, like->place);
    if (stated(where)) made->place = place_for(rank, where);
    rank.spend(made->count());
    return made;
}

Value zeros_like(Interpreter& rank, Arguments& given) {
    return Value::of(alike(rank, given[0], "zeros_like", given[1], given[2]));
}
Value ones_like(Interpreter& rank, Arguments& given) {
    const auto made = alike(rank, given[0], "ones_like", given[1], given[2]);
    assign(*made, Value::whole(1));
    return Value::of(made);
}
Value full_like(Interpreter& rank, Arguments& given) {
    const auto made = alike(rank, given[0], "full_like", {}, given[2]);
    assign(*made, given[1]);
    return Value::of(made);
}
Value empty_like(Interpreter& rank, Arguments& given) {
    const auto made = alike(rank, given[0], "empty_like", {}, given[1]);
    fill_unwritten(rank, *made);
    return Value::of(made);
}
Value where(Interpreter&, Arguments& given) { return chosen(given[0], given[1], given[2]); }
Value cat(Interpreter& rank, Arguments& given) {
    const Value made = joined(items_of(given[0]), given[1].is(Type::unset) ? 0 : as_whole(given[1], "dim"));
    rank.spend(made.tensor().count());
    return made;
}
Value stack(Interpreter& rank, Arguments& given) {
    const Value made = stacked(items_of(given[0]), given[1].is(Type::unset) ? 0 : as_whole(given[1], "dim"));
    rank.spend(made.tensor().count());
    return made;
}

}  // namespace

std::vector<BuiltinRow> tensor_builtins() {
    return {{"tensor", new_from},
            {"zeros", zeros},
            {"ones", ones},
            {"empty", empty},
            {"full", full},
            {"arange", arange},
            {"zeros_like", zeros_like},
            {"empty_like", empty_like},
            {"cat", cat},
            {"stack", stack},
            {"ones_like", ones_like},
            {"full_like", full_like},
            {"eye", eye},
            {"where", where}};
}

}  // namespace deadrank::sim::program
