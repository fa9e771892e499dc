// runners/preflight/libraries.cpp — Our own program, started as `deadrank doctor --libraries` with the
// environment of the process in question: LD_LIBRARY_PATH counts only when a process begins.
#include "runners/preflight/libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/external/bounded.h"
#include "runners/preflight/library_answer.h"

namespace deadrank::runners {

namespace {

// A function of the library that writes its version into an int and returns 0.
std::optional<int> asked(const char* library, const char* function) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return std::nullopt;
    const auto version = reinterpret_cast<int (*)(int*)>(dlsym(handle, function));
    int number = 0;
    if (!version || version(&number) != 0) return std::nullopt;
    return number;
}

// 22809 is 2.28.9; before 2.9 it was 2804 for 2.8.4.
std::string nccl_text(int code) {
    if (code < 10'000) return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
    return fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

}  // namespace

std::string library_versions() {
    nlohmann::ordered_json found = nlohmann::ordered_json::object();
    if (const auto nccl = asked("libnccl.so.2", "ncclGetVersion")) found["nccl"] = nccl_text(*nccl);
    for (const char* runtime : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"}) {
        if (const auto cuda = asked(runtime, "cudaRuntimeGetVersion")) {
            found["cuda"] = fmt::format("{}.{}", *cuda / 1000, *cuda / 10 % 100);
            break;
        }
    }
    return found.dump();
}

void read_library_versions(results::preflight::Snapshot& snapshot) {
    std::vector<std::string> environment;
    for (const char* name : {"LD_LIBRARY_PATH", "LD_PRELOAD"}) {
        if (snapshot.has(name)) environment.push_back(fmt::format("{}={}", name, snapshot.variable(name)));
    }
    const auto answer = results::external::run_bounded({"/proc/self/exe", "doctor", "--libraries"},
                                                       {.time = std::chrono::seconds(10)}, {}, environment);
    if (!answer || !answer->well()) return;
    const auto json = nlohmann::json::parse(answer->out, nullptr, false);
    if (!json.is_object()) return;
    for (const auto& [name, version] : json.items()) {
        if (version.is_string()) snapshot.versions[name] = version.get<std::string>();
    }
}

}  // namespace deadrank::runners
