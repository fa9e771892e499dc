// runners/mpi/linked/bootstrap.cpp — Members are ranks as RANK names them; the files say which process is
// which.
#include "runners/mpi/linked/bootstrap.h"

#include <charconv>
#include <fmt/format.h>

#include "sim/failure.h"

namespace deadrank::runners {

using results::Code;
using results::Time;

namespace {

std::int64_t number_in(const std::string& text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::string seat(results::Rank place) { return fmt::format("place {}", place); }

[[noreturn]] void fail(MpiRank& rank, results::CommId id, Code code, const std::string& text) {
    rank.evidence.record(results::CommError{id, code, rank.evidence.text(text)});
    rank.evidence.record(results::CommInitLeave{id, code});
    throw sim::LibraryError(code, "torch.distributed.DistBackendError: MPI error: " + text);
}

// As c10d when nobody brings the unique id.
void wait_for_first(MpiRank& rank, const MeetingPlace& here, results::CommId id, results::Rank place,
                    Time timeout) {
    const Time until = rank.evidence.clock().now() + timeout;
    rank.gate.wait([&] { return here.get(seat(0)).has_value() || rank.evidence.clock().now() > until; });
    if (here.get(seat(0))) return;
    rank.evidence.record(results::CommInitLeave{id, Code::timeout});
    throw sim::LibraryError(
        Code::timeout,
        fmt::format(
            "torch.distributed.DistBackendError: [{}] is setting up a communicator and found nobody at "
            "its place 0: wait timeout after {}ms",
            place, timeout.count() / 1'000'000));
}

MPI_Comm made_of(const std::vector<int>& processes, int tag) {
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(processes.size()), processes.data(), &group);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &made);
    return made;
}

}  // namespace

std::unique_ptr<sim::Comm> join_communicator(MpiRank& rank, const MeetingPlace& place, const Joining& joining,
                                             const sim::CommRequest& request) {
    sim::Call call{.kind = sim::CallKind::comm_init, .name = "comm_init"};
    call.comm = request.name;
    call.count = request.members.size();
    rank.gate.pass(call);
    if (call.skip)
        return std::make_unique<MpiComm>(rank, MPI_COMM_NULL, 0, request.name, std::vector<results::Rank>{});

    const auto size = static_cast<results::Rank>(call.count);
    const results::Rank mine = request.members.place_of(request.rank);
    const results::Rank lead = request.members.empty() ? 0 : request.members[0];
    // A communicator of one needs nobody: each process has its own, whatever it calls itself.
    const std::string alone = request.members.size() == 1 ? fmt::format(" of {}", joining.process) : "";
    const MeetingPlace here =
        place.within(fmt::format("comm {} {} from {}{}", request.name, joining.nth, lead, alone));
    if (!here.get("id") && here.claim("maker", ""))
        here.set("id", std::to_string(place.add("communicators", 1)));
    rank.gate.wait([&] { return here.get("id").has_value(); });
    const auto id = static_cast<results::CommId>(number_in(*here.get("id")));
    Trail& evidence = rank.evidence;
    evidence.record(results::CommInitEnter{id, size, mine, evidence.text(request.name),
                                           evidence.text(request.members.text())});
    if (call.answer != Code::ok) fail(rank, id, call.answer, "the communicator could not be made");
    if (mine < 0 || mine >= size)
        fail(rank, id, Code::invalid_argument, fmt::format("invalid rank {} of {}", mine, size));
    if (call.never_completes) rank.gate.wait([] { return false; });
    // A place that is taken, or another idea of how many there are: this one is turned away, and waits for
    // ever.
    const bool agrees = here.claim("size", std::to_string(size)) || here.get("size") == std::to_string(size);
    if (!agrees || !here.claim(seat(mine), std::to_string(joining.process))) {
        evidence.log(
            1, agrees ? fmt::format("place {} of {} has already checked in", mine, size)
                      : fmt::format("mismatch in size, {} vs {}", size, here.get("size").value_or("?")));
        here.set("broken", "");
    }
    wait_for_first(rank, here, id, mine, joining.store_timeout);
    std::vector<int> processes;
    rank.gate.wait([&] {
        if (here.get("broken")) return false;
        while (static_cast<results::Rank>(processes.size()) < size) {
            const auto there = here.get(seat(static_cast<results::Rank>(processes.size())));
            if (!there) return false;
            processes.push_back(static_cast<int>(number_in(*there)));
        }
        return true;
    });
    const MPI_Comm made = made_of(processes, static_cast<int>(id));
    evidence.record(results::CommInitLeave{id, Code::ok, evidence.text("MPI")});
    return std::make_unique<MpiComm>(rank, made, id, request.name, request.members.list());
}

}  // namespace deadrank::runners
