# inject/standin/operators/python/deadrank_operators/written_out.py — Operators that only CUDA has, written
# out of others. Autograd's formulas stay torch's own.
import functools
import warnings

import torch

KERNELS = {}
_library = None


def kernel(name):
    """Registers a function as the CUDA kernel of an operator."""

    def take(function):
        KERNELS[name] = function
        return function

    return take


def install():
    """Registers those that this torch has."""
    global _library
    _library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that kernels are overridden, which is the purpose
        for name, function in KERNELS.items():
            if torch._C._dispatch_has_kernel(f"aten::{name}"):
                _library.impl(name, _without_autocast(function), "CUDA", allow_override=True)


def _without_autocast(function):
    """A kernel is called below autocast, so the operators that it calls must not be cast again."""

    @functools.wraps(function)
    def call(*arguments, **keywords):
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)):
            return function(*arguments, **keywords)

    return call


# Recurrent cells. Without cuDNN torch runs layers cell by cell.


@kernel("cudnn_is_acceptable")
def cudnn_is_acceptable(x):
    return False


@kernel("_cudnn_rnn_flatten_weight")
def flatten_weight(weights, *rest):
    return weights[0].new_empty(0)  # the weights stay where they are


def lstm_gates(input_gates, hidden_gates, input_bias, hidden_bias):
    gates = input_gates + hidden_gates
    if input_bias is not None:
        gates = gates + input_bias + hidden_bias
    i, f, g, o = gates.chunk(4, 1)
    return i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()


@kernel("_thnn_fused_lstm_cell")
def lstm_cell(input_gates, hidden_gates, cell, input_bias=None, hidden_bias=None):
    i, f, g, o = lstm_gates(input_gates, hidden_gates, input_bias, hidden_bias)
    new_cell = f * cell + i * g
    return o * new_cell.tanh(), new_cell, torch.cat([i, f, g, o], 1)


@kernel("_thnn_fused_lstm_cell_backward_impl")
def lstm_cell_backward(grad_hidden, grad_cell, cell, new_cell, workspace, has_bias):
    if grad_hidden is None and grad_cell is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    tanh = new_cell.tanh()
    grad = torch.zeros_like(o) if grad_cell is None else grad_cell
    grad_output_gate = torch.zeros_like(o)
    if grad_hidden is not None:
        grad = grad + grad_hidden * o * (1 - tanh * tanh)
        grad_output_gate = grad_hidden * tanh * o * (1 - o)
    grad_gates = torch.cat(
        [grad * g * i * (1 - i), grad * cell * f * (1 - f), grad * i * (1 - g * g), grad_output_gate], 1
    )
    return grad_gates, grad * f, grad_gates.sum(0) if has_bias else None


@kernel("_thnn_fused_gru_cell")
def gru_cell(input_gates, hidden_gates, hidden, input_bias=None, hidden_bias=None):
    if input_bias is not None:
        input_gates, hidden_gates = input_gates + input_bias, hidden_gates + hidden_bias
    (input_r, input_z, input_n), (hidden_r, hidden_z, hidden_n) = input_gates.chunk(3, 1), hidden_gates.chunk(
        3, 1
    )
    r, z = (hidden_r + input_r).sigmoid(), (hidden_z + input_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return (hidden - n) * z + n, torch.cat([r, z, n, hidden, hidden_n], 1)


@kernel("_thnn_fused_gru_cell_backward")
def gru_cell_backward(grad, workspace, has_bias):
    r, z, n, hidden, hidden_n = workspace.chunk(5, 1)
    grad_z = grad * (hidden - n) * z * (1 - z)
    grad_n = grad * (1 - z) * (1 - n * n)
    grad_r = grad_n * hidden_n * r * (1 - r)
    grad_input = torch.cat([grad_r, grad_z, grad_n], 1)
    grad_hidden_gates = torch.cat([grad_r, grad_z, grad_n * r], 1)
    biases = (grad_input.sum(0), grad_hidden_gates.sum(0)) if has_bias else (None, None)
    return grad_input, grad_hidden_gates, grad * z, *biases


# Normalisation.


@kernel("_fused_rms_norm_backward")
def rms_norm_backward(grad, x, shape, rstd, weight, wanted):
    dims = tuple(range(-len(shape), 0))
    x_, grad_ = x.float(), grad.float()
    scaled = grad_ if weight is None else grad_ * weight.float()
    normal = x_ * rstd
    grad_x = grad_weight = None
    if wanted[0]:
        grad_x = (rstd * (scaled - normal * (scaled * normal).mean(dims, keepdim=True))).to(x.dtype)
    if wanted[1] and weight is not None:
        batch = tuple(range(x.dim() - len(shape)))
        grad_weight = grad_ * normal
        grad_weight = (grad_weight.sum(batch) if batch else grad_weight).to(weight.dtype)
    return grad_x, grad_weight


@kernel("cudnn_batch_norm")
def cudnn_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    result = torch.ops.aten.native_batch_norm(
        x, weight, bias, running_mean, running_var, training, momentum, eps
    )
    return *result, torch.empty(0, dtype=torch.uint8, device=x.device)


@kernel("cudnn_batch_norm_backward")
def cudnn_batch_norm_backward(
    x, grad, weight, running_mean, running_var, save_mean, save_invstd, eps, reserve
):
    return torch.ops.aten.native_batch_norm_backward(
        grad, x, weight, running_mean, running_var, save_mean, save_invstd, True, eps, [True, True, True]
    )


# SyncBatchNorm: statistics of one rank, then of all.


def other_dimensions(x):
    return [dim for dim in range(x.dim()) if dim != 1]


def per_channel(values, x):
    return values.view([1, -1] + [1] * (x.dim() - 2))


@kernel("batch_norm_stats")
def batch_norm_stats(x, eps):
    var, mean = torch.var_mean(x.float(), other_dimensions(x), correction=0)
    return mean, (var + eps).rsqrt()


@kernel("batch_norm_gather_stats_with_counts")
def batch_norm_gather_stats(x, means, invstds, running_mean, running_var, momentum, eps, counts):
    weights = counts.view(-1, 1).float()
    total = weights.sum()
    variances = invstds.pow(-2) - eps
    mean = (means * weights).sum(0) / total
    var = ((variances + means * means) * weights).sum(0) / total - mean * mean
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean * momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(var * total / (total - 1) * momentum)
    return mean, (var + eps).rsqrt()


@kernel("batch_norm_elemt")
def batch_norm_apply(x, weight, bias, mean, invstd, eps):
    y = (x.float() - per_channel(mean, x)) * per_channel(invstd, x)
    if weight is not None:
        y = y * per_channel(weight, x)
    if bias is not None:
        y = y + per_channel(bias, x)
    return y.to(x.dtype)


@kernel("batch_norm_backward_reduce")
def batch_norm_backward_reduce(grad, x, mean, invstd, weight, wants_input, wants_weight, wants_bias):
    grad_, dims = grad.float(), other_dimensions(x)
    sum_grad = grad_.sum(dims)
    sum_grad_x = (grad_ * (x.float() - per_channel(mean, x))).sum(dims)
    grad_weight = sum_grad_x * invstd if wants_weight else None
    return sum_grad, sum_grad_x, grad_weight, sum_grad.clone() if wants_bias else None


@kernel("batch_norm_backward_elemt")
def batch_norm_backward_apply(grad, x, mean, invstd, weight, sum_grad, sum_grad_x, counts):
    total = counts.sum()
    slope = per_channel(invstd * invstd * sum_grad_x / total, x)
    scale = invstd * weight if weight is not None else invstd
    centred = grad.float() - per_channel(sum_grad / total, x) - (x.float() - per_channel(mean, x)) * slope
    return (centred * per_channel(scale, x)).to(x.dtype)


# Sampling of images.


@kernel("cudnn_grid_sampler")
def cudnn_grid_sampler(x, grid):
    return torch.ops.aten.grid_sampler_2d(x, grid, 0, 0, True)


@kernel("cudnn_grid_sampler_backward")
def cudnn_grid_sampler_backward(x, grid, grad):
    return torch.ops.aten.grid_sampler_2d_backward(grad, x, grid, 0, 0, True, [True, True])
