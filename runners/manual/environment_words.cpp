// runners/manual/environment_words.cpp — One line a variable; a scenario sets the first ones in
// [cluster.environment] or with the fault set_env.
#include "runners/manual/environment_words.h"

namespace deadrank::runners::manual {

const std::vector<EnvironmentWord>& environment_words() {
    static constexpr std::string_view job = "a simulated job", us = "deadrank", standin = "the stand-in",
                                      shims = "the shims";
    static const std::vector<EnvironmentWord> words = {
        {job, "RANK", "which rank a process believes to be"},
        {job, "WORLD_SIZE", "how many ranks it waits for"},
        {job, "LOCAL_RANK", "which device it takes"},
        {job, "LOCAL_WORLD_SIZE", "set by the launcher, for evidence alone"},
        {job, "MASTER_ADDR", "where the store is looked for"},
        {job, "MASTER_PORT", "and at which port"},
        {job, "CUDA_VISIBLE_DEVICES", "which devices a process sees, in which order"},
        {job, "TORCHELASTIC_RESTART_COUNT", "set by torchrun: how often the job was started again"},
        {job, "TORCH_DISTRIBUTED_DEBUG", "DETAIL compares fingerprints before each collective"},
        {job, "NCCL_ALGO", "Ring or Tree; a word that is neither ends the start"},
        {job, "NCCL_BUFFSIZE", "bytes that a message between nodes is cut into; ranks that differ break"},
        {job, "NCCL_COMM_ID", "host:port of the bootstrap root; one without a port is never reached"},
        {job, "NCCL_DEBUG", "WARN prints warnings, INFO and TRACE also what was chosen"},
        {job, "NCCL_IB_DISABLE", "1 = plain sockets between nodes"},
        {job, "NCCL_IB_RETRY_CNT", "how often a transfer is sent again before it is given up (7)"},
        {job, "NCCL_IB_TIMEOUT", "how long each try takes, as a power of two (20)"},
        {job, "NCCL_MAX_NCHANNELS", "channels at most; each is a share of a link's bandwidth"},
        {job, "NCCL_NET", "Socket or IB; another word ends the start"},
        {job, "NCCL_SOCKET_IFNAME", "interfaces that the bootstrap may use: prefixes, =exact, ^not"},

        {us, "DEADRANK_CATALOG", "directory of scenarios, as --catalog"},
        {us, "DEADRANK_HOME", "directory that holds runners/backends/local, when it is not near the program"},
        {us, "DEADRANK_PYTHON", "the Python whose torch plays real jobs"},
        {us, "DEADRANK_TOOLS", "environment with other people's detection tools"},
        {us, "DEADRANK_STANDIN", "1 or a directory: --runner gpu plays on our own NCCL and CUDA"},
        {us, "DEADRANK_NCCL_PATH", "directories of NCCL releases, for skewed versions on GPUs"},
        {us, "XDG_CACHE_HOME", "where ./dev keeps its environments, else ~/.cache"},
        {us, "NO_COLOR", "no colours on a terminal"},
        {us, "COLUMNS", "the width of a terminal"},

        {shims, "DEADRANK_NET_ADDRESS", "address that the NCCL network plugin listens at"},
        {standin, "DEADRANK_STANDIN_DEVICES", "how many devices a machine has"},
        {standin, "DEADRANK_STANDIN_KERNELS", "library with kernels of a program of yours"},
        {standin, "DEADRANK_STANDIN_LOG", "set: every call that is not played is printed"},
        {standin, "NCCL_DEBUG", "as NCCL's own"},
        {standin, "NCCL_DEBUG_FILE", "as NCCL's own"},
        {standin, "NCCL_HOSTID", "as NCCL's own: processes that have the same are on one host"},
    };
    return words;
}

}  // namespace deadrank::runners::manual
