// tests/results/stream_races_test.cpp — Goal: of the report of torch's CUDA Stream Sanitizer a finding has both kernels,
// both lines of the program, and what is not ordered.
#include "results/analysis/stream_races.h"

#include <gtest/gtest.h>

#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

using results::analysis::find_stream_races;

// As torch 2.11 prints it, line by line; addresses are the run's.
constexpr const char* report[] = {
    "============================",
    "CSAN detected a possible data race on tensor with data pointer 140665952563712",
    "Access by stream 140723664 during kernel:",
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "reading from argument(s) self",
    "With stack trace:",
    "  File \"/home/u/train.py\", line 18, in <module>",
    "    total.add_(model.weight.sum(1))",
    "  File \"/v/lib/python3.11/site-packages/torch/_compile.py\", line 54, in inner",
    "    return disable_fn(*args, **kwargs)",
    "",
    "Previous access by stream 0 during kernel:",
    "aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
    "writing to argument(s) self",
    "With stack trace:",
    "  File \"/home/u/train.py\", line 15, in <module>",
    "    opt.step()",
    "  File \"/v/lib/python3.11/site-packages/torch/optim/sgd.py\", line 473, in _multi_tensor_sgd",
    "    torch._foreach_add_(device_params, device_grads, alpha=-lr)",
    "",
    "Tensor was allocated with stack trace:",
    "  File \"/home/u/train.py\", line 7, in <module>",
    "    model = Model().cuda()",
};

EvidenceBuilder raced(results::Rank rank) {
    EvidenceBuilder job(2);
    job.start();
    for (const char* line : report) job.log(rank, line, 1);
    return job;
}

TEST(StreamRaces, HaveBothKernelsAndTheirLines) {
    const Evidence seen = raced(1).watched();
    const auto races = find_stream_races(seen);
    ASSERT_EQ(races.size(), 1u);
    EXPECT_EQ(races[0].rank, 1);
    EXPECT_EQ(races[0].text(),
              "aten::sum at train.py:18 total.add_(model.weight.sum(1)) reads a tensor in a side stream, and nothing "
              "makes it wait until aten::_foreach_add_ at train.py:15 opt.step() has written it in the default stream");
}

TEST(StreamRaces, AreNoneInAReportThatWasCutBeforeTheSecondKernel) {
    EvidenceBuilder job(1);
    for (const char* line : report) {
        if (std::string_view(line).starts_with("Previous")) break;
        job.log(0, line, 1);
    }
    EXPECT_TRUE(find_stream_races(job.watched()).empty());
}

TEST(StreamRaces, ExplainTheExceptionThatTheSanitizerRaises) {
    EvidenceBuilder job = raced(1);
    job.log(1,
            "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 18, in <module>\n"
            "    total.add_(model.weight.sum(1))\ntorch.cuda._sanitizer.CUDASanitizerErrors: detected 1 errors");
    const Finding found = found_by("runtime_exception", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.causes, std::vector<std::string>{"stream_or_buffer_race"});
    EXPECT_TRUE(found.says.starts_with("rank 1: aten::sum at train.py:18")) << found.says;
}

}  // namespace
}  // namespace deadrank::tests
