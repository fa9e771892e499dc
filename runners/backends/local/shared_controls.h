// runners/backends/local/shared_controls.h — Many bugs of one job share one control: the same program,
// cluster and settings, without a fault. It is played once, and each bug is compared with it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runners/backend/runner.h"
#include "runners/backends/process/scratch.h"

namespace deadrank::runners {

// Keeps what was played as long as the process lives. Used by several threads.
class ControlCache {
public:
    // The record of that plan: `play` is called the first time; other callers for the same plan wait for it.
    scenarios::Result<Record> get(const scenarios::Plan& plan,
                                  const std::function<scenarios::Result<Record>()>& play);

private:
    struct Slot {
        std::mutex mutex;
        std::filesystem::path evidence;  // empty: not played yet, or the run failed
        results::Truth truth;
        results::Time ended{0};
        std::vector<std::string> notes;
    };
    std::shared_ptr<Slot> slot_of(const std::string& key);

    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Slot>> slots_;
    std::optional<Scratch> scratch_;
};

// Takes controls from the cache unless their raw files are wanted; plays everything else.
class SharedControls final : public Runner {
public:
    SharedControls(std::unique_ptr<Runner> real, std::shared_ptr<ControlCache> cache)
        : real_(std::move(real)), cache_(std::move(cache)) {}

    std::string_view name() const override { return real_->name(); }
    scenarios::Capabilities capabilities() const override { return real_->capabilities(); }
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) override;

private:
    std::unique_ptr<Runner> real_;
    std::shared_ptr<ControlCache> cache_;
};

}  // namespace deadrank::runners
