// runners/backends/ranks/rank_files.h — sim::Storage on a real directory that all ranks see, and what a job
// of real ranks left behind as evidence and truth.
#pragma once

#include <filesystem>
#include <vector>

#include "inject/core/trigger.h"
#include "runners/backend/runner.h"
#include "runners/backends/process/launch.h"
#include "runners/backends/ranks/gate.h"
#include "runners/backends/ranks/meeting_place.h"
#include "runners/backends/ranks/rank_levers.h"
#include "sim/world/world.h"

namespace deadrank::runners {

class RealStorage final : public sim::Storage {
public:
    RealStorage(std::filesystem::path directory, Gate& gate, MeetingPlace once);

    sim::Code write(std::string_view path, std::span<const sim::Number> content,
                    sim::WriteMode mode) override;
    sim::Code sync(std::string_view path) override;
    sim::Code rename(std::string_view from, std::string_view to) override;
    sim::Code remove(std::string_view path) override;
    sim::Code read(std::string_view path, std::vector<sim::Number>& content) override;
    std::vector<std::string> list(std::string_view prefix) const override;

private:
    bool intercept_call(sim::CallKind kind, std::string_view path, std::int64_t count, sim::Call& call);
    void take_changes();
    void spoil(std::string_view path);
    const inject::StorageChange* standing(inject::StorageTrouble what, std::string_view path) const;
    bool take_pending(inject::StorageTrouble what, std::string_view path, std::int64_t& amount);
    bool put(std::string_view path, std::span<const sim::Number> content) const;
    std::filesystem::path file(std::string_view path) const;

    std::filesystem::path directory_;
    Gate& gate_;
    MeetingPlace once_;  // which rank damages a file: one of those that are told to
    std::vector<inject::StorageChange> standing_, pending_;
};

// Turns what a job of real ranks left behind into evidence and truth.
struct RealHarvest {
    const scenarios::Plan& plan;
    const Launched& launched;
    const std::vector<inject::PlannedFault>& faults;
    const std::vector<results::Mark>& marks;  // of the start
    const RealLevers& levers;
    std::filesystem::path directory;
};

void gather(const RealHarvest& harvest, Record& record);

}  // namespace deadrank::runners
