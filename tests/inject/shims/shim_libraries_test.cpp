// Goal: each shim loads into anything: all its symbols resolve, it needs the C library alone, and it shows the
// program nothing but what it is loaded for.
#include <dlfcn.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <sstream>

#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

struct Shim {
    const char* name;
    const char* file;
    const char* shows;  // a regular expression
};

class DeviceShimLibraries : public testing::TestWithParam<Shim> {
protected:
    void SetUp() override {
        if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
        if (!std::filesystem::exists(path())) GTEST_SKIP() << "this build found no Open MPI";
    }
    std::string path() const { return shim_directory + "/" + GetParam().file; }
};

TEST_P(DeviceShimLibraries, ResolveAllTheirSymbols) {
    void* library = ::dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << ::dlerror();
    if (library) ::dlclose(library);
}

TEST_P(DeviceShimLibraries, NeedNothingButTheCLibrary) {
    // glibc before 2.34 keeps threads and dlopen in libraries of their own.
    const auto of_libc = testing::ContainsRegex("linux-vdso|lib(c|pthread|dl|rt|m)[.]so|ld-linux");
    std::istringstream needed(shell("ldd " + path()).out);
    for (std::string line; std::getline(needed, line);) {
        EXPECT_THAT(line, of_libc);
    }
}

TEST_P(DeviceShimLibraries, ShowNothingElse) {
    std::istringstream shown(shell("nm -D --defined-only " + path() + " | awk '{print $3}'").out);
    int count = 0;
    for (std::string name; std::getline(shown, name); ++count) {
        EXPECT_THAT(name, testing::MatchesRegex(GetParam().shows));
    }
    EXPECT_GT(count, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Of, DeviceShimLibraries,
    testing::Values(Shim{"Nccl", "libdeadrank-nccl.so", "(nccl|deadrank_)[A-Za-z0-9_]+"},
                    Shim{"Mpi", "libdeadrank-mpi.so", "MPI_[A-Za-z_]+"},
                    Shim{"Files", "libdeadrank-files.so",
                         "[a-z]+(64)?|__open(at)?(64)?_2|renameat2|deadrank_(keep|keep_begin|refused|storage|storage_fault|copies_begin|turn_begin|turn_take|turn_due)"},
                    Shim{"Sockets", "libdeadrank-sockets.so", "writev|send|sendmsg|deadrank_link(_flip)?"}),
    [](const auto& chosen) { return std::string(chosen.param.name); });

// What the program may call, the interposer answers for.
TEST(DeviceInterposerExports, CoverThePublicFunctionsOfTheInstalledNccl) {
    if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
    if (installed_nccl().empty()) GTEST_SKIP() << "no NCCL is installed here";
    const std::string list = " | awk '$2 == \"W\" || $2 == \"T\" {print $3}' | grep '^nccl' | sort";
    const std::string mine =
        shell("nm -D --defined-only " + shim_directory + "/libdeadrank-nccl.so" + list).out;
    const std::string theirs = shell("nm -D --defined-only " + installed_nccl() + "/libnccl.so.2" + list +
                                     " | grep -v ncclResetDebugInitInternal")
                                   .out;
    EXPECT_EQ(std::count(mine.begin(), mine.end(), '\n'), 52);
    std::istringstream names(theirs);
    for (std::string name; std::getline(names, name);) {
        EXPECT_NE(mine.find(name + "\n"), std::string::npos) << name << " is not interposed";
    }
}

}  // namespace
}  // namespace deadrank::tests
