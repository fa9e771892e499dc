// runners/backends/releases/pip.cpp — Runs pip, and recognizes its errors by their text.
#include "runners/backends/releases/pip.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "results/processes/bounded.h"
#include "scenarios/model/text.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using nlohmann::json;
using results::processes::BoundedAnswer;
using results::processes::Bounds;
using results::processes::Ending;
using scenarios::Error;
using scenarios::ErrorCode;

namespace {

constexpr std::chrono::minutes longest{15};

scenarios::Result<BoundedAnswer> pip(const Python& python, const std::vector<std::string>& words,
                                     const std::string& subject, const std::atomic<bool>* stop) {
    std::vector<std::string> command = {python.program.string(), "-m", "pip"};
    command.insert(command.end(), words.begin(), words.end());
    // Builds of source archives use the packages installed here, not the newest ones of the index.
    const std::vector<std::string> environment = {"DS_BUILD_OPS=0", "BUILD_EXT=0", "PIP_NO_INPUT=1"};
    auto answer = results::processes::run_bounded(
        command, Bounds{.time = longest, .stopped = [stop] { return stop && stop->load(); }}, {},
        environment);
    if (!answer) return answer;
    if (answer->well()) return answer;
    if (answer->ending == Ending::stopped)
        return scenarios::refuse(ErrorCode::environment, fmt::format("stopped while pip fetched {}", subject),
                                 "run it again: nothing incomplete was left");
    if (answer->ending == Ending::out_of_time)
        return scenarios::refuse(ErrorCode::environment,
                                 fmt::format("pip had not fetched {} after 15 minutes", subject),
                                 "try again when the index is faster");
    return tl::unexpected(trouble_of(answer->err + answer->out, subject));
}

bool contains_any(const std::string& text, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) {
        if (text.find(word) != std::string::npos) return true;
    }
    return false;
}

// The last line that pip calls an error.
std::string last_error(const std::string& said) {
    const std::size_t at = said.rfind("ERROR:");
    if (at == std::string::npos) return std::string(scenarios::trimmed(said.substr(0, 200)));
    return std::string(scenarios::trimmed(said.substr(at, said.find('\n', at) - at)));
}

}  // namespace

std::string interpreter_version(const Python& python) {
    const auto answer = results::processes::run_bounded(
        {python.program.string(), "-c", "import platform; print(platform.python_version())"}, {});
    return answer && answer->well() ? std::string(scenarios::trimmed(answer->out)) : std::string();
}

Error trouble_of(const std::string& said, const std::string& subject) {
    if (contains_any(said, {"No space left", "Errno 28", "Disk quota exceeded"}))
        return {ErrorCode::environment, fmt::format("no room was left while {} was installed", subject),
                "make room, or name another place with XDG_CACHE_HOME"};
    if (contains_any(said, {"Temporary failure in name resolution", "Failed to establish a new connection",
                            "ConnectionError", "Connection refused", "ProxyError", "Network is unreachable",
                            "ReadTimeoutError", "Max retries exceeded", "ConnectTimeoutError"}))
        return {ErrorCode::environment, fmt::format("the package index could not be reached for {}", subject),
                "prepare releases on a machine with a network, or set PIP_INDEX_URL to a mirror"};
    if (contains_any(said, {"DO NOT MATCH THE HASHES", "do not match the hashes"}))
        return {ErrorCode::environment,
                fmt::format("the index gave another file for {} than the one that was pinned", subject),
                "look at it before you trust it; `deadrank report releases --pin` writes down what there is"};
    if (contains_any(said, {"No matching distribution", "Could not find a version"}))
        return {ErrorCode::environment,
                fmt::format("the index has {} no more, or not for this Python and machine", subject),
                "leave that bug out, or prepare it under another Python (DEADRANK_PYTHON)"};
    if (contains_any(said, {"No module named pip"}))
        return {ErrorCode::environment, "this Python has no pip", "`python -m ensurepip` brings it"};
    return {ErrorCode::environment, fmt::format("pip could not install {}: {}", subject, last_error(said)),
            "run it by hand to see more"};
}

scenarios::Result<Archive> query_index(const Python& python, const scenarios::Pin& pin,
                                       const std::atomic<bool>* stop) {
    const auto answer = pip(python,
                            {"install", "--quiet", "--disable-pip-version-check", "--dry-run", "--no-deps",
                             "--ignore-installed", "--no-build-isolation", "--report", "-", pin.text()},
                            pin.text(), stop);
    if (!answer) return tl::unexpected(answer.error());
    const json report = json::parse(answer->out, nullptr, false);
    const json::json_pointer info("/install/0/download_info");
    if (!report.is_object() || !report.contains(info))
        return scenarios::refuse(ErrorCode::environment, fmt::format("pip told nothing of {}", pin.text()),
                                 "pip 22.2 or newer is needed");
    const json& download = report[info];
    Archive archive;
    archive.sha256 = download.value(json::json_pointer("/archive_info/hashes/sha256"), "");
    if (archive.sha256.empty()) {  // an older pip says "sha256=…"
        const std::string hash = download.value(json::json_pointer("/archive_info/hash"), "");
        if (hash.starts_with("sha256=")) archive.sha256 = hash.substr(7);
    }
    archive.file = fs::path(download.value("url", "")).filename().string();
    if (archive.sha256.size() != 64 || archive.file.empty())
        return scenarios::refuse(ErrorCode::environment,
                                 fmt::format("the index gives no SHA-256 for {}", pin.text()),
                                 "use an index that does");
    return archive;
}

scenarios::Result<void> install(const Python& python, const fs::path& list, const fs::path& target,
                                const std::atomic<bool>* stop) {
    std::string subject;
    std::getline(std::ifstream(list), subject);
    subject = subject.substr(0, subject.find(' '));
    const auto answer =
        pip(python,
            {"install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
             "--require-hashes", "--target", target.string(), "-r", list.string()},
            subject, stop);
    if (!answer) return tl::unexpected(answer.error());
    return {};
}

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

}  // namespace deadrank::runners
