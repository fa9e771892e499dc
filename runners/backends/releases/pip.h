// runners/backends/releases/pip.h — The package index through pip, its errors as our own, and a lock for
// preparing releases on this machine.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/releases/pins.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

// "3.11.2"; empty if this Python does not answer.
std::string interpreter_version(const Python& python);

// The one archive that the index has for this Python. Errors: environment.
scenarios::Result<Archive> query_index(const Python& python, const scenarios::Pin& pin,
                                       const std::atomic<bool>* stop);

// Installs a list of requirements, with hashes, into a directory, without their dependencies. Errors:
// environment.
scenarios::Result<void> install(const Python& python, const std::filesystem::path& list,
                                const std::filesystem::path& target, const std::atomic<bool>* stop);

// What pip said, as one of our errors. `subject`: what was asked for.
scenarios::Error trouble_of(const std::string& said, const std::string& subject);

// One process at a time prepares releases on this machine; the others wait.

class Turn {
public:
    // Waits while another process prepares, and says so once. The kernel releases the lock when its holder
    // dies. Errors: io; environment, if stopped while waiting.
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

}  // namespace deadrank::runners
