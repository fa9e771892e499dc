// Goal: what `./dev package` makes works where there is no checkout and no compiler: the wheel in a clean
// virtual environment, with that environment's torch and pytest; the Debian package in a bare Debian root.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

const fs::path checkout = DEADRANK_SOURCE_DIRECTORY;
const fs::path build = DEADRANK_BINARY_DIRECTORY;

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

// The packages of this build, made by its own target, which does nothing where they are new.
class DevicePackages : public testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(build / "CPackConfig.cmake"))
            GTEST_SKIP() << "this build makes no packages: it was configured as part of another, "
                            "or with a sanitizer";
        const Answer made = shell("cmake --build " + quoted(build) + " --target packages");
        ASSERT_EQ(made.code, 0) << made.out;
        place_ = fs::path(testing::TempDir()) / ("deadrank_packages_" + std::to_string(getpid()));
        fs::remove_all(place_);
        fs::create_directories(place_ / "home");
    }
    void TearDown() override { fs::remove_all(place_); }

    // The one file of build/packages whose name begins and ends so; empty when there is none.
    static fs::path package(const std::string& begins, const std::string& ends) {
        for (const auto& entry : fs::directory_iterator(build / "packages")) {
            const std::string name = entry.path().filename();
            if (name.starts_with(begins) && name.ends_with(ends)) return entry.path();
        }
        return {};
    }

    fs::path place_;
};

class DeviceWheel : public DevicePackages {
protected:
    void SetUp() override {
        DevicePackages::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        wheel_ = package("deadrank-", ".whl");
        if (wheel_.empty())
            GTEST_SKIP()
                << "no wheel: an archive of a library is missing, as `cmake` says when it configures";
        if (shell("/usr/bin/python3 -c 'import venv, ensurepip'").code != 0)
            GTEST_SKIP() << "no virtual environments; `apt-get install python3-venv` brings them";
    }

    // An environment that has the wheel and nothing else of ours; `how` goes to venv.
    void install(const std::string& how = "") {
        environment_ = place_ / "environment";
        const Answer made =
            shell("/usr/bin/python3 -m venv " + how + " " + quoted(environment_) + " && " +
                  quoted(environment_ / "bin/python") + " -m pip install --no-index " + quoted(wheel_));
        ASSERT_EQ(made.code, 0) << made.out;
    }

    // A program of the environment, called from elsewhere, by a user whose variables lead nowhere near it.
    Answer call(const std::string& program, const std::string& arguments,
                const std::string& also = "") const {
        return shell("cd / && env -i HOME=" + quoted(place_ / "home") + " LANG=C.UTF-8 PATH=/usr/bin:/bin " +
                     also + " " + quoted(environment_ / "bin" / program) + " " + arguments);
    }

    fs::path wheel_, environment_;
};

TEST_F(DeviceWheel, PlaysTheCatalogueInACleanEnvironmentFromAnywhere) {
    ASSERT_NO_FATAL_FAILURE(install());
    const Answer played = call("deadrank", "run communication", "PATH=/nowhere");
    EXPECT_EQ(played.code, 0) << played.out;
    EXPECT_THAT(played.out, ContainsRegex("[1-9][0-9] pass · 0 fail · 0 unknown"));
    // What reads files of its own: signatures and metrics, rates, variables of the preflight, subjects.
    EXPECT_EQ(call("deadrank", "alerts storm llama_3 --days 1").code, 0);
    EXPECT_EQ(call("deadrank", "doctor --help").code, 0);
    EXPECT_THAT(
        call("deadrank", "run communication/rank_leaves_all_reduce --runner local --subject fsdp").out,
        HasSubstr("no Python on this machine can import torch"));
    EXPECT_THAT(call("deadrank", "help version").out, Not(HasSubstr(checkout.string())));
}

// The stand-in's libraries find each other beside themselves.
TEST_F(DeviceWheel, NeedsGlibcAndWhatItCarriesAlone) {
    const fs::path open = place_ / "open";
    const Answer opened =
        shell("/usr/bin/python3 -m zipfile -e " + quoted(wheel_) + " " + quoted(open) + " && find " +
              quoted(open) + " -type f -size +90k | xargs -n 1 readelf --wide --dynamic 2>/dev/null");
    EXPECT_THAT(opened.out, HasSubstr("[libc.so.6]"));
    std::set<std::string> allowed{"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2",
                                  "ld-linux-x86-64.so.2"};
    for (const auto& file : fs::recursive_directory_iterator(open)) allowed.insert(file.path().filename());
    std::istringstream lines(opened.out);
    for (std::string line; std::getline(lines, line);) {
        const std::string name = line.substr(line.find('[') + 1, line.rfind(']') - line.find('[') - 1);
        if (line.find("(NEEDED)") != std::string::npos) {
            EXPECT_TRUE(allowed.contains(name)) << line;
        } else if (line.find("RUNPATH") != std::string::npos) {
            EXPECT_EQ(name, "$ORIGIN") << line;
        }
    }
}

// A smashed stack and a buffer beyond its size end the program; what is bound when it starts cannot be bent
// later.
TEST_F(DeviceWheel, HasAHardenedProgram) {
    const fs::path open = place_ / "open";
    const Answer seen = shell("/usr/bin/python3 -m zipfile -e " + quoted(wheel_) + " " + quoted(open) +
                              " && program=$(find " + quoted(open) +
                              " -name deadrank -type f -size +1M) && readelf --wide --dyn-syms $program && "
                              "readelf --wide --file-header --program-headers --dynamic $program");
    ASSERT_EQ(seen.code, 0) << seen.out;
    EXPECT_THAT(seen.out,
                AllOf(HasSubstr("__stack_chk_fail"), HasSubstr("_chk@GLIBC"), HasSubstr("GNU_RELRO"),
                      ContainsRegex("FLAGS.*NOW"), HasSubstr("Position-Independent Executable")));
    // The condition of an assertion of std::vector. The C++ library itself is compiled without any.
    EXPECT_EQ(
        shell("grep -q '__n < this->size()' $(find " + quoted(open) + " -name deadrank -type f -size +1M)")
            .code,
        0)
        << "_GLIBCXX_ASSERTIONS is not set";
}

// What the program is made of, by the archives of its link and the headers of its objects, and what the SBOM
// names.
TEST_F(DeviceWheel, ListsEveryLibraryThatItContains) {
    const Answer listed = shell(
        "/usr/bin/python3 -c 'import zipfile, sys; w = zipfile.ZipFile(sys.argv[1]); "
        "print(w.read([n for n in w.namelist() if n.endswith(\"/sboms/deadrank.cdx.json\")][0])"
        ".decode())' " +
        quoted(wheel_));
    ASSERT_EQ(listed.code, 0) << listed.out;
    const auto sbom = nlohmann::json::parse(listed.out);
    EXPECT_EQ(sbom["bomFormat"], "CycloneDX");
    std::set<std::string> packages, archives;
    for (const auto& component : sbom["components"]) {
        packages.insert(component["bom-ref"]);
        EXPECT_FALSE(component["licenses"].empty()) << component;
        std::string version;  // as a package URL writes it
        for (const char letter : component.value("version", "no version"))
            version += letter == '+' ? "%2B" : letter == ':' ? "%3A" : std::string(1, letter);
        EXPECT_THAT(component.value("purl", ""), HasSubstr("@" + version)) << component;
        for (const auto& file : component.value("components", nlohmann::json::array())) {
            archives.insert(file["name"]);
            EXPECT_EQ(file["hashes"][0]["content"].get<std::string>().size(), 64u) << file;
        }
    }
    const Answer linked = shell("ninja -C " + quoted(build) +
                                " -t commands alone/deadrank | tail -n 1 | tr ' ' '\\n' | "
                                "sed -n 's|^/usr/.*/\\(lib[^/]*\\.a\\)$|\\1|p' | sort -u");
    std::istringstream archive_lines(linked.out);
    int found = 0;
    for (std::string archive; std::getline(archive_lines, archive); ++found)
        EXPECT_TRUE(archives.contains(archive)) << archive;
    EXPECT_GT(found, 5) << linked.out;
    // Of libc and the kernel a program has declarations alone, and of NCCL and MPI as well.
    const Answer included =
        shell("ninja -C " + quoted(build) +
              " -t deps | grep -E '^    (/|(\\.\\./)+)usr/(include|lib/gcc)/' | "
              "sed -E 's#^ +(\\.\\./)*/?#/#' | sort -u | "  // ccache may write paths relative to the build
              "xargs dpkg -S 2>/dev/null | cut -d: -f1 | sort -u | "
              "grep -vE '^(libc6-dev|linux-libc-dev|libopenmpi-dev|libnccl.*|cuda.*|lib.*test.*|"
              "libgmock-dev|librapidcheck-dev|libbenchmark-dev|libsimgrid-dev|python.*)$'");
    std::istringstream package_lines(included.out);
    found = 0;
    for (std::string package; std::getline(package_lines, package); ++found) {
        if (package.starts_with("libgcc-")) package = "libstdc++-12-dev";  // one part
        EXPECT_TRUE(packages.contains(package)) << package << ": add a row to cmake/parts.py";
    }
    EXPECT_GT(found, 5) << included.out;
}

// Debian 11 has glibc 2.31 and this machine a later one. Exceptions, threads, clocks and files of the program
// go through what older versions lack.
TEST_F(DeviceWheel, PlaysTheSameOnTheGlibcOfDebian11) {
    if (shell("command -v mmdebstrap").code != 0)
        GTEST_SKIP() << "no mmdebstrap; `apt-get install mmdebstrap` brings it";
    const fs::path root = place_ / "bullseye";
    const Answer made =
        shell("cd / && mmdebstrap --variant=extract --quiet --include=libc6 bullseye " + quoted(root));
    if (made.code != 0) GTEST_SKIP() << "Debian 11 cannot be reached: " << made.out;
    ASSERT_NO_FATAL_FAILURE(install());
    const std::string libraries = quoted(root / "lib/x86_64-linux-gnu");
    const std::string loader = libraries + "/ld-linux-x86-64.so.2 --library-path " + libraries + " ";
    const auto on_old_glibc = [&](const std::string& arguments) {
        return shell("cd / && env -i HOME=" + quoted(place_ / "home") +
                     " PATH=/nowhere DEADRANK_CATALOG=" + quoted(environment_ / "share/deadrank/catalog") +
                     " " + loader + quoted(environment_ / "bin/deadrank") + " " + arguments);
    };
    EXPECT_THAT(shell(loader + libraries + "/libc.so.6").out, HasSubstr("2.31"));
    const std::string campaign = "sweep campaign communication --seeds 1..2 --jobs 4 --out ";
    const Answer here = call("deadrank", campaign + quoted(place_ / "here.sqlite"), "PATH=/nowhere");
    const Answer there = on_old_glibc(campaign + quoted(place_ / "there.sqlite"));
    EXPECT_THAT(there.out, ContainsRegex("[1-9][0-9] pass · 0 fail"));  // those that need torch are unknown
    const auto digest = [](const Answer& answer) {
        return answer.out.substr(std::min(answer.out.find("answer "), answer.out.size()), 23);
    };
    EXPECT_THAT(digest(there), ContainsRegex("answer [0-9a-f]{16}"));
    EXPECT_EQ(digest(here), digest(there)) << there.out;
    std::ofstream(place_ / "bad.toml") << "name = \n";
    const Answer refused = on_old_glibc("run " + quoted(place_ / "bad.toml"));
    EXPECT_EQ(refused.code, 64) << refused.out;
    EXPECT_THAT(refused.out, HasSubstr("bad.toml:1:8: this is not TOML"));
}

TEST_F(DeviceWheel, PytestFindsThePluginAndThePluginItsProgram) {
    if (shell("/usr/bin/python3 -c 'import pytest'").code != 0)
        GTEST_SKIP() << "pytest is not installed; `apt-get install python3-pytest` brings it";
    ASSERT_NO_FATAL_FAILURE(install("--system-site-packages"));
    const Answer all =
        call("python",
             "-m pytest -p no:cacheprovider --rootdir . " + quoted(checkout / "tests/suites/pytest_project"),
             "PYTHONDONTWRITEBYTECODE=1");
    EXPECT_EQ(all.code, 1) << all.out;
    EXPECT_THAT(all.out, AllOf(HasSubstr("1 failed, 2 passed"), HasSubstr("it was rank 3"),
                               Not(HasSubstr("Traceback"))));
}

// The environment gets a torch of its own: that of the tests, by a path file, and a torchrun as pip writes
// it.
TEST_F(DeviceWheel, TorchrunIsTheOneOfItsEnvironment) {
    const char* python = std::getenv("DEADRANK_PYTHON");
    const Answer packages = shell(quoted(python ? python : "/usr/bin/python3") +
                                  " -c 'import torch, os, sys; assert sys.version_info[:2] == tuple(map(int, "
                                  "os.popen(\"/usr/bin/python3 -V\").read().split()[1].split(\".\")[:2])); "
                                  "print(os.path.dirname(os.path.dirname(torch.__file__)))'");
    if (packages.code != 0) GTEST_SKIP() << "no torch for /usr/bin/python3; DEADRANK_PYTHON has none";
    ASSERT_NO_FATAL_FAILURE(install());
    std::ofstream(environment_ / "lib" / fs::read_symlink("/usr/bin/python3") /
                  "site-packages/torch_of_tests.pth")
        << packages.out;
    std::ofstream(environment_ / "bin/torchrun") << "#!" << (environment_ / "bin/python").string()
                                                 << "\nimport sys\nfrom torch.distributed.run import main\n"
                                                    "sys.exit(main())\n";
    fs::permissions(environment_ / "bin/torchrun", fs::perms::owner_all);
    std::ofstream(place_ / "train.py") << R"(
import sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
print("environment", sys.prefix, flush=True)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
)";
    const Answer played =
        call("deadrank",
             "run communication/rank_leaves_all_reduce --runner local --ranks 2 --no-heal --no-control "
             "--out " +
                 quoted(place_ / "out") + " -- torchrun --nproc-per-node 2 " + quoted(place_ / "train.py"));
    const Answer kept = shell("grep -rhoa 'environment /[^ \"]*' " + quoted(place_ / "out"));
    EXPECT_THAT(kept.out, HasSubstr("environment " + environment_.string())) << played.out;
    EXPECT_LE(played.code, 1) << played.out;
}

TEST_F(DevicePackages, TheDebianPackageWorksInABareDebianRoot) {
    const fs::path package_file = package("deadrank_", ".deb");
    ASSERT_FALSE(package_file.empty());
    if (shell("command -v mmdebstrap").code != 0)
        GTEST_SKIP() << "no mmdebstrap; `apt-get install mmdebstrap` brings it";
    const fs::path reached = place_ / "reached";
    std::string sources;  // those of this machine, which can be reached from here
    for (const char* list : {"/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"})
        if (sources.empty() && fs::exists(list) && fs::file_size(list) > 0) sources = list;
    const auto inside = [](const std::string& command) {
        return " --customize-hook='env -i HOME=/ PATH=/usr/sbin:/usr/bin:/sbin:/bin "
               "DEBIAN_FRONTEND=noninteractive chroot \"$1\" " +
               command + "'";
    };
    const Answer made = shell(
        "cd / && mmdebstrap --variant=apt --format=null --quiet \"$(. /etc/os-release && echo "
        "$VERSION_CODENAME)\" "
        "/dev/null " +
        sources + " --customize-hook='touch " + reached.string() + "' --customize-hook='copy-in " +
        package_file.string() + " /tmp'" +
        inside("sh -c \"apt-get install --yes /tmp/deadrank_*.deb && ! command -v cc c++ gcc g++\"") +
        inside("deadrank run communication") +
        inside("grep -c bom-ref /usr/share/doc/deadrank/deadrank.cdx.json") +
        inside("sh -c \"zcat -f /usr/share/man/man1/deadrank.1* | head -1\""));
    if (!fs::exists(reached))
        GTEST_SKIP() << "no bare Debian root could be made: "
                     << made.out.substr(made.out.size() - std::min<std::size_t>(made.out.size(), 300));
    EXPECT_EQ(made.code, 0) << made.out;
    EXPECT_THAT(made.out, AllOf(ContainsRegex("[1-9][0-9] pass · 0 fail · 0 unknown"), HasSubstr(".TH")));
}

}  // namespace
}  // namespace deadrank::tests
