// inject/shims/mpi/opening.cpp — The beginning and the end: of the library, and of communicators.
#include <cstring>

#include "inject/shims/core/greeting.h"
#include "inject/shims/core/process.h"
#include "inject/shims/mpi/interposer.h"

namespace deadrank::inject::shims {

namespace {

// "Open MPI v4.1.4, package: …"
std::string versions() {
    char words[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    helper<decltype(PMPI_Get_library_version)>("PMPI_Get_library_version")(words, &length);
    const char* const number = std::strstr(words, " v");
    if (!number) return "openmpi=unknown";
    return "openmpi=" + std::string(number + 2, std::strcspn(number + 2, ", "));
}

}  // namespace

Interposer::Interposer()
    : session_([](RankSession& rank) { greet_rank(rank, versions(), "OMPI_COMM_WORLD_LOCAL_RANK"); }),
      communicators_(session_) {}

void Interposer::joining(const Communicator& comm) {
    Line line("comm.init.enter", comm.rank->rank);
    line.add("comm", comm.number).add("size", comm.size).add("rank_in_comm", comm.place);
    comm.rank->evidence.write(line.add("name", comm.name).add("members", comm.members));
}

void Interposer::joined(Communicator& comm, int code) {
    Line line("comm.init.leave", comm.rank->rank);
    line.add("comm", comm.number).add("result", results::name_of(code_of(code))).add("transport", "");
    comm.rank->evidence.write(line);
    if (code != MPI_SUCCESS) failed(comm, code);
}

int Interposer::begin(Function which, const std::function<int()>& make) {
    const Inside guard;
    Communicator& world = communicators_.world();
    Faults& faults = world.rank->faults;
    const Decision decision = faults.at(moment_of(which), world.name);
    if (const auto answer = suffer(world, nullptr, decision)) return *answer;
    if (decision.alteration.skip) faults.refuse(decision.fault, "without MPI_Init there is no MPI program");
    joining(world);
    if (decision.alteration.never_completes) sleep_forever();
    const int code = make();
    joined(world, code);
    return code;
}

int Interposer::end(const std::function<int()>& finalize) {
    const Inside guard;
    issue_held();
    Communicator& world = communicators_.world();
    const Decision decision = world.rank->faults.at(moment_of(Function::finalize), world.name);
    if (const auto answer = suffer(world, world_handle(), decision)) return *answer;
    if (decision.alteration.never_completes) sleep_forever();
    return decision.alteration.skip ? MPI_SUCCESS : finalize();
}

int Interposer::abort(MPI_Comm comm, const std::function<int()>& leave) {
    const Inside guard;
    Communicator& one = communicators_.of(comm == self_handle() ? world_handle() : comm);
    Line line("comm.abort", one.rank->rank);
    one.rank->evidence.write(line.add("comm", one.number));
    return leave();
}

int Interposer::derive(Function which, MPI_Comm parent, MPI_Comm* made, bool same_members,
                       const std::function<int()>& make) {
    const Inside guard;
    if (parent == self_handle()) return make();
    Communicator& from = communicators_.of(parent);
    Communicator& making = communicators_.making(from);
    Faults& faults = from.rank->faults;
    const Decision decision = faults.at(moment_of(which), making.name);
    if (const auto answer = suffer(from, parent, decision)) return *answer;
    if (decision.alteration.skip)
        faults.refuse(decision.fault, "a communicator that is not made cannot be used");
    joining(making);
    if (decision.alteration.never_completes) sleep_forever();
    const int code = make();
    joined(making, code);
    if (code == MPI_SUCCESS && made && *made != object<MPI_Comm>("ompi_mpi_comm_null")) {
        const Communicator& one = communicators_.made(making, *made, same_members);
        if (!same_members) {
            joining(one);
            joined(communicators_.of(*made), code);
        }
    }
    issue_held();
    return code;
}

int Interposer::free(MPI_Comm* comm, const std::function<int()>& release) {
    const Inside guard;
    issue_held();
    if (!comm || *comm == self_handle()) return release();
    Communicator& one = communicators_.of(*comm);
    const Decision decision = one.rank->faults.at(moment_of(Function::comm_free), one.name);
    if (const auto answer = suffer(one, *comm, decision)) return *answer;
    if (decision.alteration.never_completes) sleep_forever();
    communicators_.forget(*comm);
    if (!decision.alteration.skip) return release();
    *comm = object<MPI_Comm>("ompi_mpi_comm_null");
    return MPI_SUCCESS;
}

}  // namespace deadrank::inject::shims
