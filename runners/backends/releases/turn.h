// runners/backends/releases/turn.h — One at a time prepares releases on this machine; the others wait.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::runners::releases {

class Turn {
public:
    // Waits while another process prepares, and says so once. The kernel gives the lock back when its holder
    // dies. Errors: io; environment, when it was stopped while it waited.
    static scenarios::Result<Turn> take(const std::filesystem::path& place,
                                        const std::function<void(const std::string&)>& say,
                                        const std::atomic<bool>* stop);
    Turn(Turn&& other) noexcept;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

private:
    explicit Turn(int file) : file_(file) {}
    int file_;
};

}  // namespace deadrank::runners::releases
