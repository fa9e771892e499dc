// tests/sim/program/program_asserts_test.cpp — Goal: an index out of range on a device stops the kernel, and
// the rank learns of it where it reaches the device next; another device in use changes where things go, and
// nothing for calls.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

constexpr const char* asserted = "torch.AcceleratorError: CUDA error: device-side assert triggered";

std::string warned(const runners::Record& record) {
    for (const results::Event* event : record.evidence.each<results::RankLog>())
        if (event->as<results::RankLog>()->level == 1)
            return std::string(record.evidence.text(event->as<results::RankLog>()->line));
    return {};
}

TEST(ProgramAsserts, AnIndexOutOfRangeIsToldByTheNextCallThatReachesTheDevice) {
    const std::pair<const char*, const char*> cases[] = {
        {"cross_entropy(zeros(2, 3, device=\"cuda\"), tensor([0, 3], device=\"cuda\"))",
         "Assertion `t >= 0 && t < n_classes` failed."},
        {"zeros(2, device=\"cuda\").index_select(0, tensor([2], device=\"cuda\"))",
         "Assertion `srcIndex < srcSelectDimSize` failed."},
        {"zeros(2, device=\"cuda\").gather(0, tensor([2], device=\"cuda\"))",
         "Assertion `idx_dim >= 0 && idx_dim < index_size && \"index out of bounds\"` failed."},
        {"zeros(2, device=\"cuda\")[tensor([2], device=\"cuda\")]",
         "Assertion `-sizes[i] <= index && index < sizes[i] && \"index out of bounds\"` failed."},
    };
    for (const auto& [step, line] : cases) {
        const std::string made = "y = ones(2, device=\"cuda\")\nx = " + std::string(step) +
                                 "\nsleep(1)\nn = y.size(0)\nlog(\"the host goes on\")\n";
        for (const char* reaches :
             {"y += 1", "all_reduce(y)", "compute(\"1ms\")", "z = y.cpu()", "loss(1.0)"}) {
            const auto record = play_program(made + reaches);
            EXPECT_TRUE(last_words(record).starts_with(asserted)) << step << reaches << last_words(record);
            EXPECT_NE(warned(record).find(line), std::string::npos) << warned(record);
        }
        EXPECT_EQ(last_words(play_program(made)), "") << step << " nothing reaches the device again";
    }
    // It is told for ever after.
    const auto again = play_program(
        "x = zeros(2, device=\"cuda\")[tensor([5], device=\"cuda\")]\nfor i in range(2):\n  try:\n    "
        "compute(\"1ms\")\n  except RuntimeError as error:\n    log(f\"{i}\")\nbarrier()");
    EXPECT_TRUE(last_words(again).starts_with(asserted)) << last_words(again);
}

TEST(ProgramAsserts, OnTheHostItIsRefusedAtOnce) {
    const std::pair<const char*, const char*> cases[] = {
        {"cross_entropy(zeros(2, 3), tensor([0, 3]))", "IndexError: Target 3 is out of bounds."},
        {"zeros(2).index_select(0, tensor([2]))", "IndexError: index out of range in self"},
        {"zeros(2)[tensor([2])]", "IndexError: index 2 is out of bounds for dimension 0 with size 2"},
        {"zeros(2, device=\"cuda\")[5:6][0]",
         "IndexError: index 0 is out of bounds for dimension 0 with size 0"},
    };
    for (const auto& [step, words] : cases)
        EXPECT_EQ(last_words(play_program(std::string("x = ") + step)), words) << step;
}

TEST(ProgramAsserts, AnotherDeviceInUseChangesNothingForCalls) {
    EXPECT_EQ(last_words(play_program(R"py(
x = ones(2, device="cuda")
other = 1 - local_rank
with torch.cuda.device(other):
    assert torch.cuda.current_device() == other
    y = ones(2, device="cuda")
    all_reduce(x)
assert torch.cuda.current_device() == local_rank
assert y.device == f"cuda:{other}" and x.sum() == 4.0 and zeros(1, device="cuda").device == x.device
set_device(other)
all_reduce(x)
assert x.sum() == 8.0
)py")),
              "");
    EXPECT_EQ(
        last_words(play_program("with torch.cuda.device(1 - local_rank):\n  all_reduce(ones(1, "
                                "device=\"cuda\"))")),
        "torch.distributed.DistBackendError: Attempt to perform collective on tensor not on device passed to "
        "init_process_group");
}

// Goal: eight bits hold what they hold with torch.
TEST(ProgramFloat8, CastsRoundAsTorch) {
    EXPECT_EQ(last_words(play_program(R"py(
x = tensor([1.0, 1.0625, 1.1875, 17.0, 448.0, 460.0, -464.0, 0.001, 0.0029296875])
fine = x.to("float8_e4m3fn")
assert fine.dtype == "torch.float8_e4m3fn"
assert fine.float().tolist() == [1.0, 1.0, 1.25, 16.0, 448.0, 448.0, -448.0, 1/512, 1/256]
assert isnan(tensor([465.0]).to(torch.float8_e4m3fn).float()[0])
wide = tensor([1.0, 1.125, 1.25, 57344.0, 60000.0, 1/65536]).to(torch.float8_e5m2)
assert wide.float().tolist() == [1.0, 1.0, 1.25, 57344.0, 57344.0, 1/65536]
assert tensor([61440.0]).to(torch.float8_e5m2).float()[0] == inf
assert tensor([1000.0]).clamp(-448, 448).to(torch.float8_e4m3fn).float()[0] == 448.0
both = all_gather(tensor([rank + 1.0]).to(torch.float8_e4m3fn))
assert both[1].float().item() == 2.0 and both[1].dtype == "torch.float8_e4m3fn"
sent = all_gather_object(fine)
assert sent[1].dtype == fine.dtype
)py")),
              "");
    EXPECT_EQ(last_words(play_program("x = ones(2).to(torch.float8_e5m2)\ny = x * 2")),
              "RuntimeError: \"mul_cuda\" not implemented for 'Float8_e5m2'");
    EXPECT_EQ(last_words(play_program("all_reduce(ones(2).to(torch.float8_e5m2))")),
              "RuntimeError: a reduction of float8 is not known here: cast it first");
}

}  // namespace
}  // namespace deadrank::tests
