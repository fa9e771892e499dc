// Goal: the doctor, started as real processes with the environments and libraries that a scenario gives its
// ranks, catches what the scenario did, and is silent on the same processes without it.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

#include "results/preflight/job_snapshot.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/format/plan_file.h"
#include "tests/support/beyond_the_start.h"
#include "tests/support/catalog.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using results::preflight::Snapshot;

std::string shell_quoted(const std::string& text) {
    std::string safe = "'";
    for (const char c : text) safe += c == '\'' ? "'\\''" : std::string(1, c);
    return safe + "'";
}

// A directory with libraries and packages that state the versions asked for, and nothing else.
class DeviceDoctor : public testing::Test {
protected:
    void SetUp() override {
        if (shell("unshare --uts true").code != 0)
            GTEST_SKIP() << "host names of their own need the right to unshare; run as root";
        if (shell("command -v cc").code != 0)
            GTEST_SKIP() << "no C compiler for the libraries that state a version";
        place_ = fs::path(testing::TempDir()) / fmt::format("deadrank_doctor_{}", getpid());
        fs::create_directories(place_);
        char host[256] = {};
        gethostname(host, sizeof host - 1);
        host_ = host;
    }
    void TearDown() override { fs::remove_all(place_); }

    // libnccl.so.2 that says it is 2.28.9, as the loader would find it.
    std::string library_of(const std::string& version) {
        const fs::path directory = place_ / ("nccl-" + version);
        if (!fs::exists(directory)) {
            fs::create_directories(directory);
            int major = 0, minor = 0, patch = 0;
            std::sscanf(version.c_str(), "%d.%d.%d", &major, &minor, &patch);
            const std::string code = fmt::format("int ncclGetVersion(int* v) {{ *v = {}; return 0; }}",
                                                 major * 10000 + minor * 100 + patch);
            const Answer made = shell(fmt::format("echo {} | cc -shared -fPIC -x c - -o {}", shell_quoted(code),
                                                  shell_quoted((directory / "libnccl.so.2").string())));
            EXPECT_EQ(made.code, 0) << made.out;
        }
        return directory.string();
    }
    // A Python package's metadata, which is all that one asks for a version.
    std::string package_of(const std::string& name, const std::string& version) {
        const fs::path directory = place_ / (name + "-" + version);
        const fs::path metadata = directory / fmt::format("{}-{}.dist-info", name, version);
        fs::create_directories(metadata);
        std::ofstream(metadata / "METADATA")
            << fmt::format("Metadata-Version: 2.1\nName: {}\nVersion: {}\n", name, version);
        return directory.string();
    }

    std::string command_of(const Snapshot& rank, const fs::path& gathered, const std::string& node) {
        std::string variables;
        for (const auto& [name, value] : rank.environment) {
            // The simulated host has no address here; this machine's own name has.
            const std::string real = name == "MASTER_ADDR" ? host_ : value;
            variables += fmt::format(" {}={}", name, shell_quoted(real));
        }
        const auto version = [&](const char* package) {
            const auto found = rank.versions.find(package);
            return found == rank.versions.end() ? std::string("1.0") : found->second;
        };
        return fmt::format(
            "env -i PATH=\"$PATH\" HOME=/ LD_LIBRARY_PATH={} PYTHONPATH={}{} unshare --uts sh -c 'hostname "
            "{}; exec "
            "{} doctor --json --wait 20 --gather {}'",
            shell_quoted(library_of(version("nccl"))), shell_quoted(package_of("torch", version("torch"))), variables,
            node, DEADRANK_BINARY_DIRECTORY "/deadrank", gathered.string());
    }

    // What the doctor says of these ranks as real processes.
    std::set<std::string> subjects_of(const scenarios::Plan& plan) {
        runners::SimRunner sim;
        const auto played = runners::play_plan(plan, sim, {});
        const auto job = results::preflight::snapshots_of(played->record.evidence);
        const fs::path gathered = place_ / fmt::format("gather{}", ++jobs_);
        std::string script;
        for (const Snapshot& rank : job) {
            const std::string node = rank.host;
            script += command_of(rank, gathered, node) +
                      fmt::format(" > {}/out{} & ", place_.string(), &rank - &job[0]);
        }
        shell(script + "wait");
        std::set<std::string> subjects;
        for (std::size_t i = 0; i < job.size(); ++i) {
            const fs::path file = place_ / fmt::format("out{}", i);
            const json said = json::parse(std::ifstream(file), nullptr, false);
            if (!said.is_object()) continue;
            for (const json& remark : said["remarks"]) subjects.insert(remark["subject"].get<std::string>());
        }
        return subjects;
    }

    fs::path place_;
    std::string host_;
    int jobs_ = 0;
};

std::string doctor_subject(const scenarios::FaultSpec& fault) {
    if (fault.kind == "set_env" || fault.kind == "unset_env") return fault.text("name");
    if (fault.kind == "swap_ranks") return "RANK";
    const std::string package = fault.text("package");
    return fault.kind == "skew_version" && (package == "nccl" || package == "torch") ? package : "";
}

TEST_F(DeviceDoctor, CatchesEachEnvironmentAndVersionOfTheCatalogueOnRealProcesses) {
    const ShippedCatalog catalog;
    runners::SimRunner sim;
    int caught = 0;
    for (const auto& scenario : catalog.scenarios) {
        const auto trial = scenarios::resolve(scenario, {1}, sim.capabilities(), catalog.vocabulary);
        ASSERT_TRUE(trial) << scenario.id;
        if (trial->fault.faults.size() != 1 || trial->fault.world_size() > 8) continue;
        const std::string subject = doctor_subject(trial->fault.faults.front());
        if (subject.empty() || needs_more_than_the_start(scenario)) continue;
        const auto with = subjects_of(trial->fault);
        EXPECT_TRUE(with.contains(subject)) << scenario.id << ": nothing was said of " << subject;
        const auto without = subjects_of(trial->control);
        EXPECT_TRUE(without.empty()) << scenario.id << ": without the fault it speaks of "
                                     << *without.begin();
        ++caught;
    }
    EXPECT_GE(caught, 8);
}

TEST(Doctor, IsSilentHereAndListsItsRules) {
    const Answer here = shell("env -i PATH=\"$PATH\" HOME=/ " DEADRANK_BINARY_DIRECTORY "/deadrank doctor");
    EXPECT_EQ(here.code, 0) << here.out;
    EXPECT_NE(here.out.find("0 remarks"), std::string::npos) << here.out;
    EXPECT_NE(shell(DEADRANK_BINARY_DIRECTORY "/deadrank doctor --rules").out.find("version_skew"),
              std::string::npos);
}

TEST(Doctor, ReadsTheEnvironmentOfAProcessThatRuns) {
    const Answer answer =
        shell("env NCCL_IB_TIMEOUT=abc sleep 30 & p=$!; sleep 0.2; " DEADRANK_BINARY_DIRECTORY
              "/deadrank doctor --pid $p; code=$?; kill $p; exit $code");
    EXPECT_EQ(answer.code, 1) << answer.out;
    EXPECT_NE(answer.out.find("NCCL_IB_TIMEOUT='abc' is not a number"), std::string::npos) << answer.out;
}

TEST(Doctor, RefusesAProcessThatIsNotThereAndAFileThatIsNoSnapshot) {
    const Answer gone = shell(DEADRANK_BINARY_DIRECTORY "/deadrank doctor --pid 4194303");
    EXPECT_EQ(gone.code, 2) << gone.out;
    EXPECT_NE(gone.out.find("cannot be read"), std::string::npos);
    const Answer none = shell(DEADRANK_BINARY_DIRECTORY "/deadrank doctor --from /etc/hostname");
    EXPECT_EQ(none.code, 64) << none.out;
}

}  // namespace
}  // namespace deadrank::tests
