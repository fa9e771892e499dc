// sim/program/builtins_points.cpp — Messages from one rank to another, and batches of them.
// Texts: torch.distributed 2.11.
#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

using Tensors = std::vector<std::shared_ptr<Tensor>>;

// From here to there.
struct Line {
    Comm* comm = nullptr;
    Rank peer = 0;
    int tag = 0;
};

Line line_of(Interpreter& rank, Arguments& given, const std::shared_ptr<Tensor>& tensor,
             std::string_view call, std::string_view what) {
    Line line{.comm = comm_of(rank, given[3], call, {tensor})};
    if (!line.comm) return line;
    line.tag = given[2].is(Type::unset) ? 0 : static_cast<int>(as_whole(given[2], "tag"));
    if (what == "source" && !stated(given[1]) && !stated(given[4])) {
        if (!line.comm->moves_host_memory())
            raise("RuntimeError", "Backend nccl does not support recvAnysource");
        line.peer = any_source;
        return line;
    }
    line.peer = root_of(*line.comm, given[1], given[4], given[3], what);
    if (line.peer == line.comm->rank())
        raise("ValueError",
              fmt::format(
                  "Invalid {0} rank: {0} rank should not be the same as the rank of the current process.",
                  what));
    return line;
}

struct Message {
    bool sends = false;
    Line line;
    std::shared_ptr<Tensor> tensor;

    std::unique_ptr<Work> post(const Tensor& data) const {
        return sends ? line.comm->send_async(data.data(), line.peer, line.tag, as_moved(data.dtype))
                     : line.comm->recv_async(data.data(), line.peer, line.tag, as_moved(data.dtype));
    }
};

// `given`: tensor, peer, tag, group, peer in the group.
Message message_in(Interpreter& rank, Arguments& given, std::string_view call, bool sends) {
    const auto tensor = behind_pointer(tensor_in(given[0], call, "tensor"));
    return {.sends = sends,
            .line = line_of(rank, given, tensor, call, sends ? "destination" : "source"),
            .tensor = tensor};
}

// As an entry of the communicator's stream, where the program has streams; nothing otherwise.
std::optional<Value> queued_message(Interpreter& rank, const Message& message, bool handle) {
    if (!message.line.comm || !rank.queues()) return std::nullopt;
    return queued_call(rank, *message.line.comm, {message.tensor}, handle,
                       [message](const Tensors& held) { return message.post(*held[0]); });
}

Value send(Interpreter& rank, Arguments& given) {
    const Message message = message_in(rank, given, "send", true);
    if (auto queued = queued_message(rank, message, false)) return *queued;
    const auto& [comm, peer, tag] = message.line;
    if (comm) comm->send(message.tensor->data(), peer, tag, as_moved(message.tensor->dtype));
    return Value::none();
}

Value recv(Interpreter& rank, Arguments& given) {
    const Message message = message_in(rank, given, "recv", false);
    const auto& [comm, peer, tag] = message.line;
    const auto in_world = [&](Rank from) {
        return Value::whole(stated(given[3]) ? given[3].group().ranks[static_cast<std::size_t>(from)] : from);
    };
    if (peer != any_source && queued_message(rank, message, false)) return in_world(peer);
    wait_for_kernels(rank);
    if (!comm) return Value::whole(-1);
    if (peer != any_source) {
        comm->recv(message.tensor->data(), peer, tag, as_moved(message.tensor->dtype));
        return in_world(peer);
    }
    const auto work = message.post(*message.tensor);
    work->wait();
    return in_world(work->source());
}

Value posted(Interpreter& rank, const Message& message) {
    if (auto queued = queued_message(rank, message, true)) return *queued;
    if (!message.line.comm) return Value::none();
    return handle_of(rank, nullptr, {message.tensor}, message.post(*message.tensor));
}

Value isend(Interpreter& rank, Arguments& given) {
    return posted(rank, message_in(rank, given, "isend", true));
}

Value irecv(Interpreter& rank, Arguments& given) {
    return posted(rank, message_in(rank, given, "irecv", false));
}

Value p2p_op(Interpreter&, Arguments& given) {
    const bool known = given[0].is(Type::function) &&
                       (given[0].callable().name == "isend" || given[0].callable().name == "irecv");
    if (!known)
        raise("ValueError",
              "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
              "``torch.distributed.irecv``.");
    return Value::new_list({given.begin(), given.end()});
}

class Batch {
public:
    explicit Batch(Comm& comm) : comm_(comm) { comm_.batch_start(); }
    ~Batch() { comm_.batch_end(); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

private:
    Comm& comm_;
};

// Of a program with streams: one entry of its communicator's stream.
class BatchWork final : public Work {
public:
    BatchWork(const std::vector<Message>& messages, const Tensors& pins) {
        const Batch batch(*messages.front().line.comm);
        for (std::size_t i = 0; i < messages.size(); ++i) parts_.push_back(messages[i].post(*pins[i]));
    }

    bool ready() override {
        return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->ready(); });
    }
    bool wait_for(Time patience, const std::function<bool()>& enough) override {
        return std::all_of(parts_.begin(), parts_.end(),
                           [&](const auto& part) { return part->wait_for(patience, enough); });
    }
    void wait() override {
        for (const auto& part : parts_) part->wait();
    }

private:
    std::vector<std::unique_ptr<Work>> parts_;
};

Message message_of(Interpreter& rank, const Value& op) {
    if (!op.is(Type::list) || op.list().items.size() != 6)
        raise("ValueError",
              "Invalid ``p2p_op_list``. Each op is expected to to be of type "
              "``torch.distributed.P2POp``.");
    const auto& parts = op.list().items;
    Arguments arguments = {parts[1], parts[2], parts[4], parts[3], parts[5]};
    const bool sends = parts[0].callable().name == "isend";
    return message_in(rank, arguments, sends ? "isend" : "irecv", sends);
}

// Each of them is under way before any is waited for. Over NCCL a batch is one kernel, which begins after the
// batch before it.
Value batch_isend_irecv(Interpreter& rank, Arguments& given) {
    const auto ops = items_of(given[0]);
    if (ops.empty()) raise("ValueError", "p2p_op_list must not be empty");
    std::vector<Message> messages;
    for (const Value& op : ops) messages.push_back(message_of(rank, op));
    Comm* const comm = messages.front().line.comm;
    for (const Message& message : messages)
        if (message.line.comm != comm) raise("ValueError", "All ops need to use the same group.");
    if (!comm) return Value::new_list(std::vector<Value>(messages.size(), Value::none()));
    if (rank.queues()) {
        Tensors held;
        for (const Message& message : messages) held.push_back(message.tensor);
        if (const auto queued = queued_call(rank, *comm, std::move(held), true, [=](const Tensors& pins) {
                return std::make_unique<BatchWork>(messages, pins);
            }))
            return Value::new_list(std::vector<Value>(messages.size(), *queued));
    }
    std::vector<Value> handles;
    const Batch batch(*comm);
    for (const Message& message : messages)
        handles.push_back(handle_of(rank, nullptr, {message.tensor}, message.post(*message.tensor)));
    return Value::new_list(std::move(handles));
}

}  // namespace

std::vector<BuiltinRow> point_builtins() {
    return {{"send", send},   {"recv", recv},    {"isend", isend},
            {"irecv", irecv}, {"P2POp", p2p_op}, {"batch_isend_irecv", batch_isend_irecv}};
}

}  // namespace deadrank::sim::program
