// tests/inject/shims/shim_run.cpp — A directory a run, removed with it.
#include "tests/inject/shims/shim_run.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "runners/backends/process/event_reader.h"

namespace deadrank::tests {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::vector<std::string> lines_of(const fs::path& file) {
    std::vector<std::string> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::vector<json> parsed(const fs::path& file) {
    std::vector<json> all;
    for (const std::string& line : lines_of(file)) {
        all.push_back(json::parse(line, nullptr, false));
        EXPECT_TRUE(all.back().is_object()) << "not JSON: " << line;
    }
    return all;
}

std::string file_of(int rank) { return "rank" + std::to_string(rank) + ".jsonl"; }

}  // namespace

std::string no_shims() {
    return fs::exists(shim_directory + "/libdeadrank-nccl.so")
               ? ""
               : "this build has no shims: a sanitizer's runtime would have to be loaded before the "
                 "program's own";
}

ShimRun::ShimRun() {
    fs::create_directory(directory / "evidence");
    environment = {{"DEADRANK_RANK", "1"},
                   {"DEADRANK_EVIDENCE", (directory / "evidence").string()},
                   {"DEADRANK_ARRIVED", (directory / "arrived").string()},
                   {"LD_LIBRARY_PATH", program_directory + "/doubles"},
                   {"NCCL_SOCKET_IFNAME", "lo"}};
}

void ShimRun::plan(const json& text) {
    std::ofstream(directory / "plan.json") << text.dump();
    environment["DEADRANK_PLAN"] = (directory / "plan.json").string();
}

void ShimRun::fault(json when, json pull) {
    if (!pull.contains("lever")) pull["lever"] = "alter_call";
    plan({{"faults",
           {{{"fault", 0}, {"ranks", {1}}, {"when", when}, {"pulls", {pull}}, {"says", "a test"}}}}});
}

Answer ShimRun::start(const std::string& command) {
    std::string line = "env -u RANK";
    for (const auto& [name, value] : environment) line += " " + name + "='" + value + "'";
    return shell("timeout -k " + std::to_string(grace) + " " + std::to_string(limit) + " " + line + " " +
                 command);
}

Answer ShimRun::calls(const std::string& words) {
    environment["LD_PRELOAD"] = shim_directory + "/libdeadrank-nccl.so";
    return start(program_directory + "/shim_host " + sight + " " + program_directory + "/libnccl_caller.so " +
                 words);
}

std::vector<std::string> ShimRun::arrived() const { return lines_of(directory / "arrived"); }
std::vector<json> ShimRun::evidence(int rank) const { return parsed(directory / "evidence" / file_of(rank)); }
std::vector<json> ShimRun::truth(int rank) const { return parsed(directory / "truth" / file_of(rank)); }

std::vector<json> ShimRun::evidence_of(const std::string& kind, int rank) const {
    std::vector<json> found;
    for (const json& line : evidence(rank)) {
        if (line.value("kind", "") == kind) found.push_back(line);
    }
    return found;
}

results::Evidence ShimRun::timeline(int rank) const {
    results::Evidence evidence;
    for (const std::string& line : lines_of(directory / "evidence" / file_of(rank))) {
        EXPECT_TRUE(runners::read_event(line, 0, evidence)) << "no event: " << line;
    }
    return evidence;
}

std::string installed_nccl() {
    const Answer found = shell("/sbin/ldconfig -p | sed -n 's/.*libnccl.so.2 .*=> //p' | head -n 1");
    const fs::path path(found.out.substr(0, found.out.find('\n')));
    return fs::exists(path) ? path.parent_path().string() : "";
}

std::string nccl_of_wheel() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const fs::path base = cache ? fs::path(cache) : fs::path(home ? home : "/nonexistent") / ".cache";
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(base / "deadrank" / "nccl", ignored)) {
        if (fs::exists(entry.path() / "libnccl.so.2")) return entry.path().string();
    }
    return "";
}

}  // namespace deadrank::tests
