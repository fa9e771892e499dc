// runners/backends/gpu_rank/nccl_library.h — NCCL in this rank: the loaded library, its unique id as text,
// and the release that it claims to be.
#pragma once

#include <string>

#include "runners/backends/gpu_rank/api.h"
#include "runners/backends/gpu_rank/nccl_wire.h"

namespace deadrank::runners {

// NCCL as our ranks use it: a unique id handed over at the meeting place, ncclCommInitRank, and all calls on
// a separate thread.

class NcclLibrary final : public CommLibrary {
public:
    NcclLibrary(results::Rank process, std::filesystem::path directory)
        : process_(process), directory_(std::move(directory)) {}

    std::string_view name() const override { return "NCCL"; }
    scenarios::Result<void> open(const Opening& opening) override;
    std::unique_ptr<Wire> join(RealRank& rank, const Joining& joining) override;
    std::string exception(results::Code code, const std::string& text) const override;
    std::optional<std::string> wrong_root(std::int32_t, std::int32_t) const override { return std::nullopt; }
    std::string no_communicator() const override { return "comm argument is NULL"; }
    std::optional<std::string> version(std::string_view package) const override;
    void leave_free(std::int64_t bytes) override;

    // Destroys all communicators; gives up after two seconds if the other ranks do not do the same.
    void close();

private:
    void set_environment(const std::map<std::string, std::string>& environment);
    void choose_manner(const std::map<std::string, std::string>& environment);
    void hand_over_id(RealRank& rank, const Joining& joining, NcclCommunicator& communicator, NcclId& id);

    results::Rank process_;
    std::filesystem::path directory_;
    NcclContext context_;
};

// NCCL's unique id as text, for the meeting place.

std::string in_hex(const NcclId& id);
NcclId from_hex(const std::string& text);

// NCCL looks up its own version function by name and finds the one that this program exports. So a rank can
// claim another release, and NCCL's check of its peers sees the claim.

// True up to 2.29: since 2.30 NCCL sends its peers the version that it was built as, whatever is exported.
constexpr bool reads_claim(int release) { return release < 23000; }

// `real`: NCCL's own function. `claimed`: as NCCL numbers releases; 0 = the true one.
void answer_for_version(int (*real)(int*), int claimed);
int claimed_version(int* version);  // what NCCL is told; returns NCCL's code

}  // namespace deadrank::runners
