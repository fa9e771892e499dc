// inject/shims/mpi/mpi_alter.cpp — How a fault alters an MPI call.

#include <algorithm>
#include <cstring>

#include "inject/shims/core/call_lines.h"
#include "inject/shims/mpi/mpi_call.h"

namespace deadrank::inject::shims {

namespace {

Scratch copy_of(const void* data, std::size_t bytes, std::size_t room) {
    auto scratch = std::make_shared<std::vector<char>>(std::max(bytes, room));
    if (bytes > 0) std::memcpy(scratch->data(), data, bytes);
    return scratch;
}

int changed(int count, const Alteration& how) {
    const std::int64_t wanted = how.count_set >= 0 ? how.count_set : count + how.count_change;
    return static_cast<int>(std::clamp<std::int64_t>(wanted, 0, 1 << 30));
}

// A rank that a fault made the root, or no longer the root, has arguments that were not meant to be read.
std::string fill_root_arguments(Call& call, const Call& asked, const Seat& seat) {
    const bool was = asked.root == seat.me, is = call.root == seat.me;
    const bool in_place = asked.send.data == MPI_IN_PLACE || asked.receive.data == MPI_IN_PLACE;
    if (was == is || call.which == Function::broadcast || call.which == Function::ibroadcast) return "";
    if (in_place && call.which == Function::reduce) {
        call.send.data = call.receive.data;
    } else if (in_place) {
        return "a root that works in place cannot hand its part to another";
    }
    if (is && call.which == Function::gather) call.receive = {nullptr, call.send.count, call.send.type};
    if (is && call.which == Function::reduce) call.receive = {nullptr, call.send.count, call.send.type};
    if (is && call.which == Function::scatter) call.send = {nullptr, call.receive.count, call.receive.type};
    return "";
}

std::string reshape(Call& call, const Call& asked, const Alteration& how, const Seat& seat) {
    if (how.op != results::Op::none) return "MPI would read beyond the buffers of another operation";
    if (how.root >= 0 && !has_root(call.which)) return std::string(moment_of(call.which)) + " has no root";
    if (how.root >= 0) call.root = how.root;
    if (how.reduce != results::ReduceOp::none && call.reduce) {
        call.reduce = reduce_of(how.reduce);
        if (!call.reduce) return "MPI has no operation " + std::string(results::name_of(how.reduce));
    }
    if (how.root >= 0 && !is_message(call.which)) {
        if (std::string why = fill_root_arguments(call, asked, seat); !why.empty()) return why;
    }
    if (how.dtype != results::Dtype::none) {
        const MPI_Datatype type = type_of(how.dtype);
        if (!type) return "MPI has no type " + std::string(results::name_of(how.dtype));
        call.send.type = call.receive.type = type;
    }
    if (how.count_set < 0 && how.count_change == 0) return "";
    const bool fixed = call.which == Function::reduce_scatter || call.which == Function::barrier ||
                       call.which == Function::ibarrier;
    if (fixed) return std::string(moment_of(call.which)) + " has no single number of elements";
    call.send.count = changed(call.send.count, how);
    call.receive.count = changed(call.receive.count, how);
    return "";
}

// The buffer with what this rank sends, when it is part of what it receives.
std::size_t own_part(const Call& call, const Seat& seat) {
    const bool gathers = call.which == Function::all_gather || call.which == Function::gather;
    if (!gathers || call.send.data != MPI_IN_PLACE) return 0;
    return static_cast<std::size_t>(seat.me) * static_cast<std::size_t>(call.receive.count) *
           width_of(call.receive.type);
}

std::string cannot_flip(const Call& call, const Alteration& how, const Seat& seat) {
    const bool there = how.flip_received ? receives(call, seat) : sends(call, seat);
    if (!there)
        return std::string("this rank ") + (how.flip_received ? "gets" : "gives") + " no data in " +
               moment_of(call.which);
    const Side& side = how.flip_received || sends_in_place(call) ? call.receive : call.send;
    return side.count > 0 && width_of(side.type) > 0 ? "" : "there is no element whose bit could be bent";
}

void bend_sent(Altered& altered, const Alteration& how, const Seat& seat) {
    Call& call = altered.call;
    const bool in_place = sends_in_place(call);
    const Side& side = in_place ? call.receive : call.send;
    const Bit bit = place_of(how.flip_bit, static_cast<std::size_t>(side.count), width_of(side.type));
    static_cast<char*>(side.data)[own_part(call, seat) + bit.byte] ^= static_cast<char>(bit.mask);
}

}  // namespace

void CompletionStep::operator()() const {
    if (from && to) std::memcpy(to, from->data(), bytes);
    if (bend) *bend = static_cast<char>(*bend ^ static_cast<char>(mask));
}

Altered alter(const Call& asked, const Alteration& how) {
    Altered altered{asked, {}, {}, {}};
    Call& call = altered.call;
    const Seat seat = seat_in(asked.comm);
    const bool flips = how.flip_bit >= 0, flips_sent = flips && !how.flip_received;
    std::string refused = reshape(call, asked, how, seat);
    if (refused.empty() && flips) refused = cannot_flip(call, how, seat);
    const auto own = memory_of(asked, seat);
    // A side without memory of its own is measured as if it had some.
    Call measured = call;
    char anything = 0;
    for (Side* side : {&measured.send, &measured.receive}) {
        if (!side->data) side->data = &anything;
    }
    const auto needed = memory_of(measured, seat);
    if (refused.empty() && (!own || !needed)) refused = "a datatype of it reaches before its buffer";
    if (!refused.empty()) return {asked, {}, {}, refused};

    const bool in_place = sends_in_place(call);
    if (needed->send > own->send || (flips_sent && !in_place)) {
        altered.kept.push_back(copy_of(asked.send.data, own->send, needed->send));
        call.send.data = altered.kept.back()->data();
    }
    if (needed->receive > own->receive || (flips_sent && in_place)) {
        altered.kept.push_back(copy_of(asked.receive.data, own->receive, needed->receive));
        call.receive.data = altered.kept.back()->data();
        const std::size_t fits = std::min(own->receive, needed->receive);
        if (receives(call, seat) && fits > 0)
            altered.afterwards.push_back(
                {altered.kept.back(), static_cast<char*>(asked.receive.data), fits, nullptr, 0});
    }
    if (flips_sent) bend_sent(altered, how, seat);
    if (flips && how.flip_received && own->receive > 0) {
        const Side& side = call.receive;
        const Bit bit = place_of(how.flip_bit, static_cast<std::size_t>(side.count), width_of(side.type));
        if (bit.byte < own->receive)
            altered.afterwards.push_back(
                {nullptr, nullptr, 0, static_cast<char*>(asked.receive.data) + bit.byte, bit.mask});
    }
    return altered;
}

Altered defer_call(const Call& asked) {
    if (asked.which == Function::recv || asked.which == Function::send_recv)
        return {asked, {}, {}, "the program reads what it received before its next call"};
    Altered kept{asked, {}, {}, {}};
    Call& call = kept.call;
    const Seat seat = seat_in(asked.comm);
    const auto own = memory_of(asked, seat);
    if (!own) return {asked, {}, {}, "a datatype of it reaches before its buffer"};
    call.status = MPI_STATUS_IGNORE;
    if (asked.request) return kept;  // its buffers are MPI's until the program waits
    if (own->send > 0) {
        kept.kept.push_back(copy_of(asked.send.data, own->send, 0));
        call.send.data = kept.kept.back()->data();
    }
    const bool gives = sends(asked, seat) && sends_in_place(asked);
    // The frame with this variable may be gone when the result comes: it keeps what it held.
    if (own->receive > 0 && (gives || on_stack(asked.receive.data))) {
        kept.kept.push_back(copy_of(asked.receive.data, own->receive, 0));
        call.receive.data = kept.kept.back()->data();
        if (receives(asked, seat) && !on_stack(asked.receive.data))
            kept.afterwards.push_back(
                {kept.kept.back(), static_cast<char*>(asked.receive.data), own->receive, nullptr, 0});
    }
    return kept;
}

}  // namespace deadrank::inject::shims
