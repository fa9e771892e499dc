// runners/backends/ranks/bootstrap.cpp — Members are ranks as RANK names them; which process is which, the
// files say.
#include "runners/backends/ranks/bootstrap.h"

#include <charconv>
#include <fmt/format.h>

#include "runners/backends/ranks/comm.h"

namespace deadrank::runners {

using results::Code;

namespace {

std::int64_t number_in(const std::string& text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

std::unique_ptr<sim::Comm> join_communicator(RealRank& rank, Library& library, const MeetingPlace& place,
                                             const Joiner& joiner, const sim::CommRequest& request) {
    sim::Call call{.kind = sim::CallKind::comm_init, .name = "comm_init"};
    call.comm = request.name;
    call.count = request.members.size();
    rank.gate.pass(call);
    if (call.skip) return std::make_unique<RealComm>(rank, library, nullptr, RealPlace{.name = request.name});

    const auto size = static_cast<results::Rank>(call.count);
    const results::Rank mine = request.members.place_of(request.rank);
    const results::Rank lead = request.members.empty() ? 0 : request.members[0];
    // A communicator of one needs nobody: each process has its own, whatever it calls itself.
    const std::string alone = request.members.size() == 1 ? fmt::format(" of {}", joiner.process) : "";
    const MeetingPlace here =
        place.within(fmt::format("comm {} {} from {}{}", request.name, joiner.nth, lead, alone));
    if (!here.get("id") && here.claim("maker", ""))
        here.set("id", std::to_string(place.add("communicators", 1)));
    rank.gate.wait([&] { return here.get("id").has_value(); });
    const auto id = static_cast<results::CommId>(number_in(*here.get("id")));
    Trail& evidence = rank.evidence;
    evidence.record(results::CommInitEnter{id, size, mine, evidence.text(request.name),
                                           evidence.text(request.members.text())});
    if (call.answer != Code::ok)
        fail_to_join(rank, library, id, call.answer, "the communicator could not be made");
    if (call.never_completes) rank.gate.wait([] { return false; });
    auto wire = library.join(rank, {id, joiner.process, mine, size, joiner.store_timeout, here});
    evidence.record(results::CommInitLeave{id, Code::ok, evidence.text(library.name())});
    return std::make_unique<RealComm>(rank, library, std::move(wire),
                                      RealPlace{id, request.name, request.members.list(), mine, size});
}

}  // namespace deadrank::runners
