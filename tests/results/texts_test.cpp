// Goal: the tables of phrases know what real programs print, and are silent about lines that only look like
// it. The lines have the shape of real ones from public trackers, with names and numbers of our own.
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "results/facts/complaints.h"
#include "results/facts/signatures.h"

namespace deadrank::tests {
namespace {

using results::detectors::signature_in;
using results::detectors::Trouble;
using results::detectors::trouble_in;

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
};

TEST(Texts, KnowWhatRealProgramsPrint) {
    for (const Said& one : real_lines) {
        EXPECT_EQ(trouble_in(one.line), one.trouble) << one.line;
        const auto* signature = signature_in(one.line);
        ASSERT_NE(signature, nullptr) << one.line;
        EXPECT_EQ(signature->symptom, one.symptom) << one.line;
    }
}

// A part of a checkpoint is known by the names that frameworks give it, wherever it lies.
TEST(Texts, KnowPartsOfACheckpointByTheirNames) {
    const auto missing = [](const std::string& path) {
        return trouble_in("FileNotFoundError: [Errno 2] No such file or directory: '" + path + "'");
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
};

TEST(Texts, AreSilentAboutHealthyLines) {
    for (const std::string_view line : harmless) {
        EXPECT_EQ(trouble_in(line), Trouble::none) << line;
        const auto* signature = signature_in(line);
        EXPECT_TRUE(!signature || signature->symptom.empty())
            << line << " → " << (signature ? signature->symptom : "");
    }
}

}  // namespace
}  // namespace deadrank::tests
