// runners/backends/mpi_rank/mpi_library.cpp — Ranks claim their places at the meeting place: MPI has no
// bootstrap in which they could disagree.
#include "runners/backends/mpi_rank/mpi_library.h"

#include <fmt/format.h>

#include "runners/backends/mpi_rank/mpi_calls.h"

namespace deadrank::runners {

using results::Code;
using results::Rank;

namespace {

std::string seat(Rank place) { return fmt::format("place {}", place); }

MPI_Comm made_of(const std::vector<int>& processes, int tag) {
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(processes.size()), processes.data(), &group);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &made);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}

class MpiWire final : public Wire {
public:
    explicit MpiWire(MPI_Comm comm) : comm_(comm) {}
    std::shared_ptr<Operation> begin(const RealCall& call) override {
        return std::make_shared<MpiOperation>(call, comm_);
    }

private:
    MPI_Comm comm_;
};

}  // namespace

std::optional<std::string> MpiLibrary::wrong_root(std::int32_t root, std::int32_t size) const {
    return fmt::format("MPI_ERR_ROOT: invalid root {} of {}", root, size);
}

std::unique_ptr<Wire> MpiLibrary::join(RealRank& rank, const Joining& joining) {
    const auto& [id, process, mine, size, timeout, here] = joining;
    if (mine < 0 || mine >= size)
        fail_to_join(rank, *this, id, Code::invalid_argument,
                     fmt::format("invalid rank {} of {}", mine, size));
    // A rank whose place is taken, or that expects another size, is turned away and waits for ever.
    const bool agrees = here.claim("size", std::to_string(size)) || here.get("size") == std::to_string(size);
    if (!agrees || !here.claim(seat(mine), std::to_string(process))) {
        rank.evidence.log(
            1, agrees ? fmt::format("place {} of {} has already checked in", mine, size)
                      : fmt::format("mismatch in size, {} vs {}", size, here.get("size").value_or("?")));
        here.set("broken", "");
    }
    wait_for_first(rank, joining, [&] { return here.get(seat(0)).has_value(); });
    std::vector<int> processes;
    rank.gate.wait([&] {
        if (here.get("broken")) return false;
        while (static_cast<Rank>(processes.size()) < size) {
            const auto there = here.get(seat(static_cast<Rank>(processes.size())));
            if (!there) return false;
            processes.push_back(std::atoi(there->c_str()));
        }
        return true;
    });
    return std::make_unique<MpiWire>(made_of(processes, static_cast<int>(id)));
}

}  // namespace deadrank::runners
