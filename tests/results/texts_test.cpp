// Goal: the tables of phrases know what real programs print, and are silent about lines that only look like
// it. The lines have the shape of real ones from public trackers, with names and numbers of our own.
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "results/analysis/complaints.h"
#include "results/analysis/signatures.h"

namespace deadrank::tests {
namespace {

using results::analysis::classify_trouble;
using results::analysis::signature_in;
using results::analysis::Trouble;

struct Said {
    std::string_view line, symptom;
    Trouble trouble;
};

constexpr Said real_lines[] = {
    {"[rank5]:[E1103] [PG 0 Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, "
     "OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600031 milliseconds",
     "collective_timeout_abort", Trouble::timeout},
    {"RuntimeError: Detected mismatch between collectives on ranks. Rank 2 is running collective: "
     "CollectiveFingerPrint(SequenceNumber=11, OpType=ALLGATHER)",
     "collective_mismatch_error", Trouble::mismatch},
    {"hostb:771:802 [3] transport/net_ib.cc:1290 NCCL WARN NET/IB : req 0/1 tag 0 peer 10.2.0.7<40112> "
     "collective "
     "mismatch error, local size 8192 remote size 65536",
     "collective_mismatch_error", Trouble::mismatch},
    {"hostb:771:802 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found",
     "communication_setup_failure", Trouble::setup},
    {"torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
     "address. "
     "The server socket has failed to bind to [::]:29777 (errno: 98 - Address already in use).",
     "communication_setup_failure", Trouble::setup},
    {"torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 14/16 clients "
     "joined.",
     "communication_setup_failure", Trouble::setup},
    {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 1 has a total capacity of "
     "39.39 GiB of which 41.12 MiB is free.",
     "device_out_of_memory", Trouble::memory},
    {"hostb:9:31 [2] include/shm.h:31 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x "
     "(size "
     "9637888)",
     "host_resource_exhaustion", Trouble::host},
    {"RuntimeError: DataLoader worker (pid 4021) is killed by signal: Bus error. It is possible that "
     "dataloader's workers are out of shared memory.",
     "host_resource_exhaustion", Trouble::host},
    {"OSError: [Errno 24] Too many open files: '/scratch/run7/shard_3.bin'", "host_resource_exhaustion",
     Trouble::host},
    {"RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
     "checkpoint_unreadable", Trouble::unreadable},
    {"RuntimeError: Error(s) in loading state_dict for Decoder: Missing key(s) in state_dict: \"blocks.0.w\"",
     "reshard_restore_failure", Trouble::reshard},
    {"ValueError: Expected 8 of '*_optim_states.pt' under '/ckpt/run7' but found 7 files. Possibly due to an "
     "overwrite of an old checkpoint, or a checkpoint didn't get saved by one or more processes.",
     "reshard_restore_failure", Trouble::reshard},
    {"ImportError: /opt/env/lib/python3.11/site-packages/fast_attn_cuda.so: undefined symbol: "
     "_ZN3c104cuda9SetDeviceEi",
     "import_or_symbol_error", Trouble::import},
    {"deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA "
     "version "
     "12.4 does not match the version torch was compiled with 11.8",
     "build_or_install_failure", Trouble::build},
    {"RuntimeError: CUDA error: an illegal memory access was encountered", "native_crash_or_illegal_access",
     Trouble::native},
    {"RuntimeError: connect() timed out. Original timeout was 90000 ms.", "communication_setup_failure",
     Trouble::setup},
    {"hostb:771:802 [3] misc/socket.cc:517 NCCL WARN socketFinalizeAccept: wrong type 2 != 5",
     "communication_setup_failure", Trouble::setup},
    {"hostb:771:802 [3] NCCL WARN NET/OFI Couldn't open a fabric access domain. RC: -13, ERROR: Permission "
     "denied",
     "communication_setup_failure", Trouble::setup},
    {"Test CUDA failure common.cu:988 'CUDA driver version is insufficient for CUDA runtime version'",
     "framework_runtime_exception", Trouble::setup},
    {"RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no "
     "error",
     "communication_setup_failure", Trouble::setup},
    {"torch.distributed.DistBackendError: NCCL error in: /build/torch/csrc/distributed/c10d/"
     "ProcessGroupNCCL.cpp:1331, internal error",
     "communication_setup_failure", Trouble::exception},
    {"subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
     "build_or_install_failure", Trouble::build},
    {"csrc/cpu/ops.cpp(12): fatal error C1083: Cannot open include file: 'blas/api.hpp': No such file or "
     "directory",
     "build_or_install_failure", Trouble::build},
    {"/opt/env/include/ATen/Context.h:5:10: fatal error: 'cuda_api.h' file not found",
     "build_or_install_failure", Trouble::build},
    {"RuntimeError: cuBLAS Error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmulAlgoGetHeuristic",
     "framework_runtime_exception", Trouble::exception},
    {"ValueError: Can't find a valid checkpoint at ./runs/base-7b/checkpoint-900", "checkpoint_unreadable",
     Trouble::unreadable},
    {"torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([0, 1])",
     "checkpoint_unreadable", Trouble::unreadable},
    {"RuntimeError: Missing key in checkpoint state_dict: blocks.3.weight", "reshard_restore_failure",
     Trouble::reshard},
    {"ValueError: Cannot merge two lists with different lengths (1 and 6, encountered at level ('optimizer', 0))",
     "reshard_restore_failure", Trouble::reshard},
    {"ValueError: Expected input batch_size (16) to match target batch_size (12).",
     "tensor_shape_or_dtype_error", Trouble::shape},
    {"RuntimeError: DataLoader worker (pid(s) 4021, 4022) exited unexpectedly", "host_resource_exhaustion",
     Trouble::exception},
    {"slurmstepd: error: Detected 2 oom_kill events in StepId=4711.0. Some of the step tasks have been OOM "
     "Killed.",
     "host_resource_exhaustion", Trouble::host},
    {"NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.", "device_fault_reported", Trouble::device},
    {"Unable to determine the device handle for GPU0000:17:00.0: Unknown Error", "device_fault_reported",
     Trouble::device},
    {"[4889.54] pcieport 0000:00:02.0: AER: Uncorrected (Fatal) error received: id=0010",
     "device_fault_reported", Trouble::device},
    {"Failure during compute: Error in \"read\": CUDA_ERROR_UNKNOWN", "device_fault_reported",
     Trouble::device},
    {"RuntimeError: [Rank 3] Timed out waiting 900000ms for send operation to complete",
     "collective_timeout_abort", Trouble::timeout},
    {"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer "
     "[10.2.0.7]:28048",
     "remote_peer_connection_error", Trouble::connection},
    {"hostb:771:802 [1] proxy.cc:884 NCCL WARN Proxy Call to rank 1 failed (Connect)",
     "remote_peer_connection_error", Trouble::connection},
    {"hostb:771:802 [1] proxy.cc:1119 NCCL WARN [Proxy Service 1] Failed to execute operation Connect from "
     "rank "
     "1, retcode 6",
     "remote_peer_connection_error", Trouble::connection},
    {"hostb:771:802 [1] graph/topo.h:230 NCCL WARN Could not find NET with id 0",
     "communication_setup_failure", Trouble::setup},
    {"ValueError: FlatParameter requires uniform dtype but got torch.float16 and torch.float32",
     "tensor_shape_or_dtype_error", Trouble::shape},
    {"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1, reducing to 1",
     "loss_nan_or_divergence", Trouble::none},
};

// Refusals of shapes, indices and element types, each in the words of the library that prints it.
constexpr std::string_view refused_shapes[] = {
    "AssertionError: Cannot writeback when the parameter shape changes. Expects torch.Size([16]) but got "
    "torch.Size([8, 8])",
    "RuntimeError: Cannot writeback when the gradient shape changes. Expects torch.Size([4]) but got "
    "torch.Size([2])",
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
    "RuntimeError: Sizes of tensors must match except in dimension 0. Expected size 2 but got size 3 for "
    "tensor number 1 in the list.",
    "RuntimeError: output with shape [2] doesn't match the broadcast shape [2, 2]",
    "RuntimeError: Given normalized_shape=[64], expected input with shape [*, 64], but got input of size[4, "
    "48]",
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half",
    "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the "
    "same",
    "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: "
    "Long, "
    "Int; but got torch.cuda.FloatTensor instead",
    "RuntimeError: result type Float can't be cast to the desired output type Long",
    "RuntimeError: Index put requires the source and destination dtypes match, got Half for the destination "
    "and Float for the source.",
    "RuntimeError: Found dtype Double but expected Float",
    "RuntimeError: view size is not compatible with input tensor's size and stride",
    "IndexError: index out of range in self",
    "IndexError: The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [4] at "
    "index 0",
    "IndexError: too many indices for tensor of dimension 1",
    "RuntimeError: Tensor's dim 0 does not divide equally across group size",
    "RuntimeError: Number of tensor splits not equal to group size",
    "RuntimeError: Split sizes doesn't match total dim 0 size",
    "RuntimeError: Expected target size [2, 5], got [2, 4]",
    "ValueError: Using a target size (torch.Size([4])) that is different to the input size (torch.Size([4, "
    "1])) is deprecated. Please ensure they have the same size.",
    "RuntimeError: Function MmBackward0 returned an invalid gradient at index 0 - got [3, 4] but expected "
    "shape compatible with [4, 3]",
    "RuntimeError: split_with_sizes expects split_sizes to sum exactly to 5 (input tensor's size at "
    "dimension "
    "0), but got split_sizes=[2, 2]",
    "ValueError: operands could not be broadcast together with shapes (3,) (4,)",
    "ValueError: Must flatten tensors with uniform dtype but got torch.float16 and torch.float32",
};

TEST(Texts, KnowRefusalsOfShapesAndTypes) {
    for (const std::string_view line : refused_shapes) {
        EXPECT_EQ(classify_trouble(line), Trouble::shape) << line;
        const auto* signature = signature_in(line);
        ASSERT_NE(signature, nullptr) << line;
        EXPECT_EQ(signature->symptom, "tensor_shape_or_dtype_error") << line;
    }
}

TEST(Texts, KnowArgumentsThatAProgramRefusesAndAFolderThatIsNotThere) {
    for (const std::string_view line :
         {"train.py: error: unrecognized arguments: --local-rank=3",
          "pretrain_gpt.py: error: the following arguments are required: --data-path",
          "train.py: error: argument --dtype: invalid choice: 'f8' (choose from 'f16', 'bf16')"})
        EXPECT_EQ(classify_trouble(line), Trouble::exception) << line;
    EXPECT_EQ(classify_trouble("slurmstepd: error: *** STEP 4711.0 CANCELLED ***"), Trouble::none);
    EXPECT_EQ(classify_trouble("RuntimeError: Parent directory /scratch/run7/step100 does not exist."),
              Trouble::saving);
}

// The exception of a traceback may have any name.
TEST(Texts, KnowATracebackByItsLastLine) {
    EXPECT_EQ(classify_trouble("Traceback (most recent call last):\nNothingToTrain: rank 3 has no sample"),
              Trouble::exception);
    EXPECT_EQ(classify_trouble("Traceback (most recent call last):\nSystemExit: 1"), Trouble::none);
    EXPECT_EQ(classify_trouble("Traceback (most recent call last):"), Trouble::none);
}

TEST(Texts, KnowWhatRealProgramsPrint) {
    for (const Said& one : real_lines) {
        EXPECT_EQ(classify_trouble(one.line), one.trouble) << one.line;
        const auto* signature = signature_in(one.line);
        ASSERT_NE(signature, nullptr) << one.line;
        EXPECT_EQ(signature->symptom, one.symptom) << one.line;
    }
}

// A part of a checkpoint is known by the names that frameworks give it, wherever it lies.
TEST(Texts, KnowPartsOfACheckpointByTheirNames) {
    const auto missing = [](const std::string& path) {
        return classify_trouble("FileNotFoundError: [Errno 2] No such file or directory: '" + path + "'");
    };
    for (const char* path : {"/runs/a/global_step500/zero_pp_rank_1_mp_rank_00_optim_states.pt",
                             "model_13b/global_step001/zero_pp_rank_0_mp_rank_03_optim_states.pt",
                             "done/checkpoint-600/pytorch_model_0/.metadata",
                             "/runs/a/iter_0000100/mp_rank_00/model_optim_rng.pt", "/runs/a/last.ckpt",
                             "checkpoint/step5/shard1of2"}) {
        EXPECT_EQ(missing(path), Trouble::unreadable) << path;
    }
    for (const char* path : {"/data/model.bin", "train.py", "src/checkpoint.py", "/data/shard-0001.tar"})
        EXPECT_EQ(missing(path), Trouble::loading) << path;
}

// What healthy jobs print every day.
constexpr std::string_view harmless[] = {
    "Some weights of Classifier were not initialized from the model checkpoint at base-7b and are newly "
    "initialized: ['head.bias', 'head.weight']",
    "hostb:771:802 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)",
    "hostb:771:802 [0] NCCL INFO Bootstrap : Using eth0:10.2.0.7<0>",
    "INFO: saved checkpoint of step 400 to /ckpt/run7/step400 in 3.1 s",
    "[W1103 10:02:11] Warning: find_unused_parameters=True was specified, but did not find any unused "
    "parameters",
    "INFO: timeout of the process group is 600 s, memory limit 40 GiB, 0 errors so far",
    "DataLoader: 8 workers, prefetch factor 2, shared memory 64 GiB",
    "step 120 loss 2.113 grad_norm 0.97 lr 3.0e-4",
    "rank 3 has checked in, world size 8",
    "INFO: refusing nothing: all 128 requests were admitted",
    "hostb:771:802 [0] NCCL INFO NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: "
    "cannot "
    "open shared object file: No such file or directory",
    "hostb:771:802 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v7 symbol.",
    "hostb:771:850 [0] NCCL INFO [Service thread] Connection closed by localRank 3",
    "hostb:771:802 [0] misc/ibvwrap.cu:60 WARN Failed to open libibverbs.so[.1]",
    "libfabric:21:172:core:core:cuda_hmem_dl_init():499<warn> Failed to dlopen libnvidia-ml.so. Trying "
    "libnvidia-ml.so.1",
    "WARNING: No preset parameters were found for the device that Open MPI detected:",
    "Installed CUDA version 11.0 does not match the version torch was compiled with 11.2 but since the APIs "
    "are "
    "compatible, accepting this combination",
    "[  +0.000316] pcieport 0000:00:03.0: AER: Corrected error received: 0000:00:03.0",
    "docker0: port 1(vethde6db48) entered disabled state",
    "hostb:771:802 [0] graph/search.cc:1135 NCCL WARN Could not find a path for pattern 1, falling back to "
    "simple "
    "order",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 33554432.0, reducing to 16777216.0",
    "UserWarning: Using a target size (torch.Size([4])) that is different to the input size (torch.Size([4, "
    "1])). This will likely lead to incorrect results due to broadcasting.",
    "INFO: model has 291 parameters, embedding of shape torch.Size([32000, 4096]), dtype torch.bfloat16",
    "WARNING: padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)",
    "INFO: attention heads 32, hidden size 4096, all sizes divide by the tensor-parallel size 4",
    "UserWarning: None of the inputs have requires_grad=True. Gradients will be None",
    "INFO: expected input of 2048 tokens, got batches of 8 with the same number of tokens each",
};

TEST(Texts, AreSilentAboutHealthyLines) {
    for (const std::string_view line : harmless) {
        EXPECT_EQ(classify_trouble(line), Trouble::none) << line;
        const auto* signature = signature_in(line);
        EXPECT_TRUE(!signature || signature->symptom == scenarios::Symptom::none)
            << line << " → " << (signature ? id_of(signature->symptom) : "");
    }
}

}  // namespace
}  // namespace deadrank::tests
