// runners/backends/releases/turn.cpp — A lock of the kernel on a file of the shelf.
#include "runners/backends/releases/turn.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace deadrank::runners::releases {

using scenarios::ErrorCode;
using scenarios::refuse;

scenarios::Result<Turn> Turn::take(const std::filesystem::path& place,
                                   const std::function<void(const std::string&)>& say,
                                   const std::atomic<bool>* stop) {
    const std::string name = (place / "lock").string();
    const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return refuse(ErrorCode::io, fmt::format("{} cannot be written: {}", name, std::strerror(errno)),
                      "name another place with XDG_CACHE_HOME");
    Turn turn(file);
    for (bool told = false; ::flock(file, LOCK_EX | LOCK_NB) != 0;) {
        if (!told) say("another deadrank prepares releases here; waiting for it");
        told = true;
        if (stop && stop->load())
            return refuse(ErrorCode::environment, "stopped while another deadrank prepared releases",
                          "run it again");
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return turn;
}

Turn::Turn(Turn&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

Turn::~Turn() {
    if (file_ >= 0) ::close(file_);
}

}  // namespace deadrank::runners::releases
