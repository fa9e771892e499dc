// sim/program/builtins_comm.cpp — Collectives of tensors as torch.distributed calls them. Texts:
// torch.distributed 2.11.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/program/program_kind.h"
#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

Comm* comm_of(Interpreter& rank, const Value& group, std::string_view call) {
    rank.reach_device();
    if (!stated(group)) {
        connect_world(rank, call, anywhere);
        Comm& world = rank.host().comm();
        take_buffers(rank, world, {});
        return &world;
    }
    if (!group.is(Type::group))
        raise("TypeError", fmt::format("group must be a ProcessGroup, not {}", type_word(group)));
    if (Comm* own = group.group().own.get()) return take_buffers(rank, *own, group), own;
    rank.world().log(
        fmt::format("UserWarning: Running {} on global rank {} which does not belong to the given "
                    "group.",
                    call, rank.host().rank()),
        1);
    return nullptr;
}

// torch's words name no line, and that of the call is not the one to mend.
void tell_why_on_host(Interpreter& rank, const Tensor& tensor) {
    if (tensor.made_line == 0) return;
    const scenarios::program::Spot& since = rank.program().places_since;
    rank.world().log(
        fmt::format(
            "the tensor was made without a device in line {} of {}, and so lies in the node's memory, as "
            "{} puts others on a device",
            tensor.made_line, scenarios::program::part_name(static_cast<Part>(tensor.made_part)),
            since.line > 0 ? scenarios::program::place_text(since) : "a setting of let"),
        1);
}

// NCCL moves what lies on the device that its group was made with; gloo takes all. Both want elements that
// follow each other; what `unseen` calls of gloo do not look at is read as if they did.
void check_places(Interpreter& rank, Comm& comm, const Value& group,
                  const std::vector<std::shared_ptr<Tensor>>& tensors, bool unseen) {
    for (const auto& tensor : tensors) comm.keep(tensor);
    const bool strided =
        std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor->strided; });
    if (strided && !(unseen && comm.moves_host_memory())) raise("ValueError", "Tensors must be contiguous");
    if (comm.moves_host_memory()) return;
    const Place own = stated(group) ? group.group().place : rank.world_place;
    const bool any_device = !stated(group) && !rank.world_bound;
    for (const auto& tensor : tensors) {
        if (tensor->place == anywhere || tensor->place == own) continue;
        if (any_device && tensor->place >= 0) continue;
        if (tensor->place == on_host) {
            tell_why_on_host(rank, *tensor);
            raise("RuntimeError", "No backend type associated with device type cpu");
        }
        raise("torch.distributed.DistBackendError",
              "Attempt to perform collective on tensor not on device passed to init_process_group");
    }
}

Comm* comm_of(Interpreter& rank, const Value& group, std::string_view call,
              const std::vector<std::shared_ptr<Tensor>>& tensors) {
    for (const auto& tensor : tensors)
        if (!stated(group) && tensor->place >= 0) connect_world(rank, call, tensor->place);
    Comm* comm = comm_of(rank, group, call);
    const bool unseen = call == "broadcast" || call == "reduce" || call == "scatter";
    if (comm) check_places(rank, *comm, group, tensors, unseen);
    return comm;
}

Value handle_of(Interpreter& rank, const Comm* stream, std::vector<std::shared_ptr<Tensor>> held,
                std::unique_ptr<Work> work) {
    auto handle = std::make_shared<Handle>();
    handle->held = std::move(held);
    handle->work = std::move(work);
    handle->stream = handle->work ? stream : nullptr;
    if (handle->stream) rank.under_way(handle);
    return Value::of(std::move(handle));
}

namespace {

ReduceOp reduction(const Value& word, const Tensor& of) {
    if (is_float8(of.dtype)) raise("RuntimeError", "a reduction of float8 is not known here: cast it first");
    if (!stated(word)) return ReduceOp::sum;
    const std::string& name = text_in(word, "op");
    const ReduceOp op = results::reduce_op_named(name == "mean" ? "avg" : name == "product" ? "prod" : name);
    if (op == ReduceOp::none)
        raise("ValueError",
              fmt::format("there is no reduction {}: known are sum, avg, max, min and prod", repr(word)));
    return op;
}

// A library multiplies decimals as they are, and here they are whole numbers of 65536ths: what is a whole
// number is multiplied as one.
class Factors {
public:
    Factors(Tensor& tensor, ReduceOp op) : tensor_(tensor), does_(op == ReduceOp::prod && !tensor.whole()) {
        for (Number& element : tensor_.data()) {
            if (!does_) break;
            if (element % one != 0)
                raise("ValueError", "a product over ranks of decimals that are not whole is not known here");
            element /= one;
        }
    }
    void back() {
        for (Number& element : tensor_.data())
            if (does_) element = saturate(Wide{element} << fraction_bits);
    }
    bool does() const { return does_; }

private:
    Tensor& tensor_;
    bool does_;
};

Value all_reduce(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "all_reduce", "tensor");
    const ReduceOp op = reduction(given[1], *tensor);
    Comm* comm = comm_of(rank, given[2], "all_reduce", {tensor});
    if (!comm) return Value::none();
    if (rank.queues() && op != ReduceOp::prod)
        if (auto queued = queued_call(rank, *comm, {tensor}, truth(given[3]), [=](const auto& held) {
                return comm->all_reduce_async(held[0]->data(), op, held[0]->dtype);
            }))
            return *queued;
    wait_for_kernels(rank);
    Factors factors(*tensor, op);
    if (truth(given[3]) && !factors.does())
        return handle_of(rank, comm, {tensor}, comm->all_reduce_async(tensor->data(), op, tensor->dtype));
    comm->all_reduce(tensor->data(), op, tensor->dtype);
    factors.back();
    fit(*tensor);
    return truth(given[3]) ? handle_of(rank, nullptr, {tensor}, nullptr) : Value::none();
}

Value broadcast(Interpreter& rank, Arguments& given) {
    auto tensor = tensor_in(given[0], "broadcast", "tensor");
    Comm* comm = comm_of(rank, given[2], "broadcast", {tensor});
    if (!comm) return Value::none();
    tensor = behind_pointer(tensor);
    const Rank root = root_of(*comm, given[1], given[4], given[2], "source");
    if (rank.queues())
        if (auto queued = queued_call(rank, *comm, {tensor}, truth(given[3]), [=](const auto& held) {
                return comm->broadcast_async(held[0]->data(), root, as_moved(held[0]->dtype));
            }))
            return *queued;
    if (truth(given[3]))
        return handle_of(rank, comm, {tensor},
                         comm->broadcast_async(tensor->data(), root, as_moved(tensor->dtype)));
    comm->broadcast(tensor->data(), root, as_moved(tensor->dtype));
    return Value::none();
}

Value reduce(Interpreter& rank, Arguments& given) {
    auto tensor = tensor_in(given[0], "reduce", "tensor");
    const ReduceOp op = reduction(given[2], *tensor);
    Comm* comm = comm_of(rank, given[3], "reduce", {tensor});
    if (!comm) return Value::none();
    tensor = behind_pointer(tensor);
    const Rank root = root_of(*comm, given[1], given[5], given[3], "destination");
    if (rank.queues() && op != ReduceOp::prod)
        if (auto queued = queued_call(rank, *comm, {tensor}, truth(given[4]), [=](const auto& held) {
                return comm->reduce_async(held[0]->data(), root, op, held[0]->dtype);
            }))
            return *queued;
    wait_for_kernels(rank);
    Factors factors(*tensor, op);
    if (truth(given[4]) && !factors.does())
        return handle_of(rank, comm, {tensor}, comm->reduce_async(tensor->data(), root, op, tensor->dtype));
    comm->reduce(tensor->data(), root, op, tensor->dtype);
    factors.back();
    fit(*tensor);
    return truth(given[4]) ? handle_of(rank, nullptr, {tensor}, nullptr) : Value::none();
}

std::vector<std::shared_ptr<Tensor>> tensors_in(const Value& list, std::string_view call,
                                                std::string_view parameter, const Comm& comm) {
    std::vector<std::shared_ptr<Tensor>> tensors;
    for (const Value& item : items_of(list)) tensors.push_back(tensor_in(item, call, parameter));
    if (std::ssize(tensors) != comm.size())
        raise("ValueError", fmt::format("{}() takes one tensor of `{}` for each of {} members, not {}", call,
                                        parameter, comm.size(), tensors.size()));
    return tensors;
}

bool alike(const std::vector<std::shared_ptr<Tensor>>& tensors) {
    return std::all_of(tensors.begin(), tensors.end(),
                       [&](const auto& one_of) { return one_of->count() == tensors.front()->count(); });
}

// Members' tensors on their way: each is copied into its own when all have come.
class ListWork final : public Work {
public:
    ListWork(Comm& comm, const std::shared_ptr<Tensor>& tensor, std::vector<std::shared_ptr<Tensor>> into)
        : all_(static_cast<std::size_t>(tensor->count() * comm.size())),
          into_(std::move(into)),
          work_(comm.all_gather_async(tensor->data(), all_, as_moved(tensor->dtype))) {}

    bool ready() override { return !work_ || work_->ready(); }
    bool wait_for(Time patience, const std::function<bool()>& enough) override {
        return !work_ || work_->wait_for(patience, enough);
    }
    void wait() override {
        if (work_) work_->wait();
        auto from = all_.begin();
        for (const auto& member : into_) {
            std::copy_n(from, member->count(), member->data().begin());
            from += member->count();
        }
    }

private:
    std::vector<Number> all_;
    std::vector<std::shared_ptr<Tensor>> into_;
    std::unique_ptr<Work> work_;
};

// Into tensors that are there. Where these differ in size, torch makes a broadcast of each member's.
Value gather_into_list(Interpreter& rank, const Value& list, const Value& input, const Value& group,
                       bool waits) {
    const auto tensor = tensor_in(input, "all_gather", "tensor");
    Comm* comm = comm_of(rank, group, "all_gather", {tensor});
    if (!comm) return Value::none();
    const auto into = tensors_in(list, "all_gather", "tensor_list", *comm);
    check_places(rank, *comm, group, into);
    const auto own = static_cast<std::size_t>(comm->rank());
    for (const auto& one_of : into)
        if (one_of->dtype != tensor->dtype)
            raise("TypeError", fmt::format("Invalid usage of tensors with different dtypes Found {} and  {}",
                                           dtype_text(one_of->dtype), dtype_text(tensor->dtype)));
    if (into[own]->count() != tensor->count())
        raise("ValueError", fmt::format("invalid tensor size at index {} (expected {}, got {})", own,
                                        shape_text(tensor->shape), shape_text(into[own]->shape)));
    if (rank.queues() && alike(into)) {
        auto held = into;
        held.push_back(tensor);
        if (auto queued = queued_call(rank, *comm, std::move(held), !waits, [=](const auto& pins) {
                return std::make_unique<ListWork>(
                    *comm, pins.back(), std::vector<std::shared_ptr<Tensor>>(pins.begin(), pins.end() - 1));
            }))
            return *queued;
    }
    if (!alike(into)) {
        wait_for_kernels(rank);
        std::copy_n(tensor->data().begin(), tensor->count(), into[own]->data().begin());
        comm->group_start();
        for (Rank root = 0; root < comm->size(); ++root) {
            const Tensor& part = *into[static_cast<std::size_t>(root)];
            comm->broadcast(part.data(), root, as_moved(part.dtype));
        }
        comm->group_end();
        return waits ? Value::none() : handle_of(rank, nullptr, {tensor}, nullptr);
    }
    if (!waits) {
        auto held = into;
        held.push_back(tensor);
        return handle_of(rank, comm, std::move(held), std::make_unique<ListWork>(*comm, tensor, into));
    }
    std::vector<Number> all(static_cast<std::size_t>(tensor->count() * comm->size()));
    comm->all_gather(tensor->data(), all, as_moved(tensor->dtype));
    for (std::size_t member = 0; member < into.size(); ++member)
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(member) * tensor->count(), tensor->count(),
                    into[member]->data().begin());
    return Value::none();
}

Value all_gather(Interpreter& rank, Arguments& given) {
    if (given[0].is(Type::list))
        return gather_into_list(rank, given[0], given[1], given[2], !truth(given[3]));
    if (truth(given[3]))
        raise("ValueError", "all_gather() with async_op=True fills a list: state its tensors first");
    const auto tensor = tensor_in(given[0], "all_gather", "tensor");
    Comm* comm = comm_of(rank, stated(given[1]) ? given[1] : given[2], "all_gather", {tensor});
    if (!comm) return Value::none();
    const auto all = new_tensor(tensor->dtype, {tensor->count() * comm->size()}, tensor->place);
    (void)rank.counted(Value::of(all));  // before anything is sent
    const bool queued =
        rank.queues() && queued_call(rank, *comm, {all, tensor}, false, [=](const auto& held) {
            return comm->all_gather_async(held[1]->data(), held[0]->data(), as_moved(held[1]->dtype));
        });
    if (!queued) comm->all_gather(tensor->data(), all->data(), as_moved(tensor->dtype));
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
    Comm* comm = comm_of(rank, given[2], "all_gather_into_tensor", {output, input});
    if (!comm) return Value::none();
    check_types(*output, *input);
    if (output->count() != input->count() * comm->size())
        raise("ValueError", "output tensor size must be equal to world_size times input tensor size");
    if (rank.queues())
        if (auto queued = queued_call(rank, *comm, {output, input}, truth(given[3]), [=](const auto& held) {
                return comm->all_gather_async(held[1]->data(), held[0]->data(), as_moved(held[1]->dtype));
            }))
            return *queued;
    if (truth(given[3]))
        return handle_of(rank, comm, {output, input},
                         comm->all_gather_async(input->data(), output->data(), as_moved(input->dtype)));
    comm->all_gather(input->data(), output->data(), as_moved(input->dtype));
    return Value::none();
}

Value scattered(Interpreter& rank, Comm& comm, const std::shared_ptr<Tensor>& output,
                const std::shared_ptr<Tensor>& input, ReduceOp op, bool waits) {
    check_types(*output, *input);
    if (input->count() != output->count() * comm.size())
        raise("ValueError", "input tensor must be the same size as output size times world size");
    if (rank.queues())
        if (auto queued = queued_call(rank, comm, {output, input}, !waits, [&comm, op](const auto& held) {
                return comm.reduce_scatter_async(held[1]->data(), held[0]->data(), op, held[1]->dtype);
            }))
            return *queued;
    if (!waits)
        return handle_of(rank, &comm, {output, input},
                         comm.reduce_scatter_async(input->data(), output->data(), op, input->dtype));
    comm.reduce_scatter(input->data(), output->data(), op, input->dtype);
    fit(*output);
    return Value::none();
}

Value reduce_scatter_tensor(Interpreter& rank, Arguments& given) {
    const auto output = tensor_in(given[0], "reduce_scatter_tensor", "output");
    const auto input = tensor_in(given[1], "reduce_scatter_tensor", "input");
    const ReduceOp op = reduction(given[2], *output);
    Comm* comm = comm_of(rank, given[3], "reduce_scatter_tensor", {output, input});
    return comm ? scattered(rank, *comm, output, input, op, !truth(given[4])) : Value::none();
}

// A list, one tensor for each member. Where these differ in size, torch makes a reduce to each member.
Value reduce_scatter(Interpreter& rank, Arguments& given) {
    const auto output = tensor_in(given[0], "reduce_scatter", "output");
    const ReduceOp op = reduction(given[2], *output);
    Comm* comm = comm_of(rank, given[3], "reduce_scatter", {output});
    if (!comm) return Value::none();
    const auto from = tensors_in(given[1], "reduce_scatter", "input_list", *comm);
    check_places(rank, *comm, given[3], from);
    std::vector<Value> flat;
    for (const auto& one_of : from) flat.push_back(Value::of(reshaped(*one_of, {one_of->count()})));
    if (alike(from)) {
        auto input = joined(flat, 0).shared_tensor();
        return scattered(rank, *comm, output, input, op, !truth(given[4]));
    }
    wait_for_kernels(rank);
    const auto own = static_cast<std::size_t>(comm->rank());
    if (from[own]->count() != output->count())
        raise("ValueError", fmt::format("invalid tensor size at index {} (expected {}, got {})", own,
                                        shape_text(output->shape), shape_text(from[own]->shape)));
    comm->group_start();
    for (Rank root = 0; root < comm->size(); ++root) {
        Tensor& part = *from[static_cast<std::size_t>(root)];
        comm->reduce(part.data(), root, op, part.dtype);
    }
    comm->group_end();
    std::copy_n(from[own]->data().begin(), output->count(), output->data().begin());
    fit(*output);
    return Value::none();
}

Value barrier(Interpreter& rank, Arguments& given) {
    Comm* comm = comm_of(rank, given[0], "barrier");
    if (!comm) return Value::none();
    if (!given[1].is(Type::unset) && truth(given[1])) return handle_of(rank, comm, {}, comm->barrier_async());
    comm->barrier();
    return Value::none();
}

}  // namespace

std::vector<BuiltinRow> comm_builtins() {
    return {{"all_reduce", all_reduce},
            {"broadcast", broadcast},
            {"reduce", reduce},
            {"all_gather", all_gather},
            {"all_gather_into_tensor", all_gather_into},
            {"reduce_scatter_tensor", reduce_scatter_tensor},
            {"reduce_scatter", reduce_scatter},
            {"barrier", barrier}};
}

}  // namespace deadrank::sim::program
