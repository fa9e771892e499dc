// tests/inject/standin/programs_test.cpp — Goal: programs written for NCCL run without a GPU and get every
// value right, and each fault of a plan shows in them as it shows on GPUs.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path programs = fs::path(DEADRANK_BINARY_DIRECTORY) / "tests/standin";
const fs::path libraries = fs::path(DEADRANK_BINARY_DIRECTORY) / "standin";

const char* const not_built = "the stand-in is not built here: no headers of CUDA 13 and NCCL";

bool built(const char* program) {
    return fs::exists(programs / program) && fs::exists(libraries / "libnccl.so.2");
}

// Set in the environment rather than found by rpath: as somebody else's program would be run.
std::string with_libraries(const std::string& command) {
    return "LD_LIBRARY_PATH=" + libraries.string() + " timeout 120 " + command;
}

TEST(DeviceStandIn, GivesAProgramOfOneProcessAndFourDevicesEveryValue) {
    if (!built("standin_one_process")) GTEST_SKIP() << not_built;
    const Answer answer = shell(with_libraries((programs / "standin_one_process 4").string()));
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_NE(answer.out.find("\n0 wrong values"), std::string::npos) << answer.out;
    // 12 types: 3 reductions by 6 operations, 5 movements, messages.
    const auto lines = std::count(answer.out.begin(), answer.out.end(), '\n');
    EXPECT_EQ(lines, 12 * (3 * 6 + 5 + 1) + 1) << answer.out;
}

// The plan's fault is one bit of one rank's first product of every type.
TEST(DeviceStandIn, LetsThatProgramSeeABitThatIsWrong) {
    if (!built("standin_one_process")) GTEST_SKIP() << not_built;
    const fs::path plan =
        fs::temp_directory_path() / ("deadrank-bit-" + std::to_string(::getpid()) + ".json");
    std::ofstream(plan)
        << R"({"faults": [{"fault": 0, "ranks": [2], "when": {"before": "all_reduce", "nth": 8},
        "pulls": [{"lever": "alter_call", "flip_bit": 0}]}]})";
    const Answer answer = shell("DEADRANK_PLAN=" + plan.string() + " " +
                                with_libraries((programs / "standin_one_process 4").string()));
    fs::remove(plan);
    EXPECT_EQ(answer.code, 1) << answer.out;
    EXPECT_NE(answer.out.find("AllReduce      uint8     prod       4 wrong"), std::string::npos)
        << answer.out;
    EXPECT_NE(answer.out.find("\n4 wrong values"), std::string::npos) << answer.out;
}

TEST(DeviceStandIn, HasEveryPublicFunctionOfNccl) {
    if (!built("standin_refusals")) GTEST_SKIP() << not_built;
    const auto names = [](const std::string& library, const std::string& prefix) {
        return shell("nm -D --defined-only " + library + " | awk '$3 ~ /^" + prefix +
                     "[A-Z]/ && $3 !~ /Internal$/ {sub(\"" + prefix + "\", \"\", $3); print $3}' | sort")
            .out;
    };
    const std::string own = (libraries / "libnccl.so.2").string();
    EXPECT_EQ(names(own, "nccl"), names(own, "pnccl"));
    std::string later;  // what the list has beyond the release whose headers it is built with
    {
        std::ifstream list(DEADRANK_SOURCE_DIRECTORY "/inject/standin/nccl/names.txt");
        for (std::string line; std::getline(list, line) && !line.starts_with("# Since 2.29");) {
        }
        for (std::string line; std::getline(list, line);) later += line + "\n";
    }
    EXPECT_EQ(std::ranges::count(later, '\n'), 11) << later;
    EXPECT_EQ(std::ranges::count(names(own, "nccl"), '\n'), 52 + 11) << names(own, "nccl");
    std::string other = shell("/sbin/ldconfig -p | sed -n 's/.*libnccl.so.2 .*=> //p' | head -n 1").out;
    if (other.empty()) return;
    other.pop_back();  // the end of the line
    std::istringstream all(names(own, "nccl"));
    std::string of_28;
    for (std::string line; std::getline(all, line);)
        if (("\n" + later).find("\n" + line + "\n") == std::string::npos) of_28 += line + "\n";
    EXPECT_EQ(of_28, names(other, "nccl")) << "the NCCL that is installed here has other names";
}

// Fails if a capture does what it only has to keep, a launch forgets what was kept, or a misuse is no error.
TEST(DeviceStandIn, KeepsTheWorkOfACapturedStreamInAGraph) {
    if (!built("standin_graphs")) GTEST_SKIP() << not_built;
    const Answer answer = shell(with_libraries((programs / "standin_graphs").string()) + " 2>/dev/null");
    EXPECT_EQ(answer.code, 0);
    EXPECT_EQ(answer.out,
              "nodes 1\nnodes 1\nafter the capture 1 2\nafter launch 1 3 3\nafter launch 2 6 6\n"
              "query of a captured event cudaErrorCapturedEvent\nnodes 1\njoined 0 0x1010101\n"
              "unjoined cudaErrorStreamCaptureUnjoined\n"
              "ended elsewhere cudaErrorStreamCaptureUnmatched\nbegun twice cudaErrorIllegalState\n"
              "waited for cudaErrorStreamCaptureUnsupported\ninvalidated 1\n"
              "ended after that cudaErrorStreamCaptureInvalidated\nended again cudaErrorIllegalState\n"
              "waits for what is outside cudaErrorStreamCaptureIsolation\n"
              "ended after that cudaErrorStreamCaptureInvalidated\n"
              "default stream cudaErrorStreamCaptureUnsupported\n");
}

// A torch that is linked to CUDA 12 is 3 GB to fetch. This program calls what differs between the two
// releases, and both runtimes are in its process, as `--gpus` loads them.
TEST(DeviceStandIn, ServesAProgramOfCuda12) {
    if (!built("standin_cuda12")) GTEST_SKIP() << not_built;
    const std::string properties =
        "name NVIDIA H100 80GB HBM3 (deadrank)\nmemory MiB 81559\nclock kHz 1980000\ncapability "
        "90\nmultiprocessors 132\n"
        "memory clock kHz 2619000\nshared memory opt-in 232448\nintact 1\n";
    const std::string both = "LD_PRELOAD=" + (libraries / "libcudart.so.13").string() + ":" +
                             (libraries / "libcudart.so.12").string();
    for (const std::string& preload : {std::string(), both}) {
        const Answer answer = shell("DEADRANK_STANDIN_GPU=h100 " + preload + " " +
                                    with_libraries((programs / "standin_cuda12").string()) + " 2>/dev/null");
        EXPECT_EQ(answer.code, 0);
        EXPECT_EQ(
            answer.out,
            "runtime 12090\ndriver 13000\nproperties 0\n" + properties + "properties of CUDA 11 0\n" +
                properties +
                "attributes 0\ntype 2\naddress 1\nintact 1\n"
                "capture 0\nstatus 0\nintact 1\nsecond capture 0\nfilled 1\n"
                "prefetch 0\nadvise 0\ncopied 9\nsynchronized 0\nelapsed 0\nmilliseconds 1\n"
                "launch 209\nno kernel image is available for execution on the device (deadrank: "
                "of_nobody() has no host version; compute this on the CPU, or set "
                "DEADRANK_STANDIN_LENIENT=1 to let such kernels do nothing)\n"
                "graph 801\noperation not supported (deadrank: cudaGraphAddNode_v2 is not there without "
                "a GPU; capture the graph from a stream)\nother runtime 0\ntype 2\n")
            << preload;
    }
}

// A program finds a symbol by its name and version.
TEST(DeviceStandIn, HasEveryFunctionOfTheRuntimesOfTwoReleases) {
    if (!built("standin_cuda12")) GTEST_SKIP() << not_built;
    for (const auto& [release, names] : {std::pair{"12", 435}, {"13", 422}}) {
        const std::string library = (libraries / "libcudart.so.").string() + release;
        const std::string folder = DEADRANK_SOURCE_DIRECTORY "/inject/standin/runtime/";
        const std::string wanted =
            shell("cat " + folder + "names.txt " + folder + "cuda" + release +
                  "/names.txt | grep -v '^#' | sed 's/$/@@libcudart.so." + release + "/' | sort -u")
                .out;
        const std::string found = shell("nm -D --defined-only --with-symbol-versions " + library +
                                        " | awk '$2 != \"A\" {print $3}' | sort -u")
                                      .out;
        EXPECT_EQ(std::ranges::count(wanted, '\n'), names);
        EXPECT_EQ(found, wanted);
        EXPECT_THAT(shell("readelf -d " + library).out,
                    testing::HasSubstr(std::string("soname: [libcudart.so.") + release + "]"));
    }
}

TEST(DeviceStandIn, RefusesWithALineWhatItDoesNotHave) {
    if (!built("standin_refusals")) GTEST_SKIP() << not_built;
    const Answer answer =
        shell("NCCL_DEBUG=WARN " + with_libraries((programs / "standin_refusals").string()));
    EXPECT_EQ(answer.code, 0) << answer.out;
    for (const std::string name :
         {"CommWindowRegister", "CommWindowDeregister", "CommRevoke", "DevCommCreate", "DevCommDestroy",
          "LsaBarrierCreateRequirement", "GinBarrierCreateRequirement", "LLA2ACreateRequirement"}) {
        EXPECT_NE(answer.out.find("\n" + name + " 5\n"), std::string::npos) << name << answer.out;
        EXPECT_NE(answer.out.find("NCCL WARN nccl" + name + " is not supported without a GPU"),
                  std::string::npos)
            << name << answer.out;
    }
    EXPECT_NE(answer.out.find("LLA2ACalcSlots 0\n"), std::string::npos) << answer.out;
    EXPECT_NE(answer.out.find("world 1 of 2, rail 1 of 2, own 0 of 1\nTeamRankToWorld 1\nTeamRankToLsa 0\n"),
              std::string::npos)
        << answer.out;
}

TEST(DeviceStandIn, GivesABinaryOfNvccsEveryValue) {
    if (!built("standin_by_nvcc")) GTEST_SKIP() << "no nvcc here";
    const std::string kernels =
        "DEADRANK_STANDIN_KERNELS=" + (programs / "libstandin_kernels.so").string() + " ";
    const Answer answer = shell(kernels + with_libraries((programs / "standin_by_nvcc 4").string()));
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_NE(answer.out.find("\n0 wrong values"), std::string::npos) << answer.out;
    // This program does not look at what a launch answers.
    for (const auto& [environment, what] : {std::pair<std::string, std::string>{"", "is refused"},
                                            {"DEADRANK_STANDIN_LENIENT=1 ", "does nothing"}}) {
        const Answer without = shell(environment + with_libraries((programs / "standin_by_nvcc 4").string()));
        EXPECT_EQ(without.code, 1)
            << "without host kernels nothing is computed, and nobody may call that right";
        EXPECT_NE(without.out.find("has no host version and " + what), std::string::npos) << without.out;
    }
}

TEST(DeviceStandIn, GivesManyProcessesOfMpiEveryValue) {
    if (!built("standin_many_processes")) GTEST_SKIP() << "the stand-in or MPI is not here";
    const std::string mpirun =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -x LD_LIBRARY_PATH "
        "-np 4 ";
    const Answer answer = shell("export LD_LIBRARY_PATH=" + libraries.string() + "; timeout 120 env " +
                                mpirun + (programs / "standin_many_processes").string());
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_NE(answer.out.find("0 wrong values"), std::string::npos) << answer.out;
}

// One fault of rank 1 of 3, and what the ranks say of it.
struct Case {
    std::string name;
    json pull;
    std::string before;
    int nth;
    std::vector<std::string> expected;
    std::int64_t lasts = -1;
    bool network = false;
};

json altered(json alteration) {
    alteration["lever"] = "alter_call";
    return alteration;
}

const std::string late_3[] = {"rank 0: call 3: not finished", "rank 2: call 3: not finished"};

std::vector<Case> cases() {
    const std::vector<std::string> all_good{"rank 0: call 6: all good", "rank 1: call 6: all good",
                                            "rank 2: call 6: all good"};
    const std::vector<std::string> all_late{late_3[0], "rank 1: call 3: not finished", late_3[1]};
    const std::string lost = "asynchronous error: remote process exited or there was a network error";
    return {
        {"delayed", altered({{"delay", 300000000}}), "all_reduce", 3, all_good},
        {"stopped_for_a_while", {{"lever", "stop"}}, "all_reduce", 3, all_good, 300000000},
        {"skipped",
         altered({{"skip", true}}),
         "all_reduce",
         3,
         {late_3[0], "rank 1: call 3: 64 wrong values", late_3[1]}},
        {"held",
         altered({{"hold", true}}),
         "all_reduce",
         3,
         {late_3[0], "rank 1: call 3: 64 wrong values", late_3[1]}},
        {"resized", altered({{"count_set", 32}}), "all_reduce", 3, all_late},
        {"other_operation", altered({{"op", "broadcast"}, {"root", 0}}), "all_reduce", 3, all_late},
        {"stuck", altered({{"never_completes", true}}), "all_reduce", 3, all_late},
        {"other_type",
         altered({{"dtype", "i32"}}),
         "all_reduce",
         3,
         {"rank 0: call 3: 22 wrong values", "rank 1: call 3: 22 wrong values",
          "rank 2: call 3: 22 wrong values"}},
        {"other_reduction",
         altered({{"reduce", "max"}}),
         "all_reduce",
         3,
         {"rank 0: call 3: 22 wrong values", "rank 1: call 3: 22 wrong values",
          "rank 2: call 3: 22 wrong values"}},
        {"bit_sent",
         altered({{"flip_bit", 30}}),
         "all_reduce",
         3,
         {"rank 0: call 3: 1 wrong values", "rank 1: call 3: 1 wrong values",
          "rank 2: call 3: 1 wrong values"}},
        {"bit_received",
         altered({{"flip_bit", 30}, {"flip_received", true}}),
         "all_reduce",
         3,
         {"rank 0: call 4: not finished", "rank 1: call 3: 1 wrong values", "rank 2: call 4: not finished"}},
        {"refused",
         altered({{"answer", "system_error"}}),
         "all_reduce",
         3,
         {late_3[0], "rank 1: call 3: answered: unhandled system error", late_3[1]}},
        {"asynchronous",
         altered({{"answer", "remote_error"}, {"never_completes", true}}),
         "all_reduce",
         3,
         {late_3[0], "rank 1: call 3: " + lost, late_3[1]}},
        {"killed", {{"lever", "kill"}}, "all_reduce", 3, {late_3[0], "rank 1: ended by signal 9", late_3[1]}},
        {"killed_over_a_network",
         {{"lever", "kill"}},
         "all_reduce",
         3,
         {"rank 0: call 3: " + lost, "rank 1: ended by signal 9", "rank 2: call 3: " + lost},
         -1,
         true},
        {"exited", {{"lever", "exit"}, {"code", 0}}, "all_reduce", 3, {late_3[0], late_3[1]}},
        {"stopped",
         {{"lever", "stop"}},
         "all_reduce",
         3,
         {late_3[0], "rank 1: ended by signal 9", late_3[1]}},
        {"message_skipped",
         altered({{"skip", true}}),
         "send",
         1,
         {"rank 0: call 6: all good", "rank 1: call 6: all good", "rank 2: call 6: not finished"}},
    };
}

Answer played(const Case& one, const fs::path& folder) {
    fs::create_directories(folder);
    const json entry{{"fault", 0},
                     {"ranks", {1}},
                     {"says", one.name},
                     {"when", {{"before", one.before}, {"nth", one.nth}, {"lasts", one.lasts}}},
                     {"pulls", {one.pull}}};
    std::ofstream(folder / "plan.json") << json{{"faults", {entry}}};
    return shell((one.network ? "PATIENT_NETWORK=1 " : "") +
                 ("DEADRANK_PLAN=" + (folder / "plan.json").string()) +
                 " DEADRANK_EVIDENCE=" + (folder / "evidence").string() + " " +
                 with_libraries((programs / "standin_patient 3").string()));
}

TEST(DeviceStandIn, ShowsEachFaultOfAPlanAsGpusDo) {
    if (!built("standin_patient")) GTEST_SKIP() << not_built;
    const fs::path folder = fs::temp_directory_path() / ("deadrank-standin-" + std::to_string(::getpid()));
    const std::vector<Case> all = cases();
    std::vector<std::future<Answer>> answers;
    for (const Case& one : all) {
        answers.push_back(std::async(std::launch::async, [&] { return played(one, folder / one.name); }));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Answer answer = answers[i].get();
        for (const std::string& line : all[i].expected) {
            EXPECT_NE(answer.out.find(line), std::string::npos) << all[i].name << ": '" << line << "' in:\n"
                                                                << answer.out;
        }
        std::ifstream truth(folder / all[i].name / "truth/rank1.jsonl");
        std::string first;
        std::getline(truth, first);
        EXPECT_NE(first.find("\"kind\": \"fault.applied\""), std::string::npos)
            << all[i].name << ": " << first;
        std::ifstream evidence(folder / all[i].name / "evidence/rank0.jsonl");
        const std::string events{std::istreambuf_iterator<char>(evidence), {}};
        EXPECT_NE(events.find("\"kind\": \"collective.enter\""), std::string::npos) << all[i].name;
    }
    fs::remove_all(folder);
}

}  // namespace
}  // namespace deadrank::tests
