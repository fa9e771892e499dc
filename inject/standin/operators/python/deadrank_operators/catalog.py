# inject/standin/operators/python/deadrank_operators/catalog.py — Which operators are overridden. Torch
# itself is asked, so that a new release needs no new list.
import functools

import torch

# CUDA's own kernels of these only make views, allocate, or ask: they launch nothing.
KEPT = frozenset("""empty.memory_format empty_strided as_strided view view.dtype _reshape_alias unfold set_
    set_.source_Storage set_.source_Storage_storage_offset set_.source_Tensor resize_ record_stream is_pinned
    _pin_memory is_set_to _efficientzerotensor _use_cudnn_ctc_loss _use_cudnn_ctc_loss.Tensor
    _use_miopen_ctc_loss _use_miopen_ctc_loss.Tensor""".split())
# attention.h has these.
WRITTEN_IN_CPP = frozenset(
    """_fused_sdp_choice _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward
    _scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward""".split()
)
# Composite operators that choose by device inside: cuDNN, copies, and since 2.15 ldexp.
CHOOSE_BY_DEVICE = frozenset("copy_ convolution _convolution ldexp.Tensor ldexp_ ldexp.out".split())
# Of sparse tensors: the same function serves CPU and CUDA, and works on indices and values alone.
KEPT_SPARSE = frozenset(
    """_sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors sparse_dim dense_dim _dimI _dimV
    _nnz
    _indices _values indices values is_coalesced _coalesced_ crow_indices col_indices ccol_indices row_indices
    empty.memory_format empty_like""".split()
)
LAYOUTS = {
    "strided": ("CUDA", "CPU"),
    "coo": ("SparseCUDA", "SparseCPU"),
    "compressed": ("SparseCsrCUDA", "SparseCsrCPU"),
}
COMPOSITES = (
    "CompositeExplicitAutograd",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)

ADVICE = "Use operators that torch also has for the CPU, or run this part of the program on the CPU."


def operators_of(layout, space="aten"):
    """Takes a layout of LAYOUTS and a namespace, and returns names of operators: computed on the host, and refused."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    device_key, host_key = LAYOUTS[layout]
    kept = KEPT | WRITTEN_IN_CPP if layout == "strided" else KEPT_SPARSE
    on_host, refused = [], []
    for full_name in torch._C._dispatch_get_all_op_names():
        namespace, _, name = full_name.partition("::")
        if namespace != space or name in kept:
            continue
        if has(full_name, device_key):
            computable = has(full_name, host_key) or any(has(full_name, key) for key in COMPOSITES)
            (on_host if computable else refused).append(name)
        elif layout == "strided" and name in CHOOSE_BY_DEVICE and has(full_name, "CompositeExplicitAutograd"):
            on_host.append(name)  # one with an implicit kernel would lose its gradient
    return sorted(on_host), sorted(refused)


def override_all():
    """Gives all of them their new kernels, and those of packages when they are loaded."""
    for layout in LAYOUTS:
        override(layout, "aten")
    load, known = torch.ops.load_library, spaces()

    @functools.wraps(load)
    def load_library(path):
        load(path)
        for space in sorted(spaces() - known):
            known.add(space)
            override("strided", space)  # torchvision's, and others'

    torch.ops.load_library = load_library


def override(layout, space):
    on_host, refused = operators_of(layout, space)
    torch.ops.deadrank.override_operators(space, layout, on_host, refused, ADVICE)


def spaces():
    return {name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names()}
