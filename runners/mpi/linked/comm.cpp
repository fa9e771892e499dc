// runners/mpi/linked/comm.cpp — Shown, altered from outside, handed to MPI, and waited for by asking: a rank
// that waits goes on to hear the clock's faults and its own watchdog.
#include "runners/mpi/linked/comm.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <utility>

#include "sim/failure.h"
#include "sim/nccl_texts.h"

namespace deadrank::runners {

using results::Code;
using results::Op;
using results::Time;

namespace {

bool is_message(Op op) { return op == Op::send || op == Op::recv; }

}  // namespace

class MpiComm::Pending final : public sim::Work {
public:
    Pending(MpiComm& comm, const MpiCall& call, std::int64_t number)
        : op(call.op),
          seq(number),
          count(call.count),
          peer(call.root),
          entered(comm.rank_.evidence.clock().now()),
          comm_(comm) {}
    // Whoever goes without waiting leaves MPI at work.
    ~Pending() override {
        if (operation && !shown_) comm_.orphans_.push_back(operation);
    }

    bool ready() override {
        if (!operation) return false;
        const bool over = operation->done();
        if (over) show();
        return over;
    }
    void wait() override {
        comm_.rank_.gate.wait([&] {
            const Time now = comm_.rank_.evidence.clock().now();
            if (comm_.rank_.watchdog && now - entered > comm_.rank_.collective_timeout) comm_.time_out(*this);
            return operation && operation->done();
        });
        show();
    }

    const Op op;
    const std::int64_t seq, count;
    const std::int32_t peer;
    const Time entered;
    std::shared_ptr<MpiOperation> operation;  // none: its kernel hangs

private:
    void show() {
        if (std::exchange(shown_, true)) return;
        const bool failed = operation->failed();
        const Code code = failed ? Code::internal_error : Code::ok;
        if (is_message(op)) {
            comm_.rank_.evidence.record(results::P2pLeave{comm_.id_, seq, peer, op, code});
        } else {
            comm_.rank_.evidence.record(results::CollectiveLeave{comm_.id_, seq, op, code});
        }
        if (failed) comm_.refuse(code, operation->error_text());
    }

    MpiComm& comm_;
    bool shown_ = false;
};

namespace {

// What a skipped call gives: waiting for it returns at once.
class Nothing final : public sim::Work {
    bool ready() override { return true; }
    void wait() override {}
};

}  // namespace

MpiComm::MpiComm(MpiRank& rank, MPI_Comm comm, results::CommId id, std::string name,
                 std::vector<Rank> members)
    : rank_(rank), comm_(comm), id_(id), name_(std::move(name)), members_(std::move(members)) {
    if (comm_ == MPI_COMM_NULL) return;
    MPI_Comm_rank(comm_, &place_);
    MPI_Comm_size(comm_, &size_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

void MpiComm::refuse(Code code, const std::string& text) {
    rank_.evidence.record(results::CommError{id_, code, rank_.evidence.text(text)});
    throw sim::LibraryError(code, "torch.distributed.DistBackendError: MPI error: " + text);
}

bool MpiComm::ask(MpiCall& call, sim::Call& asked) {
    if (comm_ == MPI_COMM_NULL) refuse(Code::invalid_argument, "MPI_ERR_COMM: invalid communicator");
    if (aborted_) throw sim::LibraryError(Code::aborted, fmt::format("{} was aborted", name_));
    asked.kind = call.op == Op::send   ? sim::CallKind::send
                 : call.op == Op::recv ? sim::CallKind::recv
                                       : sim::CallKind::collective;
    asked.name = results::name_of(call.op);
    asked.comm = name_;
    asked.seq = (is_message(call.op) ? p2p_called_ : called_) + 1;
    asked.count = call.count;
    asked.dtype = call.dtype;
    asked.op = call.op;
    asked.reduce = call.reduce;
    asked.root = call.root;
    rank_.gate.pass(asked);
    if (asked.answer != Code::ok) {
        refuse(asked.answer, fmt::format("{} answered {}", asked.name, results::name_of(asked.answer)));
    }
    call.count = asked.count;
    call.dtype = asked.dtype;
    call.root = asked.root;
    call.flip_bit = asked.flip_bit;
    call.flip_received = asked.flip_received;
    const bool rooted = call.op == Op::broadcast || call.op == Op::reduce || is_message(call.op);
    if (rooted && (call.root < 0 || call.root >= size_))
        refuse(Code::invalid_argument, fmt::format("MPI_ERR_ROOT: invalid root {} of {}", call.root, size_));
    return asked.skip;
}

std::unique_ptr<MpiComm::Pending> MpiComm::issue(const MpiCall& call, bool stuck) {
    const bool message = is_message(call.op);
    const std::int64_t seq = message ? ++p2p_called_ : ++called_;
    if (message) {
        rank_.evidence.record(
            results::P2pEnter{id_, seq, call.count, call.root, call.tag, call.op, call.dtype});
    } else {
        rank_.evidence.record(
            results::CollectiveEnter{id_, seq, call.count, call.root, call.op, call.dtype, call.reduce});
    }
    auto pending = std::make_unique<Pending>(*this, call, seq);
    if (!stuck) pending->operation = std::make_shared<MpiOperation>(call, comm_);
    return pending;
}

std::unique_ptr<sim::Work> MpiComm::start(MpiCall call) {
    sim::Call asked;
    if (ask(call, asked)) return std::make_unique<Nothing>();
    if (asked.hold && !held_) {
        hold(call);
        return std::make_unique<Nothing>();
    }
    auto pending = issue(call, asked.never_completes);
    release_held();
    return pending;
}

void MpiComm::run(MpiCall call) {
    auto work = start(call);
    if (group_depth_ > 0) return group_.push_back(std::move(work));
    work->wait();
}

// Its caller goes on with what it had; the call goes out after the next one, on a copy of its data.
void MpiComm::hold(const MpiCall& call) {
    const auto size = static_cast<std::size_t>(std::max(call.in_size, call.out_size));
    copies_.push_back(std::make_unique<std::vector<Number>>(size, 0));
    if (call.in) std::copy_n(call.in, call.in_size, copies_.back()->begin());
    held_ = std::make_unique<MpiCall>(call);
    if (call.out && call.in != call.out) {
        copies_.push_back(std::make_unique<std::vector<Number>>(size, 0));
        held_->in = copies_[copies_.size() - 2]->data();
    } else {
        held_->in = copies_.back()->data();
    }
    held_->out = call.out ? copies_.back()->data() : nullptr;
}

void MpiComm::release_held() {
    if (const auto held = std::exchange(held_, nullptr)) orphans_.push_back(issue(*held, false)->operation);
}

void MpiComm::time_out(const Pending& late) {
    const auto milliseconds = [](Time time) { return time.count() / 1'000'000; };
    const Time ran = rank_.evidence.clock().now() - late.entered;
    rank_.evidence.log(
        2,
        fmt::format("[Rank {}] Watchdog caught collective operation timeout: WorkMPI(SeqNum={}, OpType={}, "
                    "NumelIn={}, NumelOut={}, Timeout(ms)={}) ran for {} milliseconds before timing out.",
                    place_, late.seq, sim::op_type(late.op), late.count, late.count,
                    milliseconds(rank_.collective_timeout), milliseconds(ran)));
    rank_.evidence.record(results::CommAbort{id_});
    std::signal(SIGABRT, SIG_DFL);
    std::raise(SIGABRT);
    throw sim::RankKilled{SIGABRT};
}

void MpiComm::abort() {
    if (std::exchange(aborted_, true)) return;
    rank_.evidence.record(results::CommAbort{id_});
}

void MpiComm::group_end() {
    if (group_depth_ == 0) refuse(Code::invalid_usage, "a group ends that was never begun");
    if (--group_depth_ > 0) return;
    for (const auto& work : std::exchange(group_, {})) work->wait();
}

}  // namespace deadrank::runners
