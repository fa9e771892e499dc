// sim/program/builtins_comm.cpp — torch.distributed as a program calls it. Texts: torch.distributed 2.11.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

bool stated(const Value& value) { return !value.is(Type::unset) && !value.is(Type::none); }

// Of a group, or of the world; nullptr where the rank is no member, which torch passes over with a warning.
Comm* comm_of(Interpreter& rank, const Value& group, std::string_view call) {
    if (!stated(group)) return &rank.host().comm();
    if (!group.is(Type::group))
        raise("TypeError", fmt::format("group must be a ProcessGroup, not {}", type_word(group)));
    if (Comm* own = group.group().own.get()) return own;
    rank.world().log(
        fmt::format("UserWarning: Running {} on global rank {} which does not belong to the given "
                    "group.",
                    call, rank.host().rank()),
        1);
    return nullptr;
}

// Ranks in calls are those of the world.
Rank place_of(const Comm& comm, const Value& asked, const Value& group, std::string_view what) {
    const std::int64_t global = as_whole(asked, what);
    if (!stated(group)) {
        if (global < 0 || global >= comm.size())
            raise("ValueError", fmt::format("Invalid {} rank {}: the group has ranks 0 to {}", what, global,
                                            comm.size() - 1));
        return static_cast<Rank>(global);
    }
    const auto& ranks = group.group().ranks;
    const auto found = std::find(ranks.begin(), ranks.end(), global);
    if (found == ranks.end())
        raise("ValueError",
              fmt::format("Global rank {} is not part of group {}", global, group.group().name));
    return static_cast<Rank>(found - ranks.begin());
}

ReduceOp reduction(const Value& word) {
    if (!stated(word)) return ReduceOp::sum;
    const ReduceOp op = results::reduce_op_named(text_in(word, "op"));
    if (op == ReduceOp::none)
        raise("ValueError",
              fmt::format("there is no reduction {}: known are sum, avg, max, min and prod", repr(word)));
    return op;
}

Value handle_of(std::vector<std::shared_ptr<Tensor>> held, std::unique_ptr<Work> work) {
    auto handle = std::make_shared<Handle>();
    handle->held = std::move(held);
    handle->work = std::move(work);
    return Value::of(std::move(handle));
}

Value collective_handle(Interpreter& rank, const Comm& stream, std::vector<std::shared_ptr<Tensor>> held,
                        std::unique_ptr<Work> work) {
    Value value = handle_of(std::move(held), std::move(work));
    value.handle().stream = &stream;
    rank.under_way(value.shared_handle());
    return value;
}

Value new_group(Interpreter& rank, Arguments& given) {
    auto group = std::make_shared<Group>();
    for (const Value& member : items_of(given[0])) {
        const std::int64_t number = as_whole(member, "a rank");
        if (number < 0 || number >= rank.host().size())
            raise("RuntimeError",
                  "The new group's rank should be within the world_size set by init_process_group");
        group->ranks.push_back(static_cast<Rank>(number));
    }
    std::sort(group->ranks.begin(), group->ranks.end());
    if (std::adjacent_find(group->ranks.begin(), group->ranks.end()) != group->ranks.end())
        raise("ValueError", "The new group's ranks must be unique");
    const std::string number = std::to_string(++rank.groups_made);
    group->name = stated(given[1]) && !text_in(given[1], "name").empty() ? given[1].text() : number;
    group->own = rank.host().new_group(group->name, group->ranks);
    return Value::of(std::move(group));
}

Value get_rank(Interpreter& rank, Arguments& given) {
    if (!stated(given[0])) return Value::whole(rank.host().rank());
    if (!given[0].is(Type::group)) raise("TypeError", "get_rank() takes a group");
    const Comm* own = given[0].group().own.get();
    return Value::whole(own ? own->rank() : -1);
}

Value get_world_size(Interpreter& rank, Arguments& given) {
    if (!stated(given[0])) return Value::whole(rank.host().size());
    if (!given[0].is(Type::group)) raise("TypeError", "get_world_size() takes a group");
    const Comm* own = given[0].group().own.get();
    return Value::whole(own ? own->size() : -1);
}

Value init_process_group(Interpreter& rank, Arguments&) {
    rank.host().start();
    return Value::none();
}

Value all_reduce(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "all_reduce", "tensor");
    const ReduceOp op = reduction(given[1]);
    Comm* comm = comm_of(rank, given[2], "all_reduce");
    if (!comm) return Value::none();
    if (truth(given[3]))
        return collective_handle(rank, *comm, {tensor},
                                 comm->all_reduce_async(tensor->data(), op, tensor->dtype));
    comm->all_reduce(tensor->data(), op, tensor->dtype);
    return Value::none();
}

Value broadcast(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "broadcast", "tensor");
    Comm* comm = comm_of(rank, given[2], "broadcast");
    if (!comm) return Value::none();
    comm->broadcast(tensor->data(), place_of(*comm, given[1], given[2], "source"), tensor->dtype);
    return Value::none();
}

Value reduce(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "reduce", "tensor");
    const ReduceOp op = reduction(given[2]);
    Comm* comm = comm_of(rank, given[3], "reduce");
    if (!comm) return Value::none();
    comm->reduce(tensor->data(), place_of(*comm, given[1], given[3], "destination"), op, tensor->dtype);
    return Value::none();
}

Value all_gather(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "all_gather", "tensor");
    Comm* comm = comm_of(rank, given[1], "all_gather");
    if (!comm) return Value::none();
    const auto all = new_tensor(tensor->dtype, {tensor->count() * comm->size()});
    comm->all_gather(tensor->data(), all->data(), tensor->dtype);
    std::vector<Value> members;
    for (Rank member = 0; member < comm->size(); ++member)
        members.push_back(Value::of(all->part(member * tensor->count(), tensor->shape)));
    return Value::new_list(std::move(members));
}

void check_types(const Tensor& output, const Tensor& input) {
    if (output.dtype != input.dtype)
        raise("TypeError", "output tensor must have the same type as input tensor");
}

Value all_gather_into(Interpreter& rank, Arguments& given) {
    const auto output = tensor_in(given[0], "all_gather_into_tensor", "output");
    const auto input = tensor_in(given[1], "all_gather_into_tensor", "input");
    Comm* comm = comm_of(rank, given[2], "all_gather_into_tensor");
    if (!comm) return Value::none();
    check_types(*output, *input);
    if (output->count() != input->count() * comm->size())
        raise("ValueError", "output tensor size must be equal to world_size times input tensor size");
    if (truth(given[3]))
        return collective_handle(rank, *comm, {output, input},
                                 comm->all_gather_async(input->data(), output->data(), input->dtype));
    comm->all_gather(input->data(), output->data(), input->dtype);
    return Value::none();
}

Value reduce_scatter(Interpreter& rank, Arguments& given) {
    const auto output = tensor_in(given[0], "reduce_scatter_tensor", "output");
    const auto input = tensor_in(given[1], "reduce_scatter_tensor", "input");
    const ReduceOp op = reduction(given[2]);
    Comm* comm = comm_of(rank, given[3], "reduce_scatter_tensor");
    if (!comm) return Value::none();
    check_types(*output, *input);
    if (input->count() != output->count() * comm->size())
        raise("ValueError", "input tensor must be the same size as output size times world size");
    if (truth(given[4]))
        return collective_handle(rank, *comm, {output, input},
                                 comm->reduce_scatter_async(input->data(), output->data(), op, input->dtype));
    comm->reduce_scatter(input->data(), output->data(), op, input->dtype);
    return Value::none();
}

Value all_to_all(Interpreter& rank, Arguments& given) {
    const auto output = tensor_in(given[0], "all_to_all_single", "output");
    const auto input = tensor_in(given[1], "all_to_all_single", "input");
    Comm* comm = comm_of(rank, given[2], "all_to_all_single");
    if (!comm) return Value::none();
    if (output->dtype != input->dtype) raise("ValueError", "Tensors must be of equal type");
    const bool divides = input->count() % comm->size() == 0 && output->count() == input->count();
    if (!divides) raise("RuntimeError", "Split sizes doesn't match total dim 0 size");
    comm->all_to_all(input->data(), output->data(), input->dtype);
    return Value::none();
}

Value barrier(Interpreter& rank, Arguments& given) {
    if (Comm* comm = comm_of(rank, given[0], "barrier")) comm->barrier();
    return Value::none();
}

// Objects: their lengths first, then as many numbers as the longest has.

Value decoded(std::span<const Number> content) {
    try {
        return decode_value(content);
    } catch (const RankFailure&) {
        raise("RuntimeError", "an object of another kind came");
    }
}

Value all_gather_object(Interpreter& rank, Arguments& given) {
    Comm* comm = comm_of(rank, given[1], "all_gather_object");
    if (!comm) return Value::none();
    std::vector<Number> mine;
    encode_value(given[0], mine);
    const auto members = static_cast<std::size_t>(comm->size());
    const Number length[] = {std::ssize(mine)};
    std::vector<Number> lengths(members);
    comm->all_gather(length, lengths, Dtype::i64);
    const Number longest =
        std::clamp<Number>(*std::max_element(lengths.begin(), lengths.end()), length[0], most_elements);
    mine.resize(static_cast<std::size_t>(longest));
    std::vector<Number> all(mine.size() * members);
    comm->all_gather(mine, all, Dtype::i64);
    rank.spend(std::ssize(all));
    std::vector<Value> values;
    for (std::size_t i = 0; i < members; ++i)
        values.push_back(decoded(std::span(all).subspan(i * mine.size(), mine.size())));
    return Value::new_list(std::move(values));
}

Value broadcast_object(Interpreter& rank, Arguments& given) {
    Comm* comm = comm_of(rank, given[2], "broadcast_object_list");
    if (!comm) return given[0];
    const Rank root = place_of(*comm, given[1], given[2], "source");
    std::vector<Number> content;
    if (comm->rank() == root) encode_value(given[0], content);
    Number length[] = {std::ssize(content)};
    comm->broadcast(length, root, Dtype::i64);
    content.resize(
        static_cast<std::size_t>(std::clamp<Number>(length[0], std::ssize(content), most_elements)));
    comm->broadcast(content, root, Dtype::i64);
    rank.spend(std::ssize(content));
    return decoded(content);
}

// Messages.

struct Line {
    Comm* comm = nullptr;
    Rank peer = 0;
    int tag = 0;
};

Line line_of(Interpreter& rank, Arguments& given, std::string_view call, std::string_view what) {
    Line line{.comm = comm_of(rank, given[3], call)};
    if (!line.comm) return line;
    line.peer = place_of(*line.comm, given[1], given[3], what);
    if (line.peer == line.comm->rank())
        raise("ValueError",
              fmt::format(
                  "Invalid {0} rank: {0} rank should not be the same as the rank of the current process.",
                  what));
    line.tag = given[2].is(Type::unset) ? 0 : static_cast<int>(as_whole(given[2], "tag"));
    return line;
}

Value send(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "send", "tensor");
    const Line line = line_of(rank, given, "send", "destination");
    if (line.comm) line.comm->send(tensor->data(), line.peer, line.tag, tensor->dtype);
    return Value::none();
}

Value recv(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "recv", "tensor");
    const Line line = line_of(rank, given, "recv", "source");
    if (line.comm) line.comm->recv(tensor->data(), line.peer, line.tag, tensor->dtype);
    return Value::none();
}

Value isend(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "isend", "tensor");
    const Line line = line_of(rank, given, "isend", "destination");
    if (!line.comm) return Value::none();
    return handle_of({tensor}, line.comm->send_async(tensor->data(), line.peer, line.tag, tensor->dtype));
}

Value irecv(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "irecv", "tensor");
    const Line line = line_of(rank, given, "irecv", "source");
    if (!line.comm) return Value::none();
    return handle_of({tensor}, line.comm->recv_async(tensor->data(), line.peer, line.tag, tensor->dtype));
}

Value group_start(Interpreter& rank, Arguments& given) {
    if (Comm* comm = comm_of(rank, given[0], "group_start")) comm->group_start();
    return Value::none();
}

Value group_end(Interpreter& rank, Arguments& given) {
    if (Comm* comm = comm_of(rank, given[0], "group_end")) comm->group_end();
    return Value::none();
}

}  // namespace

std::vector<BuiltinRow> comm_builtins() {
    return {{"new_group", new_group},
            {"get_rank", get_rank},
            {"get_world_size", get_world_size},
            {"init_process_group", init_process_group},
            {"all_reduce", all_reduce},
            {"broadcast", broadcast},
            {"reduce", reduce},
            {"all_gather", all_gather},
            {"all_gather_into_tensor", all_gather_into},
            {"reduce_scatter_tensor", reduce_scatter},
            {"all_to_all_single", all_to_all},
            {"barrier", barrier},
            {"all_gather_object", all_gather_object},
            {"broadcast_object", broadcast_object},
            {"send", send},
            {"recv", recv},
            {"isend", isend},
            {"irecv", irecv},
            {"group_start", group_start},
            {"group_end", group_end}};
}

}  // namespace deadrank::sim::program
