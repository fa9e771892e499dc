# tests/standin/gpu_triton.py — Triton kernels on a simulated GPU give what torch's operators give.
import torch
import triton
import triton.language as tl


@triton.jit
def added(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (64, 128)], key=["n"])
@triton.jit
def scaled(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.heuristics({"BLOCK": lambda known: triton.next_power_of_2(known["n"])})
@triton.jit
def softmax(out, x, stride, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    line = tl.load(x + row * stride + column, mask=column < n, other=-float("inf"))
    above = tl.exp(line - tl.max(line, axis=0))
    tl.store(out + row * stride + column, above / tl.sum(above, axis=0), mask=column < n)


@triton.jit
def product(a, b, out, n, SIZE: tl.constexpr):
    row, column = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    tl.store(out + row * n + column, tl.dot(tl.load(a + row * n + column), tl.load(b + row * n + column)))


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


def sum_of(x, y):
    out = torch.empty_like(x)
    added[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out


@torch.library.custom_op("deadrank_test::added", mutates_args=())
def opaque(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return sum_of(x, y)


opaque.register_fake(lambda x, y: torch.empty_like(x))
torch.manual_seed(0)
x, y = torch.randn(300, device="cuda"), torch.randn(300, device="cuda")
out, sums = torch.empty_like(x), torch.zeros((), device="cuda")
wide, narrow = torch.randn(8, 50, device="cuda"), torch.randn(8, 50, device="cuda", dtype=torch.bfloat16)
soft, soft_narrow = torch.empty_like(wide), torch.empty_like(narrow)
square, squared = torch.randn(16, 16, device="cuda"), torch.empty(16, 16, device="cuda")

torch.testing.assert_close(sum_of(x, y), x + y, rtol=0, atol=0)
scaled[lambda known: (triton.cdiv(300, known["BLOCK"]),)](x, out, 300, 2.5)
torch.testing.assert_close(out, x * 2.5, rtol=0, atol=0)
softmax[(8,)](soft, wide, 50, 50)
torch.testing.assert_close(soft, wide.softmax(1))
softmax[(8,)](soft_narrow, narrow, 50, 50)
torch.testing.assert_close(soft_narrow, narrow.softmax(1))
product[(1,)](square, square, squared, 16, SIZE=16)
torch.testing.assert_close(squared, square @ square)
total[(5,)](x, sums, 300, BLOCK=64)
torch.testing.assert_close(sums, x.sum())
torch.testing.assert_close(torch.compile(lambda a, b: sum_of(a, b).sin())(x, y), (x + y).sin())
torch.testing.assert_close(torch.compile(lambda a, b: opaque(a, b).sin(), fullgraph=True)(x, y), (x + y).sin())
print("8 kernels gave what torch gives")
