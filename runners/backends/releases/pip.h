// runners/backends/releases/pip.h — The package index by pip, its trouble as sentences, and one at a time
// who prepares releases on this machine.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/releases/pins.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::releases {

// "3.11.2"; empty when this Python does not answer.
std::string interpreter_version(const Python& python);

// The one archive that the index has for this Python. Errors: environment.
scenarios::Result<Archive> ask_index(const Python& python, const scenarios::Pin& pin,
                                     const std::atomic<bool>* stop);

// The list of requirements, with hashes, into a directory; nothing that they depend on. Errors: environment.
scenarios::Result<void> install(const Python& python, const std::filesystem::path& list,
                                const std::filesystem::path& target, const std::atomic<bool>* stop);

// What pip said, as one of our sentences. `subject`: what was asked for.
scenarios::Error trouble_of(const std::string& said, const std::string& subject);

// One at a time prepares releases on this machine; the others wait.

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
