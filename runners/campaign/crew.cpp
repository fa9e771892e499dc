// runners/campaign/crew.cpp — MPI is opened at run time and for everyone: its own parts are libraries that
// look for its symbols.
#include "runners/campaign/crew.h"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

#include "runners/crew/crew_bridge.h"

namespace deadrank::runners::scale {

namespace fs = std::filesystem;

namespace {

class MpiCrew final : public Crew {
public:
    MpiCrew(const CrewBridge& bridge, int rank, int size) : bridge_(bridge), rank_(rank), size_(size) {}
    ~MpiCrew() override { bridge_.end(); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    void send(int to, const std::string& text) override { bridge_.send(to, text.data(), text.size()); }
    std::optional<Message> receive() override {
        Message message;
        const char* text = nullptr;
        const std::size_t length = bridge_.receive(&message.from, &text);
        if (length == 0) return std::nullopt;
        message.text.assign(text, length);
        return message;
    }

private:
    const CrewBridge& bridge_;
    int rank_, size_;
};

tl::unexpected<scenarios::Error> cannot(const std::string& why) {
    return scenarios::refuse(scenarios::ErrorCode::environment,
                             fmt::format("MPI could not be joined: {}", why),
                             "start it without mpirun, or install the MPI that this build was made with");
}

}  // namespace

Started how_started() {
    struct Names {
        const char *rank, *size;
    };
    // Open MPI, then launchers that speak PMI or PMIx (srun --mpi=…, MPICH).
    constexpr std::array<Names, 3> launchers = {
        {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"PMIX_RANK", ""}}};
    for (const Names& names : launchers) {
        const char* rank = std::getenv(names.rank);
        if (!rank) continue;
        const char* size = std::getenv(names.size);
        return {!size || std::atoi(size) > 1, std::atoi(rank)};
    }
    return {};
}

fs::path crew_library(const fs::path& executable) {
    const fs::path beside = executable.parent_path();
    std::error_code ignored;
    for (const char* place : {"", "../lib/deadrank", "../lib/x86_64-linux-gnu/deadrank",
                              "../lib/aarch64-linux-gnu/deadrank", "../lib64/deadrank"}) {
        const fs::path library = beside / place / "deadrank_crew.so";
        if (fs::exists(library, ignored)) return library;
    }
    return {};
}

scenarios::Result<std::unique_ptr<Crew>> join_crew(const fs::path& library) {
    void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!opened) return cannot(dlerror());
    using Open = const CrewBridge* (*)();
    const auto open = reinterpret_cast<Open>(dlsym(opened, "deadrank_crew_bridge"));
    if (!open) return cannot(fmt::format("{} is not ours", library.string()));
    int rank = 0, size = 1;
    if (!open()->begin(&rank, &size)) return cannot("it did not begin");
    return std::make_unique<MpiCrew>(*open(), rank, size);
}

}  // namespace deadrank::runners::scale
