// runners/backends/ranks/rank_comm.cpp — Each call is altered by faults, recorded, handed to the library, and
// polled, so that a waiting rank still serves timed faults and its own watchdog.
#include "runners/backends/ranks/rank_comm.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <utility>

#include "results/record/event_names.h"
#include "sim/collectives/library_texts.h"
#include "sim/world/failure.h"

namespace deadrank::runners {

using results::Code;
using results::Op;
using results::Time;

namespace {

constexpr Time watchdog_look_every{1'000'000'000};  // as c10d's watchdog
// c10d writes its dumps before it ends a process; a peer whose call is as old can report meanwhile.
constexpr Time dump_grace{5'000'000'000};

bool is_message(Op op) { return op == Op::send || op == Op::recv; }

}  // namespace

class RealComm::Pending final : public sim::Work {
public:
    Pending(RealComm& comm, const RealCall& call, std::int64_t number)
        : op(call.op),
          seq(number),
          count(call.count),
          peer(call.root),
          entered(comm.rank_.evidence.clock().now()),
          comm_(comm) {}
    // The library goes on with a call whose caller does not wait.
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
            if (comm_.rank_.watchdog) comm_.look_for_errors();
            return operation && operation->done();
        });
        show();
    }

    const Op op;
    const std::int64_t seq, count;
    const std::int32_t peer;
    const Time entered;
    std::shared_ptr<Operation> operation;  // nullptr: its kernel hangs

private:
    void show() {
        if (std::exchange(shown_, true)) return;
        const Code code = operation->code();
        if (is_message(op)) {
            comm_.rank_.evidence.record(results::P2pLeave{comm_.at_.id, seq, peer, op, code});
        } else {
            comm_.rank_.evidence.record(results::CollectiveLeave{comm_.at_.id, seq, op, code});
        }
        if (code != Code::ok) comm_.refuse(code, operation->error_text());
    }

    RealComm& comm_;
    bool shown_ = false;
};

namespace {

// The result of a skipped call: waiting for it returns at once.
class Nothing final : public sim::Work {
    bool ready() override { return true; }
    void wait() override {}
};

}  // namespace

RealComm::RealComm(RealRank& rank, CommLibrary& library, std::unique_ptr<Wire> wire, RealPlace place)
    : rank_(rank), library_(library), wire_(std::move(wire)), at_(std::move(place)) {}

void RealComm::refuse(Code code, const std::string& text) {
    rank_.evidence.record(results::CommError{at_.id, code, rank_.evidence.text(text)});
    throw sim::LibraryError(code, library_.exception(code, text));
}

bool RealComm::intercept_call(RealCall& call, sim::Call& asked) {
    if (!wire_) refuse(Code::invalid_argument, library_.no_communicator());
    if (aborted_) throw sim::LibraryError(Code::aborted, fmt::format("{} was aborted", at_.name));
    asked.kind = call.op == Op::send   ? sim::CallKind::send
                 : call.op == Op::recv ? sim::CallKind::recv
                                       : sim::CallKind::collective;
    asked.name = results::name_of(call.op);
    asked.comm = at_.name;
    asked.seq = (is_message(call.op) ? p2p_called_ : called_) + 1;
    asked.count = call.count;
    asked.dtype = call.dtype;
    asked.op = call.op;
    asked.reduce = call.reduce;
    asked.root = call.root;
    const Op meant = call.op;
    rank_.gate.pass(asked);
    if (asked.answer != Code::ok) {
        refuse(asked.answer, fmt::format("{} answered {}", asked.name, results::name_of(asked.answer)));
    }
    call.count = asked.count;
    call.dtype = asked.dtype;
    call.root = asked.root;
    call.flip_bit = asked.flip_bit;
    call.flip_received = asked.flip_received;
    if (asked.op != results::Op::none) call.op = asked.op;
    if (asked.op != meant && has_root(call.op) && call.root < 0) call.root = 0;
    if (asked.reduce != results::ReduceOp::none) call.reduce = asked.reduce;
    const bool wrong = has_root(call.op) && (call.root < 0 || call.root >= at_.size);
    const auto problem = wrong ? library_.wrong_root(call.root, at_.size) : std::nullopt;
    if (problem) refuse(Code::invalid_argument, *problem);
    return asked.skip;
}

std::unique_ptr<RealComm::Pending> RealComm::issue(const RealCall& call, bool stuck) {
    const bool message = is_message(call.op);
    const std::int64_t seq = message ? ++p2p_called_ : ++called_;
    if (message) {
        rank_.evidence.record(
            results::P2pEnter{at_.id, seq, call.count, call.root, call.tag, call.op, call.dtype});
    } else {
        rank_.evidence.record(
            results::CollectiveEnter{at_.id, seq, call.count, call.root, call.op, call.dtype, call.reduce});
    }
    auto pending = std::make_unique<Pending>(*this, call, seq);
    pending->operation = stuck ? wire_->begin_stuck(call) : wire_->begin(call);
    return pending;
}

std::unique_ptr<sim::Work> RealComm::start(RealCall call) {
    sim::Call asked;
    if (intercept_call(call, asked)) return std::make_unique<Nothing>();
    if (asked.hold && !held_) {
        hold(call);
        return std::make_unique<Nothing>();
    }
    auto pending = issue(call, asked.never_completes);
    release_held();
    return pending;
}

void RealComm::run(RealCall call) {
    auto work = start(call);
    if (group_depth_ > 0) return group_.push_back(std::move(work));
    work->wait();
}

// The caller goes on with its old data; the call is issued after the next one, on a copy of its data.
void RealComm::hold(const RealCall& call) {
    const auto size = static_cast<std::size_t>(std::max(call.in_size, call.out_size));
    copies_.push_back(std::make_unique<std::vector<Number>>(size, 0));
    if (call.in) std::copy_n(call.in, call.in_size, copies_.back()->begin());
    held_ = std::make_unique<RealCall>(call);
    if (call.out && call.in != call.out) {
        copies_.push_back(std::make_unique<std::vector<Number>>(size, 0));
        held_->in = copies_[copies_.size() - 2]->data();
    } else {
        held_->in = copies_.back()->data();
    }
    held_->out = call.out ? copies_.back()->data() : nullptr;
}

void RealComm::release_held() {
    if (const auto held = std::exchange(held_, nullptr)) orphans_.push_back(issue(*held, false)->operation);
}

void RealComm::time_out(const Pending& late) {
    const auto milliseconds = [](Time time) { return time.count() / 1'000'000; };
    const Time ran = rank_.evidence.clock().now() - late.entered;
    rank_.evidence.log(
        2, fmt::format("[Rank {}] Watchdog caught collective operation timeout: Work{}(SeqNum={}, OpType={}, "
                       "NumelIn={}, NumelOut={}, Timeout(ms)={}) ran for {} milliseconds before timing out.",
                       at_.place, library_.name(), late.seq, sim::op_type(late.op), late.count, late.count,
                       milliseconds(rank_.collective_timeout), milliseconds(ran)));
    rank_.gate.sleep(dump_grace);
    take_down("");
}

// As c10d's watchdog: an asynchronous error of the library ends the process.
void RealComm::look_for_errors() {
    if (rank_.evidence.clock().now() < next_look_) return;
    next_look_ = rank_.evidence.clock().now() + watchdog_look_every;
    const Code code = wire_->async_error();
    if (code == Code::ok) return;
    const std::string text = wire_->error_text();
    rank_.evidence.record(results::CommError{at_.id, code, rank_.evidence.text(text)});
    take_down(
        fmt::format("[PG ID {0} PG GUID {0}({1}) Rank {2}] Process group watchdog thread terminated with "
                    "exception: {3}",
                    at_.id - 1, at_.name == results::GroupName::world ? "default_pg" : at_.name, at_.place,
                    library_.exception(code, text)));
}

void RealComm::take_down(const std::string& why) {
    rank_.evidence.record(results::CommAbort{at_.id});
    if (!why.empty()) rank_.evidence.log(2, why);
    std::signal(SIGABRT, SIG_DFL);
    std::raise(SIGABRT);
    throw sim::RankKilled{SIGABRT};
}

Code RealComm::async_error() { return wire_ ? wire_->async_error() : Code::ok; }

void RealComm::abort() {
    if (std::exchange(aborted_, true)) return;
    rank_.evidence.record(results::CommAbort{at_.id});
    if (wire_) wire_->abort();
}

void RealComm::group_start() {
    if (group_depth_++ == 0 && wire_) wire_->group_start();
}

void RealComm::group_end() {
    if (group_depth_ == 0) refuse(Code::invalid_usage, "a group ends that was never begun");
    if (--group_depth_ > 0) return;
    if (wire_) wire_->group_end();
    for (const auto& work : std::exchange(group_, {})) work->wait();
}

}  // namespace deadrank::runners
