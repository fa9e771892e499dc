// runners/serve/daemon.h — Somebody else's server as a child process: started on a free port of loopback,
// ended with us.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners::serve {

class Daemon {
public:
    // Output goes to `log`. Errors: environment.
    static scenarios::Result<std::unique_ptr<Daemon>> start(const std::vector<std::string>& argv,
                                                            const std::filesystem::path& log);
    ~Daemon();  // SIGTERM, then SIGKILL after five seconds
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    bool alive();
    double cpu_seconds() const;  // so far

    // Asks GET `path` until it answers 200. Errors: environment, with the end of the log.
    scenarios::Result<void> await(int port, const std::string& path, int seconds);

private:
    Daemon(pid_t child, std::filesystem::path log) : child_(child), log_(std::move(log)) {}
    pid_t child_;
    std::filesystem::path log_;
};

// A port that nobody listens on at this moment.
int free_port();

}  // namespace deadrank::runners::serve
