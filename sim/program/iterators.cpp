// sim/program/iterators.cpp — What a `for` assigns one by one: iterators over lists, and classes with
// __iter__ and __next__.
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/interpreter.h"

namespace deadrank::sim::program {

using namespace scenarios::program;

namespace {

constexpr const char* walked_field = "items";
constexpr const char* reached_field = "place";
constexpr std::string_view end_of_all = "StopIteration";

bool is_own(const Value& value) { return value.is(Type::object) && value.instance().kind == iterator_kind; }

Value over_items(Interpreter& rank, std::vector<Value> items) {
    auto made = std::make_shared<Instance>();
    made->kind = iterator_kind;
    made->name = "list_iterator";
    made->rank = &rank;
    set_field(made->fields, walked_field, Value::new_list(std::move(items)));
    set_field(made->fields, reached_field, Value::whole(0));
    return Value::of(std::move(made));
}

}  // namespace

Value Interpreter::iterator_of(const Value& value) {
    if (is_own(value)) return value;
    if (!value.is(Type::object)) return over_items(*this, items_of(value));
    const auto begins = attribute(value, "__iter__");
    if (!begins) raise("TypeError", fmt::format("{} object is not iterable", type_word(value)));
    Value made = call(*begins, {});
    if (!made.is(Type::object) || (!is_own(made) && !attribute(made, "__next__")))
        raise("TypeError", fmt::format("iter() returned non-iterator of type {}", type_word(made)));
    return made;
}

// Nothing of the program runs while a C++ exception is being handled.
std::optional<Value> Interpreter::next_of(const Value& iterator) {
    if (is_own(iterator)) {
        Fields& fields = iterator.instance().fields;
        const auto& items = find_field(fields, walked_field)->list().items;
        const auto place = static_cast<std::size_t>(find_field(fields, reached_field)->number());
        if (place >= items.size()) return std::nullopt;
        Value found = items[place];
        set_field(fields, reached_field, Value::whole(static_cast<std::int64_t>(place) + 1));
        return found;
    }
    const auto next = iterator.is(Type::object) ? attribute(iterator, "__next__") : std::nullopt;
    if (!next) raise("TypeError", fmt::format("{} object is not an iterator", type_word(iterator)));
    const int depth = depth_;
    Frame* const frame = frame_;
    const auto own = own_, around = around_;
    const Stmt* const now = now_;
    try {
        return call(*next, {});
    } catch (const RankFailure& failure) {
        if (exhausted_ || !std::string_view(failure.what()).starts_with(end_of_all)) throw;
    }
    depth_ = depth;
    frame_ = frame;
    own_ = own;
    around_ = around;
    now_ = now;
    return std::nullopt;
}

std::vector<Value> Interpreter::all_of(const Value& iterable) {
    const Value iterator = iterator_of(iterable);
    std::vector<Value> items;
    while (auto found = next_of(iterator)) {
        items.push_back(std::move(*found));
        if (items.size() > most_values) raise("MemoryError", "a list of more than a million values");
        spend(1);
    }
    return items;
}

Interpreter::Flow Interpreter::each_of(const Stmt& stmt, const Value& iterator) {
    while (auto value = next_of(iterator)) {
        ++statements_;
        spend(0);
        assign(stmt.parts[0], std::move(*value));
        const Flow flow = run(stmt.blocks[0]);
        if (flow == Flow::leave) return Flow::on;
        if (flow == Flow::give) return flow;
        now_ = &stmt;
    }
    return stmt.blocks.size() > 1 ? run(stmt.blocks[1]) : Flow::on;
}

}  // namespace deadrank::sim::program
