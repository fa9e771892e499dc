# tests/standin/gpu_triton.py — Triton kernels on a simulated GPU give what torch's operators give.
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def added(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (64, 128)], key=["n"])
@triton.jit
def scaled(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor.to(tl.float32), mask=at < n)


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
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


@triton.jit
def by_libdevice(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1.0)
    value = libdevice.tanh(libdevice.pow(value, 2.0 + value * 0)) + libdevice.isnan(value)
    tl.store(out + at, libdevice.rsqrt(value + 1.0), mask=at < n)


@triton.jit
def by_another_function(x):
    tl.store(x, libdevice.round(tl.load(x)))


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
total[(2,)](x, sums, 300, BLOCK=64)
torch.testing.assert_close(sums, x.sum())
by_libdevice[(1,)](wide, soft, 400, BLOCK=512)
torch.testing.assert_close(soft, ((wide**2).tanh() + 1).rsqrt())
try:
    by_another_function[(1,)](x)
except Exception as trouble:
    assert "libdevice.round of these arguments has no version" in str(trouble), trouble
else:
    raise AssertionError("libdevice.round rounds otherwise than torch")
torch.testing.assert_close(torch.compile(lambda a, b: sum_of(a, b).sin())(x, y), (x + y).sin())
torch.testing.assert_close(torch.compile(lambda a, b: opaque(a, b).sin(), fullgraph=True)(x, y), (x + y).sin())
print("9 kernels gave what torch gives")
