// sim/program/builtins_messages.cpp — What a library makes of messages: exchanges of unequal parts, gather
// and scatter. Texts: torch.distributed 2.11.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

using Tensors = std::vector<std::shared_ptr<Tensor>>;

// Whether the rank has a part for itself; raises where it is not as long as what it takes.
bool keeps_a_part(const Comm& comm, const Tensors& to, const Tensors& from) {
    const auto own = static_cast<std::size_t>(comm.rank());
    const bool both = to[own] && from[own];
    if (both && to[own]->count() != from[own]->count())
        raise("RuntimeError", fmt::format("The size of tensor a ({}) must match the size of tensor b ({}) at "
                                          "non-singleton dimension 0",
                                          from[own]->count(), to[own]->count()));
    return both;
}

// What goes to each member and what comes from it, as NCCL plays it: messages within one group call, none
// where there is nothing to send. Whoever expects something else than the other one sends waits, or reads a
// truncated message.
void exchange(Comm& comm, const Tensors& to, const Tensors& from) {
    const auto own = static_cast<std::size_t>(comm.rank());
    const bool both = keeps_a_part(comm, to, from);
    comm.group_start();
    for (std::size_t peer = 0; peer < to.size(); ++peer)
        if (peer != own && to[peer] && to[peer]->count() > 0)
            comm.send(to[peer]->data(), static_cast<Rank>(peer), 0, as_moved(to[peer]->dtype));
    for (std::size_t peer = 0; peer < from.size(); ++peer)
        if (peer != own && from[peer] && from[peer]->count() > 0)
            comm.recv(from[peer]->data(), static_cast<Rank>(peer), 0, as_moved(from[peer]->dtype));
    if (both) std::copy_n(to[own]->data().begin(), to[own]->count(), from[own]->data().begin());
    comm.group_end();
}

// An exchange under way: its messages, and the part that stays with the rank.
class ExchangeWork final : public Work {
public:
    ExchangeWork(Comm& comm, const Tensors& to, const Tensors& from) {
        const auto own = static_cast<std::size_t>(comm.rank());
        if (keeps_a_part(comm, to, from)) kept_ = to[own], into_ = from[own];
        for (std::size_t peer = 0; peer < to.size(); ++peer)
            if (peer != own && to[peer] && to[peer]->count() > 0)
                messages_.push_back(
                    comm.send_async(to[peer]->data(), static_cast<Rank>(peer), 0, as_moved(to[peer]->dtype)));
        for (std::size_t peer = 0; peer < from.size(); ++peer)
            if (peer != own && from[peer] && from[peer]->count() > 0)
                messages_.push_back(comm.recv_async(from[peer]->data(), static_cast<Rank>(peer), 0,
                                                    as_moved(from[peer]->dtype)));
    }

    bool ready() override {
        return std::all_of(messages_.begin(), messages_.end(),
                           [](const auto& message) { return message->ready(); });
    }
    bool wait_for(Time patience, const std::function<bool()>& enough) override {
        return std::all_of(messages_.begin(), messages_.end(),
                           [&](const auto& message) { return message->wait_for(patience, enough); });
    }
    void wait() override {
        for (const auto& message : messages_) message->wait();
        if (kept_) std::copy_n(kept_->data().begin(), kept_->count(), into_->data().begin());
    }

private:
    std::vector<std::unique_ptr<Work>> messages_;
    std::shared_ptr<Tensor> kept_, into_;
};

Value exchanged(Interpreter& rank, Comm& comm, const Tensors& to, const Tensors& from, bool waits) {
    if (rank.queues()) {
        Tensors held;
        for (const Tensors* list : {&to, &from})
            for (const auto& tensor : *list) held.push_back(tensor);
        if (auto queued = queued_call(rank, comm, std::move(held), !waits, [&comm](const Tensors& pins) {
                const auto half = pins.begin() + std::ssize(pins) / 2;
                return std::make_unique<ExchangeWork>(comm, Tensors(pins.begin(), half),
                                                      Tensors(half, pins.end()));
            }))
            return *queued;
    }
    if (waits) {
        exchange(comm, to, from);
        return Value::none();
    }
    Tensors held;  // until the handle's wait()
    for (const Tensors* list : {&to, &from})
        for (const auto& tensor : *list)
            if (tensor) held.push_back(tensor);
    return handle_of(rank, &comm, std::move(held), std::make_unique<ExchangeWork>(comm, to, from));
}

// Rows for each member, as torch checks them.
Shape split_sizes(const Value& stated_sizes, const Tensor& tensor, const Comm& comm) {
    const std::int64_t rows = tensor.shape.empty() ? 0 : tensor.shape.front();
    Shape sizes;
    if (stated(stated_sizes))
        for (const Value& size : items_of(stated_sizes)) sizes.push_back(as_whole(size, "a split size"));
    if (sizes.empty()) {
        if (rows % comm.size() != 0)
            raise("RuntimeError", "Tensor's dim 0 does not divide equally across group size");
        return Shape(static_cast<std::size_t>(comm.size()), rows / comm.size());
    }
    if (std::ssize(sizes) != comm.size())
        raise("RuntimeError", "Number of tensor splits not equal to group size");
    std::int64_t sum = 0;
    bool negative = false;
    for (const std::int64_t size : sizes) {
        sum += size;
        negative |= size < 0;
    }
    if (negative || sum != rows) raise("RuntimeError", "Split sizes doesn't match total dim 0 size");
    return sizes;
}

Tensors rows_of(const Tensor& tensor, const Shape& sizes) {
    Tensors cut;
    for (const Value& part : parts(tensor, sizes)) cut.push_back(part.shared_tensor());
    return cut;
}

Value all_to_all_single(Interpreter& rank, Arguments& given) {
    const auto output = tensor_in(given[0], "all_to_all_single", "output");
    const auto input = tensor_in(given[1], "all_to_all_single", "input");
    if (given[2].is(Type::group)) given[4] = std::exchange(given[2], Value());
    Comm* comm = comm_of(rank, given[4], "all_to_all_single", {output, input});
    if (!comm) return Value::none();
    if (output->dtype != input->dtype) raise("ValueError", "Tensors must be of equal type");
    const Shape out = split_sizes(given[2], *output, *comm), in = split_sizes(given[3], *input, *comm);
    if (!stated(given[2]) && !stated(given[3])) {
        if (output->count() != input->count())
            raise("RuntimeError", "Split sizes doesn't match total dim 0 size");
        if (rank.queues())
            if (auto queued =
                    queued_call(rank, *comm, {output, input}, truth(given[5]), [=](const auto& held) {
                        return comm->all_to_all_async(held[1]->data(), held[0]->data(),
                                                      as_moved(held[1]->dtype));
                    }))
                return *queued;
        if (truth(given[5]))
            return handle_of(rank, comm, {output, input},
                             comm->all_to_all_async(input->data(), output->data(), as_moved(input->dtype)));
        comm->all_to_all(input->data(), output->data(), as_moved(input->dtype));
        return Value::none();
    }
    return exchanged(rank, *comm, rows_of(*input, in), rows_of(*output, out), !truth(given[5]));
}

Tensors one_each(const Value& list, std::string_view call, std::string_view parameter, const Comm& comm) {
    Tensors tensors;
    for (const Value& item : items_of(list)) tensors.push_back(tensor_in(item, call, parameter));
    if (std::ssize(tensors) != comm.size())
        raise("ValueError", fmt::format("{}() takes one tensor of `{}` for each of {} members, not {}", call,
                                        parameter, comm.size(), tensors.size()));
    return tensors;
}

Value all_to_all(Interpreter& rank, Arguments& given) {
    Comm* comm = comm_of(rank, given[2], "all_to_all");
    if (!comm) return Value::none();
    const Tensors out = one_each(given[0], "all_to_all", "output_tensor_list", *comm);
    const Tensors in = one_each(given[1], "all_to_all", "input_tensor_list", *comm);
    for (const Tensors* list : {&out, &in}) {
        check_places(rank, *comm, given[2], *list);
        for (const auto& tensor : *list)
            if (tensor->dtype != in.front()->dtype) raise("ValueError", "Tensors must be of equal type");
    }
    return exchanged(rank, *comm, in, out, !truth(given[3]));
}

Value gather(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "gather", "tensor");
    Comm* comm = comm_of(rank, given[3], "gather", {tensor});
    if (!comm) return Value::none();
    const Value usual = stated(given[2]) || stated(given[5]) ? given[2] : Value::whole(0);
    const Rank root = root_of(*comm, usual, given[5], given[3], "destination");
    const auto size = static_cast<std::size_t>(comm->size());
    Tensors to(size), from(size);
    to[static_cast<std::size_t>(root)] = tensor;
    if (comm->rank() == root) {
        if (!stated(given[1]))
            raise("ValueError", "Argument ``gather_list`` must be specified on destination rank.");
        from = one_each(given[1], "gather", "gather_list", *comm);
        check_places(rank, *comm, given[3], from);
    } else if (stated(given[1]) && !items_of(given[1]).empty()) {
        raise("ValueError", "Argument ``gather_list`` must NOT be specified on non-destination ranks.");
    }
    return exchanged(rank, *comm, to, from, !truth(given[4]));
}

Value scatter(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "scatter", "tensor");
    Comm* comm = comm_of(rank, given[3], "scatter", {tensor});
    if (!comm) return Value::none();
    const Value usual = stated(given[2]) || stated(given[5]) ? given[2] : Value::whole(0);
    const Rank root = root_of(*comm, usual, given[5], given[3], "source");
    const auto size = static_cast<std::size_t>(comm->size());
    Tensors to(size), from(size);
    from[static_cast<std::size_t>(root)] = behind_pointer(tensor);
    if (comm->rank() == root) {
        if (!stated(given[1]))
            raise("ValueError", "Argument ``scatter_list`` must be specified on source rank.");
        to = one_each(given[1], "scatter", "scatter_list", *comm);
        check_places(rank, *comm, given[3], to, true);
        for (auto& part : to) part = behind_pointer(part);
    } else if (stated(given[1]) && !items_of(given[1]).empty()) {
        raise("ValueError", "Argument ``scatter_list`` must NOT be specified on non-source ranks.");
    }
    return exchanged(rank, *comm, to, from, !truth(given[4]));
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

std::vector<BuiltinRow> message_builtins() {
    return {{"all_to_all_single", all_to_all_single},
            {"all_to_all", all_to_all},
            {"gather", gather},
            {"scatter", scatter},
            {"group_start", group_start},
            {"group_end", group_end}};
}

}  // namespace deadrank::sim::program
