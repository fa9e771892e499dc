// sim/program/builtins_objects.cpp — Values among ranks, as torch pickles them: their lengths first, then as
// many numbers as the longest has; the monitored barrier; and the objects that are there already.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

Value decoded(Interpreter& rank, std::span<const Number> content) {
    Value value;
    try {
        value = decode_value(content);
    } catch (const RankFailure&) {
        raise("RuntimeError", "an object of another kind came");
    }
    settle_places(rank, value, {});
    return value;
}

std::vector<Value> gathered(Interpreter& rank, Comm& comm, const Value& value) {
    std::vector<Number> mine;
    encode_value(value, mine);
    const auto members = static_cast<std::size_t>(comm.size());
    const Number length[] = {std::ssize(mine)};
    std::vector<Number> lengths(members);
    comm.all_gather(length, lengths, Dtype::i64);
    const Number longest =
        std::clamp<Number>(*std::max_element(lengths.begin(), lengths.end()), length[0], most_elements);
    mine.resize(static_cast<std::size_t>(longest));
    std::vector<Number> all(mine.size() * members);
    comm.all_gather(mine, all, Dtype::i64);
    rank.spend(std::ssize(all));
    std::vector<Value> values;
    for (std::size_t i = 0; i < members; ++i)
        values.push_back(decoded(rank, std::span(all).subspan(i * mine.size(), mine.size())));
    return values;
}

// What a caller gave to be filled; as long as the group, as torch demands.
void fill(const Value& list, std::vector<Value> values) {
    if (!list.is(Type::list))
        raise("TypeError", fmt::format("a list must be filled, not {}", type_word(list)));
    if (list.list().items.size() < values.size()) raise("IndexError", "list assignment index out of range");
    std::move(values.begin(), values.end(), list.list().items.begin());
}

// all_gather_object(value), or torch's own all_gather_object(list, value).
Value all_gather_object(Interpreter& rank, Arguments& given) {
    if (given[1].is(Type::group)) given[2] = std::exchange(given[1], Value());
    const bool fills = !given[1].is(Type::unset);
    Comm* comm = comm_of(rank, given[2], "all_gather_object");
    if (!comm) return Value::none();
    std::vector<Value> values = gathered(rank, *comm, fills ? given[1] : given[0]);
    if (!fills) return Value::new_list(std::move(values));
    fill(given[0], std::move(values));
    return Value::none();
}

// The one that asks for them gets them; all take part in both calls.
Value gather_object(Interpreter& rank, Arguments& given) {
    Comm* comm = comm_of(rank, given[3], "gather_object");
    if (!comm) return Value::none();
    const Value usual = stated(given[2]) || stated(given[4]) ? given[2] : Value::whole(0);
    const Rank root = root_of(*comm, usual, given[4], given[3], "destination");
    if (comm->rank() == root && !stated(given[1]))
        raise("ValueError", "Argument ``gather_list`` must be specified on destination rank.");
    std::vector<Value> values = gathered(rank, *comm, given[0]);
    if (comm->rank() == root) fill(given[1], std::move(values));
    return Value::none();
}

Value broadcasted(Interpreter& rank, Comm& comm, Rank root, const Value& value) {
    std::vector<Number> content;
    if (comm.rank() == root) encode_value(value, content);
    Number length[] = {std::ssize(content)};
    comm.broadcast(length, root, Dtype::i64);
    content.resize(
        static_cast<std::size_t>(std::clamp<Number>(length[0], std::ssize(content), most_elements)));
    comm.broadcast(content, root, Dtype::i64);
    rank.spend(std::ssize(content));
    return decoded(rank, content);
}

Value broadcast_object(Interpreter& rank, Arguments& given) {
    Comm* comm = comm_of(rank, given[2], "broadcast_object_list");
    if (!comm) return given[0];
    return broadcasted(rank, *comm, root_of(*comm, given[1], given[3], given[2], "source"), given[0]);
}

Value broadcast_object_list(Interpreter& rank, Arguments& given) {
    Comm* comm = comm_of(rank, given[2], "broadcast_object_list");
    if (!comm) return Value::none();
    if (!given[0].is(Type::list)) raise("TypeError", "object_list must be a list");
    const Value usual = stated(given[1]) || stated(given[3]) ? given[1] : Value::whole(0);
    const Rank root = root_of(*comm, usual, given[3], given[2], "source");
    const Value came = broadcasted(rank, *comm, root, given[0]);
    if (!came.is(Type::list)) raise("RuntimeError", "an object of another kind came");
    if (came.list().items.size() != given[0].list().items.size())
        raise("RuntimeError", fmt::format("shape mismatch: a list of {} objects for one of {}",
                                          came.list().items.size(), given[0].list().items.size()));
    if (comm->rank() != root) fill(given[0], came.list().items);
    return Value::none();
}

Value scatter_object_list(Interpreter& rank, Arguments& given) {
    Comm* comm = comm_of(rank, given[3], "scatter_object_list");
    if (!comm) return Value::none();
    const Value usual = stated(given[2]) || stated(given[4]) ? given[2] : Value::whole(0);
    const Rank root = root_of(*comm, usual, given[4], given[3], "source");
    const bool source = comm->rank() == root;
    if (source && (!given[1].is(Type::list) || std::ssize(given[1].list().items) != comm->size()))
        raise("ValueError",
              "Argument ``scatter_object_input_list`` must be specified on source rank, with one "
              "object for each rank");
    const Value all = broadcasted(rank, *comm, root, source ? given[1] : Value::none());
    fill(given[0], {all.list().items[static_cast<std::size_t>(comm->rank())]});
    return Value::none();
}

// A member says that it is here, and waits to hear that all are. Also where the store ends meanwhile, with
// the rank that had noticed who is missing.
Value await_first(Store& store, const std::string& key, Rank own, Time patience) {
    bool passed = false;
    try {
        store.set(key + std::to_string(own), "here");
        passed = store.wait(key + "done", patience).has_value();
    } catch (const RankFailure&) {
        passed = false;
    }
    if (passed) return Value::none();
    raise("RuntimeError",
          fmt::format("Rank {} successfully reached monitoredBarrier, but received errors while "
                      "waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.",
                      own));
}

// Rank 0 of the group hears of each member, and tells them that all have come.
Value monitored_barrier(Interpreter& rank, Arguments& given) {
    Comm* comm = comm_of(rank, given[0], "monitored_barrier");
    if (!comm) return Value::none();
    const Time patience = stated(given[1]) ? time_in(given[1]) : Time{300'000'000'000};
    const bool waits_for_all = !given[2].is(Type::unset) && truth(given[2]);
    const std::string name = stated(given[0]) ? given[0].group().name : "default_pg";
    const std::string key = fmt::format("monitored_barrier/{}/{}/", name, ++rank.barriers[name]);
    Store& store = rank.host().store();
    if (comm->rank() != 0) return await_first(store, key, comm->rank(), patience);
    std::string missing;
    std::int64_t count = 0;
    const Time began = rank.world().timer().now();
    for (Rank peer = 1; peer < comm->size(); ++peer) {
        const Time left = std::max(Time{1'000'000}, patience - (rank.world().timer().now() - began));
        if (store.wait(key + std::to_string(peer), left)) continue;
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", peer);
        ++count;
        if (!waits_for_all) break;
    }
    if (count > 0)
        raise("RuntimeError",
              fmt::format("[Rank 0]: {} {} failed to pass monitoredBarrier in {} ms",
                          count > 1 ? "Ranks" : "Rank", missing, patience.count() / 1'000'000));
    store.set(key + "done", "all");
    return Value::none();
}

}  // namespace

Value own_method(Interpreter& rank, const Value& object, const std::string& name,
                 const std::vector<Value>& arguments) {
    if (object.instance().kind == generator_kind) return generator_method(rank, object, name, arguments);
    if (object.instance().kind == environment_kind) return environment_method(object, name, arguments);
    if (object.instance().kind == store_kind) return store_method(rank, object, name, arguments);
    if (object.instance().kind == process_kind) return process_method(rank, object, name, arguments);
    if (object.instance().held) return stream_method(rank, object, name, arguments);
    if (object.instance().kind == mesh_kind) return mesh_method(rank, object, name, arguments);
    raise("AttributeError", fmt::format("{} object has no attribute '{}'", type_word(object), name));
}

std::vector<BuiltinRow> object_builtins() {
    return {{"all_gather_object", all_gather_object},     {"gather_object", gather_object},
            {"broadcast_object", broadcast_object},       {"broadcast_object_list", broadcast_object_list},
            {"scatter_object_list", scatter_object_list}, {"monitored_barrier", monitored_barrier}};
}

}  // namespace deadrank::sim::program
