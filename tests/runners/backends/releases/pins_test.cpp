// tests/runners/backends/releases/pins_test.cpp — Goal: a list of pinned releases is read as it is written, a
// broken line is told with its place, and another interpreter is refused before anything is fetched.
#include "runners/backends/releases/pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runners/backends/releases/pip.h"

namespace deadrank::runners {
namespace {

using testing::HasSubstr;

const std::string some_hash(64, 'a');

TEST(ReleasePins, AreReadAsTheyAreWritten) {
    const Pins pins = {
        {{"torchdata", "0.11.0"}, {some_hash, "torchdata-0.11.0-py3-none-any.whl", 393975, 1264}}};
    const auto again = parse_pins(to_text(pins), "pins.txt");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*again, pins);
}

TEST(ReleasePins, TellTheLineThatIsNone) {
    const auto torn = parse_pins("# a list\ntorchdata==0.11.0 --hash=sha256:abc\n", "pins.txt");
    ASSERT_FALSE(torn);
    EXPECT_THAT(torn.error().text(), HasSubstr("pins.txt:2:1: 'torchdata==0.11.0 --hash=sha256:abc'"));
}

TEST(ReleasePins, RefuseAnotherInterpreter) {
    const Archive native{some_hash, "pyarrow-18.1.0-cp311-cp311-manylinux_2_28_x86_64.whl", 1, 1};
    EXPECT_EQ(native.refused_by("3.11.2"), "");
    EXPECT_EQ(native.refused_by("3.12.0"),
              native.file + " was built for Python 3.11, and the one here is 3.12.0");
    const Archive stable{some_hash, "safetensors-0.4.5-cp38-abi3-manylinux_2_17_x86_64.whl", 1, 1};
    EXPECT_EQ(stable.refused_by("3.11.2"), "");
    const Archive pure{some_hash, "tqdm-4.67.1-py3-none-any.whl", 1, 1};
    EXPECT_EQ(pure.refused_by("3.13.0"), "");
}

// Goal: what pip says becomes a sentence with what would do.
TEST(ReleasePins, TellTheTroubleOfPip) {
    const auto told = [](const std::string& said) { return trouble_of(said, "a==1").what; };
    EXPECT_EQ(told("ERROR: No matching distribution found for a==1"),
              "the index has a==1 no more, or not for this Python and machine");
    EXPECT_EQ(told("OSError: [Errno 28] No space left on device"),
              "no room was left while a==1 was installed");
    EXPECT_EQ(told("NewConnectionError: Failed to establish a new connection"),
              "the package index could not be reached for a==1");
    EXPECT_EQ(told("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE"),
              "the index gave another file for a==1 than the one that was pinned");
    EXPECT_EQ(told("ERROR: something else"), "pip could not install a==1: ERROR: something else");
}

}  // namespace
}  // namespace deadrank::runners
