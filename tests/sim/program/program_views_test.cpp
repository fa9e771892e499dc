// tests/sim/program/program_views_test.cpp — Goal: a view whose elements do not follow each other shares
// memory as in torch, and calls refuse it, or misread it, as NCCL and gloo do.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

const Words over_gloo = {{"gpus_per_node", "2"}, {"nodes", "1"}, {"library", "gloo"}};

TEST(ProgramViews, ShareMemoryWithTheWhole) {
    const char* step = R"py(
x = arange(6).reshape(2, 3)
column = x[:, 1]
assert column.tolist() == [1, 4] and not column.is_contiguous() and x.is_contiguous()
assert column.stride() == (3,) and x.stride() == (3, 1) and x.t().stride(0) == 1
x[0, 1] = 10
assert column.tolist() == [10, 4]
column[1] = 40
column += 1
column.mul_(2)
assert x.tolist() == [[0, 22, 2], [3, 82, 5]]
turned = x.t()
assert turned.tolist() == [[0, 3], [22, 82], [2, 5]] and turned.t().is_contiguous()
turned[2] = tensor([7, 8])
turned.transpose(0, 1)[0].fill_(1)
assert x.tolist() == [[1, 1, 1], [3, 82, 8]]
own = turned.contiguous()
own[0, 0] = 99
assert x[0, 0] == 1 and own.is_contiguous() and turned.clone().stride() == (1, 3)
assert arange(6)[::2].tolist() == [0, 2, 4] and x[:, 0:1].shape == [2, 1]
parts = x.chunk(3, dim=1)
parts[2].zero_()
assert x.tolist() == [[1, 1, 0], [3, 82, 0]]
assert (x.t() @ ones(2, dtype="int64")).tolist() == [4, 83, 0]
assert cat([column, column]).tolist() == [1, 82, 1, 82]
assert (x.t() + x.t()).tolist() == [[2, 6], [2, 164], [0, 0]] and x.t().sum() == 87
assert x.permute(1, 0).reshape(6).tolist() == [1, 3, 1, 82, 0, 0]
said = []
wide = tensor([1, 2]).unsqueeze(1).expand(2, 3)
assert wide.tolist() == [[1, 1, 1], [2, 2, 2]] and not wide.is_contiguous()
for act in (lambda: x.t().view(6), lambda: wide.fill_(0)):
    try:
        act()
    except RuntimeError as error:
        said.append(error)
assert said[0].startswith("view size is not compatible")
assert said[1].startswith("unsupported operation: more than")
)py";
    EXPECT_EQ(last_words(play_program(step)), "");
}

TEST(ProgramViews, AreRefusedInCollectives) {
    for (const char* call : {"all_reduce(x.t())", "broadcast(x[:, 0], src=0)", "all_gather(x[:, 0])",
                             "reduce(x.t(), dst=0)", "all_gather([x.t(), x.t()], x.t())"}) {
        const std::string step = std::string("x = ones(2, 2)\n") + call;
        EXPECT_EQ(last_words(play_program(step)), "ValueError: Tensors must be contiguous") << call;
    }
    const char* right = "x = ones(2, 2)\nall_reduce(x.t().contiguous())\nall_reduce(x[0])";
    EXPECT_EQ(last_words(play_program(right)), "");
    EXPECT_EQ(last_words(play_program("all_reduce(ones(2, 2).t())", over_gloo)),
              "ValueError: Tensors must be contiguous");
}

// As pytorch#192920 has it: elements behind the first one's address are taken, whatever the view says.
TEST(ProgramViews, AreMisreadWhereOnlyTheAddressIsLookedAt) {
    const char* step = R"py(
x = tensor([[1, 2], [3, 4]]) * (1 - rank)
broadcast(x[:, 0], src=0)
if rank == 1:
    assert x.tolist() == [[1, 2], [0, 0]]
y = tensor([[1, 0], [1, 1]])
reduce(y[:, 0], dst=0)
if rank == 0:
    assert y.tolist() == [[2, 0], [1, 1]]
if rank == 0:
    send(tensor([[5, 6], [7, 8]])[:, 0], dst=1)
else:
    z = zeros(2, dtype="int64")
    recv(z, src=0)
    assert z.tolist() == [5, 6]
)py";
    const auto record = play_program(step, over_gloo);
    EXPECT_EQ(last_words(record, 0) + last_words(record, 1), "");
}

// Goal: what an operation makes of a transposed tensor keeps its order in memory, as preserve_format does.
TEST(ProgramViews, ResultsKeepTheOrderOfTheirOperand) {
    EXPECT_EQ(last_words(play_program(R"py(
x = arange(6).reshape(2, 3).float()
for y in [x.t() * 2, 2 + x.t(), x.t() + ones(2), x.t() + zeros(3, 2), x.t().clone(), x.t().exp(),
          zeros_like(x.t()), empty_like(x.t()), x.t().long()]:
    assert y.stride() == (1, 3) and y.shape == [3, 2]
assert (x.t() * 2).tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
assert full_like(x.t(), 3.0).tolist() == [[3.0, 3.0]] * 3
assert (zeros(3, 2) + x.t()).is_contiguous() and (x.t() @ x).is_contiguous()
assert x.t().contiguous().stride() == (2, 1) and x[:, 0].clone().is_contiguous()
y = x.t().clone()
y[0, 1] = 9.0
assert y.tolist()[0] == [0.0, 9.0] and x[1, 0] == 3.0
try:
    all_reduce(x.t() * 2)
    assert False
except ValueError as error:
    assert str(error) == "Tensors must be contiguous"
)py")),
              "");
}

}  // namespace
}  // namespace deadrank::tests
