// results/analysis/signatures.cpp — The table of phrases, the specific before the general, and a search in
// one pass over the text: three letters of each phrase say which phrases can begin at a place.
#include "results/analysis/signatures.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <vector>

namespace deadrank::results::analysis {

namespace {

namespace table {

using enum Nearness;

constexpr std::string_view settings = "misconfigured_resource_or_distributed_settings";
constexpr std::string_view placement = "memory_placement_or_lifetime_error";
constexpr std::string_view mismatch = "dependency_or_hardware_mismatch";
constexpr std::string_view misuse = "misused_framework_api";
constexpr std::string_view model = "framework_model_incompatibility";
constexpr std::string_view variable = "misconfigured_environment_variable";
constexpr std::string_view skew = "version_skew_across_ranks";
constexpr std::string_view store = "rendezvous_store_or_endpoint_error";
constexpr std::string_view path = "network_path_or_topology_misselection";
constexpr std::string_view derivation = "rank_or_device_derivation_error";
constexpr std::string_view divergence = "rank_divergent_control_flow";
constexpr std::string_view order = "communication_order_divergence";
constexpr std::string_view unpropagated = "unpropagated_rank_failure";
constexpr std::string_view fault = "hardware_or_link_fault";
constexpr std::string_view shards = "shard_layout_or_offset_error";
constexpr std::string_view edge_case = "numeric_edge_case_error";
constexpr std::string_view torn_save = "non_durable_checkpoint_commit";
constexpr std::string_view incomplete = "incomplete_checkpoint_state";
constexpr std::string_view layout = "layout_dependent_checkpoint_format";
constexpr std::string_view misaligned = "misaligned_parameters_tensors_or_model_structure";
constexpr std::string_view uneven = "uneven_work_or_data_partition";

// Bars separate phrases; "A&B" requires both in one text.
struct Row {
    Nearness nearness;
    std::string_view symptom;
    std::array<std::string_view, 3> causes;
    std::string_view words;
};

// clang-format off
constexpr Row rows[] = {
    {hardware, "device_fault_reported", {fault},
     "fallen off the bus|uncorrectable ECC|Uncorrectable ECC|Unable to determine the device handle|"
     "GPU is lost|DUE TO NODE FAILURE|NODE_FAIL|Hardware Error|CUDA error: unknown error|"
     "no CUDA-capable device is detected|unspecified launch failure|CUDA error: device unavailable|"
     "NVSwitch fatal|nvidia-nvswitch: SXid|Failed to initialize NVML|row remapping failure|NodeNotReady|"
     "AER: Uncorrected|CUDA_ERROR_UNKNOWN|"
     "node lost"},
    {ending, "host_resource_exhaustion", {settings, placement, unpropagated},
     "unexpected system error|Worker unexpectedly exits|worker process has died|"
     "The actor died unexpectedly|ActorUnavailableError|WorkerCrashedError|NodeDiedError|"
     "LocalRayletDiedError|OwnerDiedError"},
    {own, "device_out_of_memory", {settings, placement, unpropagated},
     "out of memory. Tried to allocate|CUDA out of memory|OutOfMemoryError|HIP out of memory|"
     "XPU out of memory|NPU out of memory|RESOURCE_EXHAUSTED|Failed to CUDA calloc|"
     "failure 'out of memory'|failure 2 'out of memory'|CUDA error: out of memory|"
     "CUBLAS_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|OOM when allocating"},
    {own, "host_resource_exhaustion", {settings, placement},
     "oom-kill event|oom_kill event|: Out Of Memory|Out of memory: Kill|oom-kill:constraint|"
     "invoked oom-killer|Memory cgroup out of memory|OOMKilled|OutOfmemory|low on resource|Evicted|"
     "memory pressure (OOM)|running low on memory|out of shared memory|insufficient shared memory|"
     "is killed by signal|posix_fallocate failed|creating shared memory segment|shared memory object|"
     "Too many open files|Cannot allocate memory|cudaHostAlloc|DefaultCPUAllocator|MemoryError|"
     "std::bad_alloc|TERM_MEMLIMIT|exceeded memory limit|Bus error"},
    {own, "checkpoint_save_failure", {settings, mismatch, fault},
     "Error while serializing|unexpected pos"},
    {own, "checkpoint_save_failure", {mismatch, settings, edge_case},
     "CheckpointingException"},
    {own, "checkpoint_unreadable", {torn_save, incomplete, fault},
     "PytorchStreamReader|unexpected EOF, expected|failed finding central directory|"
     "archive is corrupted|storage has wrong size|MetadataIncompleteBuffer|Error while deserializing|"
     "invalid load key|Ran out of input|pickle data was truncated|truncated file|metadata is None|"
     "incomplete metadata|CheckpointException|HeaderTooLarge|InvalidHeaderDeserialization|EOFError|"
     "find a valid checkpoint at"},
    {own, "reshard_restore_failure", {layout, incomplete, misaligned},
     "used a DP world size of|Automatic adjustment of ZeRO|Missing key(s) in state_dict|"
     "Missing key in checkpoint|"
     "Unexpected key(s) in state_dict|Error(s) in loading state_dict|Size mismatch between saved|"
     "Cannot merge two lists|values missing out of|zero_shard_files|contains a parameter group|"
     "different number of parameter groups|create_local_plan|"
     "didn't get saved by one or more processes|_rigid_load_state_dict"},
    {own, "host_resource_exhaustion", {settings, placement},
     "No space left on device|Disk quota exceeded|FilesystemQuotaExceeded"},
    {own, "collective_mismatch_error", {variable, order, skew},
     "collective mismatch error&NET/IB"},
    {own, "collective_mismatch_error", {order, skew, model},
     "Detected mismatch between collectives|Mismatched collective detected|collective mismatch error|"
     "distributed collective mismatch|bytes instead of|message truncated|"
     "DDP expects same model across all ranks|appears not to match sizes of the same param|"
     "params with different shapes across"},
    {own, "communication_setup_failure", {variable, path, skew},
     "no socket interface found|Unable to find address for|Call to ibv_modify_qp failed|"
     "socket interface found|with family|"
     "Could not find NET with id"},
    {own, "communication_setup_failure", {store, variable, settings},
     "Address already in use|EADDRINUSE|failed to bind to|failed to listen on any local|gaierror|"
     "Name or service not known|could not be resolved|cannot be resolved|name resolution|gai error|"
     "RendezvousTimeoutError|RendezvousConnectionError|clients joined|workers joined|"
     "client socket has timed out|client socket has failed to connect|connect() timed out|wait timeout after|"
     "failed to connect/validate|DistStoreError|DistNetworkError|Connection refused|"
     "Timed out initializing process group|Socket Timeout|address already in use"},
    {own, "communication_setup_failure", {skew, mismatch, variable},
     "Mismatched NCCL version|Mismatched NCCL|socketFinalizeAccept: wrong"},
    {own, "communication_setup_failure", {derivation, settings, variable},
     "Duplicate GPU detected|invalid device ordinal|Invalid rank requested|has already checked in|"
     "mismatch in info from procs|is out of range. Valid ranks are"},
    {own, "communication_setup_failure", {variable, settings, misuse},
     "expected, but not set|KeyError: 'RANK'|KeyError: 'LOCAL_RANK'|KeyError: 'WORLD_SIZE'|"
     "KeyError: 'MASTER_|Unrecognized element token|rendezvous endpoint"},
    {own, "communication_setup_failure", {path, variable, fault},
     "No route to host|Network is unreachable|connectFullMesh failed"},
    {own, "communication_setup_failure", {mismatch, variable, fault},
     "driver version is insufficient|Failed to initialize any NET plugin|unhandled cuda error|"
     "NCCL failure|ncclUnhandledCudaError|no kernel image is available|only supported with GPUs|"
     "NET/OFI Couldn't"},
    {own, "communication_setup_failure", {misuse, derivation, settings},
     "process group has not been initialized|ncclInvalidUsage|ncclInvalidArgument"},
    {own, "restart_or_recovery_failure", {unpropagated, settings, store},
     "RendezvousClosedError|exceeded error retry count|RendezvousGracefulExitError|max_restarts"},
    {own, "build_or_install_failure", {mismatch},
     "Error building extension|CUDAMismatchException|Unable to find compilation cuda version|nvcc fatal|"
     "ninja: build stopped|Ninja is required|CompileError|BuildError|Unable to JIT load|"
     "error: command '|fatal error: |Cannot open include file|Command '['ninja'"},
    {own, "build_or_install_failure", {mismatch, settings, variable}, "command not found"},
    {own, "import_or_symbol_error", {mismatch},
     "ImportError|ModuleNotFoundError|undefined symbol|cannot open shared object|cannot import name|"
     "' not found (required by"},
    {own, "native_crash_or_illegal_access", {edge_case, mismatch, fault},
     "illegal memory access|device-side assert|misaligned address|Segmentation fault|SIGSEGV|"
     "exited on signal 11|SIGILL|SIGFPE|illegal instruction|CUBLAS_STATUS_EXECUTION_FAILED|"
     "CUDNN_STATUS_EXECUTION_FAILED|double free or corruption|corrupted size vs|cudaErrorIllegalAddress|"
     "CUDA_ERROR_ILLEGAL_ADDRESS|CUBLAS_STATUS_INTERNAL_ERROR|CUDNN_STATUS_INTERNAL_ERROR"},
    {own, "wrong_device_used", {derivation, misuse},
     "but found at least two devices|to be on the same device"},
    {own, "tensor_shape_or_dtype_error", {shards, misaligned, order},
     "must match the size of tensor|exceeds dimension size|start out of range|mat1 and mat2|"
     "size mismatch|Size mismatch|shape mismatch|is invalid for input of size|expected scalar type|"
     "output tensor size must be equal|invalid tensor size|Split sizes doesn't match|"
     "doesn't match tensor|must have the same dtype|shapes cannot be multiplied|"
     "Sizes of tensors must match|Tensors must be contiguous|index out of bounds|"
     "index out of range|not divisible by|narrow(|"
     "must have the same type as input tensor|must be equal to world_size times input|"
     "must be the same size as output size times|Mismatch in shape: grad_output|Dimension out of range|"
     "tuple index out of range|is out of bounds for dimension|must be a matrix|must be a vector|"
     "vector and matrix expected|must be a 1D|must be a 2D|must be a 3D|-D tensor|Expected 2D|Expected 3D|"
     "to match target batch_size|requires uniform dtype|"
     "same number of dimensions|expects each tensor to be equal size|could not be broadcast|"
     "expanded size of the tensor|storage that is not resizable|Given groups=|inhomogeneous shape|"
     "to have the same dtype|"
     "but got torch.Size(|writeback when the parameter shape|writeback when the gradient shape|"
     "doesn't match the broadcast shape|Expected size for first two dimensions|"
     "expected input with shape|Kernel size can't be greater than actual input|and weight type (|"
     "to have one of the following scalar types|can't be cast to the desired output type|"
     "requires the source and destination dtypes match|but expected Float|"
     "view size is not compatible with input tensor's size|index out of range in self|IndexError: Target |"
     "The shape of the mask|tensor has no dimensions|too many indices for tensor of dimension|"
     "elements cannot be converted to Scalar|does not divide equally across group size|"
     "Number of tensor splits not equal|Invalid usage of tensors with different dtypes|"
     "must have the same number of elements|Tensors must be of equal type|"
     "must match number of collective participants|Expected tensor to have size|Expected target size|"
     "ValueError: Using a target size|target tensor expected, multi-target|"
     "returned an invalid gradient at index|Shape mismatch|The shape of the 2D attn_mask|"
     "Attempting to broadcast a dimension of length|create tensor with negative dimension|"
     "out of bounds for storage of size|split_sizes to sum exactly to|Expected hidden[|"
     "operands do not broadcast|could not be broadcast together|"
     "dimensions except for the concatenation axis|"
     "expected sequence of length|Incompatible shapes|contracting dimensions to have the same shape|"
     "Must flatten tensors with uniform dtype|Expected object of scalar type|inconsistent tensor size|"
     "tensor (shape=|Unsupported tensor dimension|Input and output shapes need to match|"
     "have incompatible dimensions|attempted to reshape dims=|attempted to view dims=|must have shape (|"
     "must divide number of heads in query|and bf16 data type|fp8_e4m3 data type|"
     "head_size should be a multiple of|head_size that is a multiple of|head dimension at most|"
     "have the same dtype|Invalid shape|of elements along dimension|tensor have the same sequence length|"
     "Unsupported hidden_size or types|dtype mismatch|incompatible shape|arguments to have the same dtypes|"
     "that differ in dimensions other than the one|implies that the global size of its dimension|"
     "buffer with incompatible size|must have identical types, got|cannot reshape array of shape|"
     "make_shape_compatible|not compatible for matmul|operands must be same dtype"},
    {own, "model_or_data_loading_failure", {mismatch, settings}, "Weights only load failed"},
    {own, "loss_nan_or_divergence", {edge_case, fault},
     "loss is nan|Loss is nan|loss is NaN|Loss is NaN|NaN detected|nan loss|"
     "loss scale already at minimum|Attempted loss scale: 1, reducing to 1|"
     "Found NaN|found NaN|gradients are nan|grad norm is nan|loss: nan|"
     "loss=nan|'loss': nan|NaN loss"},
    {own, "model_or_data_loading_failure", {settings, incomplete},
     "FileNotFoundError|HFValidationError|not a valid model identifier|Can't load tokenizer|"
     "Unable to load weights|does not appear to have a file named|DatasetNotFoundError|Repo id must|"
     "LocalEntryNotFoundError|GatedRepoError|RepositoryNotFoundError|NotADirectoryError|can't open file '|"
     "IsADirectoryError|PermissionError|DatasetGenerationError|We couldn't connect to|Couldn't reach|"
     "Max retries exceeded with url|cannot find the requested files"},
    {own, "model_or_data_loading_failure", {fault, settings},
     "Input/output error|Stale file handle|Transport endpoint is not connected"},
    {own, "framework_runtime_exception", {mismatch, misuse, settings},
     "unrecognized arguments: --local"},
    {own, "framework_runtime_exception", {settings, misuse},
     "error: unrecognized arguments|error: the following arguments are required|error: argument "},
    {own, "framework_runtime_exception", {mismatch, misuse}, "got an unexpected keyword argument"},
    {own, "framework_runtime_exception", {mismatch, edge_case},
     "CUBLAS_STATUS_NOT_SUPPORTED|CUBLAS_STATUS_INVALID_VALUE|CUDNN_STATUS_NOT_SUPPORTED|"
     "CUDNN_STATUS_BAD_PARAM"},
    {own, "framework_runtime_exception", {misuse, mismatch},
     "has already been destroyed|invalid root|Expected to have finished reduction|marked as ready twice|"
     "marked a variable ready twice"},
    {waiting, "collective_deadlock_hang", {divergence, unpropagated, uneven},
     "by subset of ranks|memory broadcast block found|Stalled ranks|Missing ranks|missing ranks|"
     "stuck in a collective"},
    {waiting, "collective_timeout_abort", {order, divergence, unpropagated},
     "collective operation timeout&OpType=SEND|collective operation timeout&OpType=RECV|RECV timeout|"
     "SEND timeout"},
    {waiting, "collective_timeout_abort", {divergence, unpropagated, order},
     "collective operation timeout|Timeout at NCCL work|detected by watchdog at work|"
     "failure detected by watchdog|detected operation timeout|for recv operation to complete|"
     "for send operation to complete|monitoredBarrier|watchdog got stuck|"
     "Application timeout caused pair closure|didn't join collective|didn't finish collective|"
     "Heartbeat monitor timed out|before timing out|abort timed out after|"
     "NCCL operations have failed or timed out|taking the entire process down|last enqueued|Timeout(ms)="},
    {waiting, "collective_timeout_abort", {unpropagated, fault, settings},
     "heartbeat timeout|Barrier timed out|JAX distributed service detected fatal|DEADLINE_EXCEEDED|"
     "missed heartbeat|CoordinationServiceError"},
    {link, "remote_peer_connection_error", {fault, path, unpropagated},
     "Got completion from peer|Got completion with error|got completion with error|IBV_WC_RETRY_EXC_ERR|"
     "transport retry counter exceeded|vendor err|NET/IB : Got async event|port error|Link is Down|"
     "carrier lost"},
    {echo, "remote_peer_connection_error", {unpropagated, fault, path},
     "ncclRemoteError|remote process exited or there was a network error|losed by remote peer|"
     "Connection reset by peer|Connection closed by peer|onnection was likely closed|Broken pipe|"
     "recv failed while polling|Failed to recv, got 0 bytes|Could not receive type from|"
     "communicator was aborted|Connection timed out|Read error [|Connection closed by|"
     "Horovod has been shut down|recvBytes failed|Stop_waiting response|Proxy Call to rank|"
     "Failed to execute operation Connect"},
    {ending, "host_resource_exhaustion", {settings, placement, unpropagated},
     "return code = -9|exitcode: -9|exited on signal 9|Signal 9 (SIGKILL)|exit code 137|exitcode  : -9|"
     "KILLED BY SIGNAL: 9|Signals.SIGKILL|: Killed| Killed  |exit code: 137|exitCode: 137|"
     "exited with code 137"},
    {ending, "native_crash_or_illegal_access", {edge_case, mismatch, fault},
     "return code = -11|exitcode: -11|exitcode: -6|return code = -6|Signal 11 (|Signal 6 (|"
     "exit code 139|exit code 134|KILLED BY SIGNAL: 11|KILLED BY SIGNAL: 6|exited on signal 6|"
     "Signals.SIGABRT|core dumped|Caught signal 11|Fatal Python error|Process received signal"},
    {ending, "host_resource_exhaustion", {settings, placement},
     "exitcode: -7|return code = -7|Signal 7 (|exited on signal 7"},
    {stopped, "", {},
     "got signal: 15|got signal: 2|got signal: 1|DUE TO TIME LIMIT|DUE TO PREEMPTION|TERM_RUNLIMIT|"
     "CANCELLED AT&STEP|CANCELLED AT&JOB|KeyboardInterrupt|Received SIGINT|received SIGTERM|"
     "received signal SIGTERM|Signal 15 (SIGTERM)|exits with return code = -2|"
     "exits with return code = -15|Signal 2 (SIGINT)|received 15 death signal|received 2 death signal"},
    {ending, "", {},
     "exits with return code =|failed (exitcode:|FAILED (exitcode|first observed failure|"
     "Exited with exit code|returned non-zero exit status|non-zero exit status|a non-zero exit code|"
     "ChildFailedError|MPI_ABORT was invoked|BAD TERMINATION|died with <Signals|exitCode: |"
     "exited with code |terminated with code|RayActorError|ActorDiedError|process has died|"
     "job has been aborted|CHILD PROCESS FAILED|Trials did not complete|CrashLoopBackOff|"
     "Back-off restarting failed"},
    {own, "communication_setup_failure", {mismatch, variable, fault},
     "unhandled system error|internal error, NCCL|ncclInternalError|ncclSystemError|NCCL error"},
    {own, "native_crash_or_illegal_access", {edge_case, mismatch, fault},
     "CUDA error:|Cuda failure"},
    {own, "host_resource_exhaustion", {settings, placement},
     "exited unexpectedly"},
    {waiting, "collective_timeout_abort", {divergence, unpropagated, order},
     "watchdog thread terminated with exception"},
    {finished, "", {},
     "worker group successfully finished|WorkerState.SUCCEEDED|exits successfully|"
     "***** train metrics *****|Training completed. Do not forget|`max_epochs=|`max_steps=|"
     "after training is done|exiting program at iteration|State: COMPLETED|COMPLETED (exit code 0)|"
     "train_samples_per_second|Training finished|Training complete"},
};
// clang-format on

}  // namespace table

class PhraseSearch {
public:
    PhraseSearch() {
        for (const table::Row& row : table::rows) {
            for (std::string_view left = row.words; !left.empty();) {
                const std::string_view both = left.substr(0, left.find('|'));
                left.remove_prefix(std::min(both.size() + 1, left.size()));
                const std::size_t also = std::min(both.find('&'), both.size());
                Signature one{both.substr(0, also), row.nearness, row.symptom, row.causes, {}};
                if (also < both.size()) one.beside = both.substr(also + 1);
                bucket(one.words).push_back(static_cast<std::uint16_t>(signatures_.size()));
                signatures_.push_back(one);
            }
        }
    }

    const Signature* first_in(std::string_view text) const {
        std::size_t best = signatures_.size();
        for (std::size_t at = 0; at + 3 <= text.size(); ++at) {
            for (const std::uint16_t i : buckets_[key(text.data() + at)]) {
                if (i < best && text.substr(at).starts_with(signatures_[i].words) &&
                    text.find(signatures_[i].beside) != text.npos)
                    best = i;
            }
        }
        return best < signatures_.size() ? &signatures_[best] : nullptr;
    }

    std::span<const Signature> all() const { return signatures_; }

private:
    static std::size_t key(const char* three) {
        const auto byte = [&](int i) {
            return static_cast<std::size_t>(static_cast<unsigned char>(three[i]));
        };
        return (byte(0) * 961 + byte(1) * 31 + byte(2)) % 8192;
    }
    std::vector<std::uint16_t>& bucket(std::string_view words) { return buckets_[key(words.data())]; }

    std::vector<Signature> signatures_;
    std::array<std::vector<std::uint16_t>, 8192> buckets_;
};

bool in_exception_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

}  // namespace

namespace {

const PhraseSearch& phrase_search() {
    static const PhraseSearch search;
    return search;
}

}  // namespace

const Signature* signature_in(std::string_view text) {
    // NCCL tells much at this level that only sounds like trouble: a plugin that is not there, a peer that
    // has left at the end.
    if (text.find(" NCCL INFO ") != text.npos) return nullptr;
    return phrase_search().first_in(text);
}

std::span<const Signature> all_signatures() { return phrase_search().all(); }

bool begins_with_exception(std::string_view line) {
    std::size_t end = 0;
    while (end < line.size() && end < 120 && in_exception_name(line[end])) ++end;
    const std::string_view name = line.substr(0, end);
    // Programs print a bare "Error: …" themselves; it is no exception.
    if (name.size() < 6 || (end < line.size() && line[end] != ':' && line[end] != '(')) return false;
    const std::string_view last = name.substr(name.rfind('.') == name.npos ? 0 : name.rfind('.') + 1);
    for (const std::string_view kind : {"Error", "Exception", "Interrupt", "Exit", "Timeout"}) {
        if (last.ends_with(kind) && last[0] >= 'A' && last[0] <= 'Z') return true;
    }
    return name.starts_with("nccl") && last.ends_with("Error");
}

std::string LogRead::line() const {
    return fmt::format(
        "import: {} lines read, {} not understood, {} left out, {} files, {} tracebacks without a rank, {} "
        "ranks told, {} stamps",
        lines, not_understood, untold, files, orphans, ranks_told, stamps);
}

std::optional<LogRead> LogRead::of_line(std::string_view line) {
    if (!line.starts_with("import: ")) return std::nullopt;
    LogRead read;
    std::int64_t* const fields[] = {&read.lines,   &read.not_understood, &read.untold, &read.files,
                                    &read.orphans, &read.ranks_told,     &read.stamps};
    std::size_t at = 0;
    for (std::int64_t* field : fields) {
        if (field == &read.stamps && line.find(" stamps") == line.npos) {
            read.stamps = 1;  // written by a version that did not count them
            break;
        }
        at = line.find_first_of("0123456789", at);
        if (at == line.npos) return std::nullopt;
        *field = std::strtoll(std::string(line.substr(at, 20)).c_str(), nullptr, 10);
        at = line.find_first_not_of("0123456789", at);
    }
    return read;
}

}  // namespace deadrank::results::analysis
