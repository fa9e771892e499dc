// results/analysis/phrases.cpp — The table, and a search in one pass over the text: three letters of each
// phrase decide which phrases can begin at a place.
#include "results/analysis/phrases.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "results/analysis/loss_words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::analysis {

using scenarios::Cause;
using scenarios::Symptom;

namespace {

// Whether the file is part of a checkpoint, as torch, DeepSpeed, Megatron-LM or Lightning name it.
bool names_a_checkpoint(std::string_view text) {
    constexpr std::string_view before = "No such file or directory: '";
    const std::size_t from = text.find(before) + before.size();
    const std::string_view path = text.substr(from, text.find('\'', from) - from);
    if (path.ends_with(".py")) return false;
    constexpr std::string_view parts[] = {"checkpoint",   "ckpt",        "global_step", "zero_pp_rank_",
                                          "mp_rank_",     "iter_0",      ".distcp",     "/.metadata",
                                          "optim_states", "model_states"};
    return std::any_of(std::begin(parts), std::end(parts),
                       [&](std::string_view part) { return path.find(part) != std::string_view::npos; });
}

// Whether the loss that the line prints is no number, or infinite.
bool has_non_finite_loss(std::string_view text) {
    const auto loss = loss_in(text);
    return loss && !std::isfinite(*loss);
}

bool ends_with_it(std::string_view text) { return text.ends_with("Cuda failure"); }

// UCX has the same words for devices and connections.
bool is_of_a_file(std::string_view text) { return text.find(" UCX ") == text.npos; }

// MLPerf's run_stop has the status "aborted" if the target was not reached. Submitters spell "success" in
// several ways.
bool reached_its_target(std::string_view text) { return text.find("\"aborted\"") == text.npos; }

// pytest's last line: "==== 1 failed, 3 passed in 12.31s ====".
bool all_tests_passed(std::string_view text) {
    return text.find(" failed") == text.npos && text.find(" error") == text.npos;
}

namespace table {

constexpr Cause settings = Cause::misconfigured_resource_or_distributed_settings;
constexpr Cause placement = Cause::memory_placement_or_lifetime_error;
constexpr Cause mismatch = Cause::dependency_or_hardware_mismatch;
constexpr Cause misuse = Cause::misused_framework_api;
constexpr Cause model = Cause::framework_model_incompatibility;
constexpr Cause variable = Cause::misconfigured_environment_variable;
constexpr Cause skew = Cause::version_skew_across_ranks;
constexpr Cause store = Cause::rendezvous_store_or_endpoint_error;
constexpr Cause path = Cause::network_path_or_topology_misselection;
constexpr Cause derivation = Cause::rank_or_device_derivation_error;
constexpr Cause divergence = Cause::rank_divergent_control_flow;
constexpr Cause order = Cause::communication_order_divergence;
constexpr Cause unpropagated = Cause::unpropagated_rank_failure;
constexpr Cause fault = Cause::hardware_or_link_fault;
constexpr Cause shards = Cause::shard_layout_or_offset_error;
constexpr Cause edge_case = Cause::numeric_edge_case_error;
constexpr Cause torn_save = Cause::non_durable_checkpoint_commit;
constexpr Cause incomplete = Cause::incomplete_checkpoint_state;
constexpr Cause layout = Cause::layout_dependent_checkpoint_format;
constexpr Cause misaligned = Cause::misaligned_parameters_tensors_or_model_structure;

constexpr Cause unsaid = Cause::none;

// Bars separate phrases; "A&B" requires both in one text. Phrases of shapes are long enough that healthy logs
// do not hold them. NumPy's "cannot reshape array of size" is not among them: what it reshapes is often a
// mesh of devices. A row has one cause at most: the one that its words name. "Out of memory" names none,
// since the batch may be too large, or the memory never released.
struct Row {
    using Condition = bool (*)(std::string_view text);

    constexpr Row(Topic of, Nearness near, Symptom what, Cause why, std::string_view phrases,
                  Condition condition = nullptr, bool last = false)
        : topic(of),
          nearness(near),
          symptom(what),
          cause(why),
          words(phrases),
          also(condition),
          only_last(last) {}
    constexpr Row(Topic of, Nearness near, Symptom what, Cause why, std::string_view phrases, Sign shows)
        : topic(of), nearness(near), symptom(what), cause(why), words(phrases), sign(shows) {}
    constexpr Row(StopKind kind, std::string_view phrases, std::string_view by)
        : nearness(Nearness::stopped), words(phrases), stop(kind), stopped_by(by) {}

    Topic topic = Topic::none;
    Nearness nearness = Nearness::none;
    Symptom symptom = Symptom::none;
    Cause cause = Cause::none;
    std::string_view words;
    Condition also = nullptr;
    bool only_last = false;
    Sign sign = Sign::none;
    StopKind stop = StopKind::none;
    std::string_view stopped_by = {};
};

// clang-format off
constexpr Row rows[] = {
    // A parent process that repeats how its child ended; the child's own error is elsewhere.
    {Topic::none, Nearness::ending, Symptom::host_resource_exhaustion, unsaid,
     "terminated with signal SIGKILL|died from signal 9"},
    {Topic::none, Nearness::ending, Symptom::native_crash_or_illegal_access, unsaid,
     "terminated with signal SIGABRT|terminated with signal SIGSEGV|terminated with signal SIGBUS|"
     "terminated with signal SIGFPE|terminated with signal SIGILL|died from signal 11|died from signal 6|"
     "died from signal 7"},
    {Topic::none, Nearness::ending, Symptom::none, unsaid,
     "ee root cause above|ee stack trace for the root cause|ee stack trace for root cause|"
     "Engine core initialization failed|Engine process failed to start|EngineDeadError|"
     "ProcessExitedException|ProcessRaisedException|BrokenProcessPool|TrainingFailedError|"
     "WorkerGroupError|One or more workers failed"},
    {Topic::none, Nearness::finished, Symptom::none, unsaid,
     "exited with code 0|exit code 0|exit code: 0|return code 0|exit status 0|exit status: 0|Exit_status=0|"
     "ExitCode=0:0|Normal termination (return value 0)",
     nullptr, true},
    // How platforms say that a job ended: HTCondor's event log, Ray's job client, SageMaker, Flux.
    {Topic::none, Nearness::finished, Symptom::none, unsaid,
     "' succeeded&Job '|Reporting training SUCCESS"},
    {Topic::none, Nearness::ending, Symptom::none, unsaid,
     "Normal termination (return value|Abnormal termination (signal|' failed&cli.py|"
     "Job entrypoint command failed|Reporting training FAILURE|ExecuteUserScriptError|"
     "task(s) exited with exit code"},
    // Device faults of other vendors, in the words of their runtimes and drivers.
    {Topic::none, Nearness::hardware, Symptom::device_fault_reported, fault,
     "HW Exception by GPU|uncorrectable hardware error|ERREVENT_ATHUB_INTERRUPT|"
     "amdgpu&timeout, signaled seq|GPU recovery failed|Heartbeat lost! (device|HBM MULTI BIT ECC|"
     "Multi Bit ECC|GPU HANG: ecode|ERROR_DEVICE_LOST|PI_ERROR_DEVICE_NOT_AVAILABLE|"
     "device critical error|habanalabs&device is lost"},
    {Topic::none, Nearness::own, Symptom::native_crash_or_illegal_access, unsaid,
     "Memory access fault by GPU|HSA_STATUS_ERROR_EXCEPTION|HSA_STATUS_ERROR_MEMORY|"
     "hipErrorIllegalAddress|hipErrorLaunchFailure|aicore exception|aicore error|vector core exception|"
     "Core halted unexpectedly|device halted prematurely"},
    {Topic::none, Nearness::own, Symptom::device_out_of_memory, unsaid,
     "HSA_STATUS_ERROR_OUT_OF_RESOURCES|hipErrorOutOfMemory|ERROR_OUT_OF_DEVICE_MEMORY|"
     "PI_ERROR_OUT_OF_RESOURCES"},
    {Topic::none, Nearness::own, Symptom::host_resource_exhaustion, unsaid,
     "ray.exceptions.OutOfMemoryError|node running low on memory"},
    // Code that was not built for this device, or a driver older than the runtime.
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, mismatch,
     "no kernel image is available|hipErrorNoBinaryForGpu|invalid device function|"
     "driver on your system is too old|PTX was compiled with an unsupported|"
     "forward compatibility was attempted|is not compatible with the current PyTorch installation"},
    {Topic::setup, Nearness::own, Symptom::framework_runtime_exception, mismatch,
     "driver version is insufficient", Sign::driver_too_old},
    // Collectives of other vendors.
    {Topic::none, Nearness::waiting, Symptom::collective_timeout_abort, unsaid,
     "hccl fftsplus task timeout|HCCL execution timeout|execution of the Notify register times out|"
     "wait execution of the Notify|reason=[task timeout]|Megascale hang detected|HANG_DETECTED"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "Failed to initialize the HCCP process"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, store,
     "Communication_Error_Bind_IP_Port"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "Ranktable_Detect"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "HcclCommInit|hcclCommInit|HcclGetRootInfo|createHCCLComm|Getting socket times out|"
     "DIST call hccl api failed|HCCL error in|HCCL function error|oneCCL: |CCL_ERROR|"
     "Collective call returned error&hccl"},
    {Topic::none, Nearness::waiting, Symptom::communication_setup_failure, unsaid,
     "PjRT_Client_Connect|CoordinationService/RegisterTask"},
    {Topic::none, Nearness::echo, Symptom::remote_peer_connection_error, unsaid,
     "indicates that another task died|Polled an error from coordination service"},
    {Topic::connection, Nearness::echo, Symptom::remote_peer_connection_error, unsaid,
     "remote process exited or there was a network error"},
    {Topic::none, Nearness::own, Symptom::parallel_result_mismatch, unsaid,
     "Out of bounds values :&FAILED"},
    {Topic::device, Nearness::hardware, Symptom::device_fault_reported, fault,
     "fallen off the bus|uncorrectable ECC|Unable to determine the device handle"},
    {Topic::device, Nearness::hardware, Symptom::device_fault_reported, unsaid,
     "CUDA error: unknown error|unspecified launch failure"},
    {Topic::device, Nearness::hardware, Symptom::device_fault_reported, fault,
     "AER: Uncorrected"},
    {Topic::device, Nearness::hardware, Symptom::device_fault_reported, unsaid,
     "CUDA_ERROR_UNKNOWN"},
    {Topic::none, Nearness::hardware, Symptom::device_fault_reported, fault,
     "sacct: job&ended NODE_FAIL|sacct: job&ended BOOT_FAIL|Uncorrectable ECC|GPU is lost|"
     "DUE TO NODE FAILURE|Node failure on |NODE_FAIL|Hardware Error"},
    {Topic::none, Nearness::hardware, Symptom::device_fault_reported, unsaid,
     "no CUDA-capable device is detected|CUDA error: device unavailable"},
    {Topic::none, Nearness::hardware, Symptom::device_fault_reported, fault,
     "NVSwitch fatal|nvidia-nvswitch: SXid"},
    {Topic::none, Nearness::hardware, Symptom::device_fault_reported, unsaid,
     "Failed to initialize NVML"},
    {Topic::none, Nearness::hardware, Symptom::device_fault_reported, fault,
     "row remapping failure|NodeNotReady|node lost"},
    {Topic::none, Nearness::ending, Symptom::host_resource_exhaustion, unsaid,
     "unexpected system error|Worker unexpectedly exits|worker process has died|"
     "The actor died unexpectedly|ActorUnavailableError|WorkerCrashedError|NodeDiedError|"
     "LocalRayletDiedError|OwnerDiedError"},
    {Topic::none, Nearness::own, Symptom::device_out_of_memory, unsaid,
     "out of memory. Tried to allocate|CUDA out of memory|HIP out of memory|XPU out of memory|"
     "NPU out of memory|RESOURCE_EXHAUSTED|failure 'out of memory'|failure 2 'out of memory'|"
     "CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY|"
     "cudaErrorMemoryAllocation|OOM when allocating"},
    {Topic::memory, Nearness::own, Symptom::device_out_of_memory, unsaid,
     "OutOfMemoryError|Failed to CUDA calloc"},
    {Topic::host, Nearness::own, Symptom::host_resource_exhaustion, unsaid,
     "oom-kill event|oom_kill event"},
    {Topic::host, Nearness::own, Symptom::host_resource_exhaustion, settings,
     "insufficient shared memory"},
    {Topic::host, Nearness::own, Symptom::host_resource_exhaustion, unsaid,
     "is killed by signal|creating shared memory segment|Too many open files|Cannot allocate memory|"
     "MemoryError"},
    {Topic::none, Nearness::own, Symptom::host_resource_exhaustion, unsaid,
     "ended OUT_OF_MEMORY|JobState=OUT_OF_MEMORY|: Out Of Memory|Out of memory: Kill|oom-kill:constraint|"
     "invoked oom-killer|Memory cgroup out of memory|OOMKilled|OutOfmemory|low on resource|Evicted|"
     "memory pressure (OOM)|running low on memory|out of shared memory|posix_fallocate failed|"
     "shared memory object|DefaultCPUAllocator|std::bad_alloc|TERM_MEMLIMIT|exceeded memory limit|"
     "Bus error"},
    {Topic::pinned, Nearness::own, Symptom::host_resource_exhaustion, unsaid,
     "cudaHostAlloc"},
    {Topic::none, Nearness::own, Symptom::checkpoint_save_failure, unsaid,
     "Error while serializing|unexpected pos"},
    {Topic::none, Nearness::own, Symptom::checkpoint_save_failure, unsaid,
     "CheckpointingException"},
    {Topic::unreadable, Nearness::own, Symptom::checkpoint_unreadable, torn_save,
     "incomplete metadata"},
    {Topic::none, Nearness::own, Symptom::checkpoint_unreadable, torn_save,
     "unexpected EOF, expected|failed finding central directory|storage has wrong size|"
     "MetadataIncompleteBuffer|Ran out of input|pickle data was truncated|truncated file"},
    {Topic::unreadable, Nearness::own, Symptom::checkpoint_unreadable, unsaid,
     "PytorchStreamReader|CheckpointException|EOFError|find a valid checkpoint at"},
    {Topic::none, Nearness::own, Symptom::checkpoint_unreadable, unsaid,
     "archive is corrupted|Error while deserializing|invalid load key|metadata is None|HeaderTooLarge|"
     "InvalidHeaderDeserialization"},
    {Topic::reshard, Nearness::own, Symptom::reshard_restore_failure, layout,
     "used a DP world size of|Automatic adjustment of ZeRO"},
    {Topic::reshard, Nearness::own, Symptom::reshard_restore_failure, misaligned,
     "Missing key(s) in state_dict|copying a param with shape|Size mismatch between saved"},
    {Topic::reshard, Nearness::own, Symptom::reshard_restore_failure, incomplete,
     "didn't get saved by one or more processes"},
    {Topic::none, Nearness::own, Symptom::reshard_restore_failure, misaligned,
     "Unexpected key(s) in state_dict|contains a parameter group|different number of parameter groups"},
    {Topic::reshard, Nearness::own, Symptom::reshard_restore_failure, unsaid,
     "Missing key in checkpoint|Error(s) in loading state_dict|Cannot merge two lists"},
    {Topic::none, Nearness::own, Symptom::reshard_restore_failure, unsaid,
     "values missing out of|zero_shard_files|create_local_plan|_rigid_load_state_dict"},
    {Topic::disk, Nearness::own, Symptom::host_resource_exhaustion, unsaid,
     "No space left on device", Sign::disk_full},
    {Topic::none, Nearness::own, Symptom::host_resource_exhaustion, unsaid,
     "Disk quota exceeded|FilesystemQuotaExceeded", Sign::disk_full},
    {Topic::mismatch, Nearness::own, Symptom::collective_mismatch_error, order,
     "Detected mismatch between collectives|collective mismatch error|distributed collective mismatch"},
    {Topic::mismatch, Nearness::own, Symptom::collective_mismatch_error, misaligned,
     "DDP expects same model across all ranks|appears not to match sizes of the same param"},
    {Topic::none, Nearness::own, Symptom::collective_mismatch_error, order,
     "Mismatched collective detected|bytes instead of|message truncated"},
    {Topic::none, Nearness::own, Symptom::collective_mismatch_error, misaligned,
     "params with different shapes across"},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, variable,
     "no socket interface found", Sign::no_interface},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, variable,
     "Unable to find address for", Sign::no_address},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, path,
     "Call to ibv_modify_qp failed", Sign::no_queue_pair},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, path,
     "Could not find NET with id"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, variable,
     "socket interface found|with family"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, store,
     "Address already in use", Sign::address_taken},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, store,
     "failed to bind to|failed to listen on any local"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, store,
     "gaierror|Name or service not known|could not be resolved|cannot be resolved", Sign::name_unresolved},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, store,
     "name resolution"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "RendezvousTimeoutError"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, store,
     "RendezvousConnectionError"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "workers joined"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, store,
     "Connection refused"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "Timed out initializing process group"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, store,
     "address already in use", Sign::address_taken},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, store,
     "EADDRINUSE", Sign::address_taken},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, store,
     "gai error", Sign::name_unresolved},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "clients joined", Sign::clients_joined},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, store,
     "client socket has timed out|client socket has failed to connect", Sign::store_unreached},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, store,
     "connect() timed out"},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "wait timeout after", Sign::key_awaited},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, store,
     "failed to connect/validate", Sign::store_unreached},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "DistStoreError|DistNetworkError"},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "Socket Timeout", Sign::read_timed_out},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, skew,
     "Mismatched NCCL version"},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "socketFinalizeAccept: wrong"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, skew,
     "Mismatched NCCL"},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, derivation,
     "Duplicate GPU detected", Sign::device_twice},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, derivation,
     "invalid device ordinal", Sign::device_refused},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, derivation,
     "Invalid rank requested|has already checked in|mismatch in info from procs|"
     "is out of range. Valid ranks are"},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, variable,
     "expected, but not set", Sign::variable_absent},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, variable,
     "Unrecognized element token", Sign::no_algorithm},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, variable,
     "KeyError: 'RANK'|KeyError: 'LOCAL_RANK'|KeyError: 'WORLD_SIZE'|KeyError: 'MASTER_", Sign::variable_absent},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, variable,
     "rendezvous endpoint"},
    {Topic::connection, Nearness::own, Symptom::communication_setup_failure, path,
     "No route to host", Sign::unroutable},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, path,
     "Network is unreachable", Sign::unroutable},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "connectFullMesh failed"},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "Failed to initialize any NET plugin", Sign::no_plugin},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, mismatch,
     "only supported with GPUs"},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "NET/OFI Couldn't"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "unhandled cuda error|ncclUnhandledCudaError"},
    {Topic::setup, Nearness::own, Symptom::communication_setup_failure, misuse,
     "process group has not been initialized", Sign::never_initialized},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, misuse,
     "ncclInvalidUsage|ncclInvalidArgument"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, mismatch,
     "OMPI was not built with SLURM's PMI support"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "PMI server not found|PMIx server unreachable"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "An error occurred in MPI_Init|Local abort before MPI_INIT completed|MPI_INIT has failed"},
    {Topic::none, Nearness::own, Symptom::restart_or_recovery_failure, unsaid,
     "RendezvousClosedError|RendezvousGracefulExitError|max_restarts"},
    {Topic::setup, Nearness::own, Symptom::restart_or_recovery_failure, unsaid,
     "exceeded error retry count", Sign::retries_exhausted},
    {Topic::build, Nearness::own, Symptom::build_or_install_failure, unsaid,
     "Error building extension"},
    {Topic::build, Nearness::own, Symptom::build_or_install_failure, mismatch,
     "CUDAMismatchException|Unable to find compilation cuda version"},
    {Topic::build, Nearness::own, Symptom::build_or_install_failure, unsaid,
     "CompileError|BuildError|Cannot open include file|Command '['ninja'"},
    {Topic::none, Nearness::own, Symptom::build_or_install_failure, unsaid,
     "nvcc fatal|ninja: build stopped"},
    {Topic::none, Nearness::own, Symptom::build_or_install_failure, mismatch,
     "Ninja is required"},
    {Topic::none, Nearness::own, Symptom::build_or_install_failure, unsaid,
     "Unable to JIT load|error: command '|fatal error: "},
    {Topic::none, Nearness::own, Symptom::build_or_install_failure, unsaid,
     "command not found|execve(): &No such file or directory"},
    {Topic::import, Nearness::own, Symptom::import_or_symbol_error, mismatch,
     "undefined symbol|cannot open shared object"},
    {Topic::none, Nearness::own, Symptom::import_or_symbol_error, mismatch,
     "cannot import name|' not found (required by"},
    {Topic::import, Nearness::own, Symptom::import_or_symbol_error, unsaid,
     "ImportError|ModuleNotFoundError"},
    {Topic::native, Nearness::own, Symptom::native_crash_or_illegal_access, unsaid,
     "device-side assert", Sign::kernel_assert},
    {Topic::native, Nearness::own, Symptom::native_crash_or_illegal_access, unsaid,
     "illegal memory access|Segmentation fault"},
    {Topic::none, Nearness::own, Symptom::native_crash_or_illegal_access, unsaid,
     "misaligned address|SIGSEGV|exited on signal 11|SIGILL|SIGFPE|illegal instruction|"
     "CUBLAS_STATUS_EXECUTION_FAILED|CUDNN_STATUS_EXECUTION_FAILED|double free or corruption|"
     "corrupted size vs|cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS|CUBLAS_STATUS_INTERNAL_ERROR|"
     "CUDNN_STATUS_INTERNAL_ERROR"},
    {Topic::none, Nearness::own, Symptom::wrong_device_used, unsaid,
     "but found at least two devices|to be on the same device"},
    {Topic::shape, Nearness::own, Symptom::tensor_shape_or_dtype_error, unsaid,
     "must match the size of tensor|exceeds dimension size|start out of range|mat1 and mat2|"
     "size mismatch|Size mismatch|shape mismatch|is invalid for input of size|expected scalar type|"
     "output tensor size must be equal|invalid tensor size|Split sizes doesn't match|"
     "doesn't match tensor|Sizes of tensors must match|Tensors must be contiguous|"
     "must have the same type as input tensor|must be the same size as output size times|"
     "Mismatch in shape: grad_output|Dimension out of range|tuple index out of range|"
     "is out of bounds for dimension|to match target batch_size|requires uniform dtype|"
     "expects uniform original parameter dtype|same number of dimensions|"
     "expects each tensor to be equal size|expanded size of the tensor|Given groups=|inhomogeneous shape|"
     "but got torch.Size(|writeback when the parameter shape|writeback when the gradient shape|"
     "doesn't match the broadcast shape|Expected size for first two dimensions|expected input with shape|"
     "Kernel size can't be greater than actual input|and weight type (|"
     "to have one of the following scalar types|can't be cast to the desired output type|"
     "requires the source and destination dtypes match|but expected Float|"
     "view size is not compatible with input tensor's size|index out of range in self|"
     "IndexError: Target |The shape of the mask|tensor has no dimensions|"
     "too many indices for tensor of dimension|elements cannot be converted to Scalar|"
     "does not divide equally across group size|Number of tensor splits not equal|"
     "Invalid usage of tensors with different dtypes|must have the same number of elements|"
     "Tensors must be of equal type|must match number of collective participants|"
     "Expected tensor to have size|Expected target size|ValueError: Using a target size|"
     "target tensor expected, multi-target|returned an invalid gradient at index|Shape mismatch|"
     "The shape of the 2D attn_mask|Attempting to broadcast a dimension of length|"
     "create tensor with negative dimension|out of bounds for storage of size|"
     "split_sizes to sum exactly to|Expected hidden[|operands do not broadcast|"
     "could not be broadcast together|dimensions except for the concatenation axis|"
     "expected sequence of length|Incompatible shapes|contracting dimensions to have the same shape|"
     "Must flatten tensors with uniform dtype|Expected object of scalar type|inconsistent tensor size|"
     "tensor (shape=|Unsupported tensor dimension|Input and output shapes need to match|"
     "have incompatible dimensions|attempted to reshape dims=|attempted to view dims=|must have shape (|"
     "must divide number of heads in query|and bf16 data type|fp8_e4m3 data type|"
     "head_size should be a multiple of|head_size that is a multiple of|head dimension at most|"
     "have the same dtype|Invalid shape|of elements along dimension|tensor have the same sequence length|"
     "Unsupported hidden_size or types|dtype mismatch|incompatible shape|"
     "arguments to have the same dtypes|that differ in dimensions other than the one|"
     "implies that the global size of its dimension|buffer with incompatible size|"
     "must have identical types, got|cannot reshape array of shape|make_shape_compatible|"
     "not compatible for matmul|operands must be same dtype"},
    {Topic::none, Nearness::own, Symptom::tensor_shape_or_dtype_error, unsaid,
     "must have the same dtype|shapes cannot be multiplied|index out of bounds|index out of range|"
     "not divisible by|narrow(|must be equal to world_size times input|must be a matrix|must be a vector|"
     "vector and matrix expected|must be a 1D|must be a 2D|must be a 3D|-D tensor|Expected 2D|"
     "Expected 3D|could not be broadcast|storage that is not resizable|to have the same dtype"},
    {Topic::loading, Nearness::own, Symptom::model_or_data_loading_failure, mismatch,
     "Weights only load failed"},
    {Topic::none, Nearness::own, Symptom::loss_nan_or_divergence, unsaid,
     "loss is nan|Loss is nan|loss is NaN|Loss is NaN|NaN detected|nan loss|"
     "loss scale already at minimum|Attempted loss scale: 1, reducing to 1|Found NaN|found NaN|"
     "gradients are nan|grad norm is nan|NaN loss"},
    {Topic::none, Nearness::own, Symptom::loss_nan_or_divergence, unsaid,
     "loss|Loss", has_non_finite_loss},
    {Topic::loading, Nearness::own, Symptom::model_or_data_loading_failure, unsaid,
     "FileNotFoundError|HFValidationError"},
    {Topic::none, Nearness::own, Symptom::model_or_data_loading_failure, unsaid,
     "not a valid model identifier|Can't load tokenizer|Unable to load weights|"
     "does not appear to have a file named|DatasetNotFoundError|Repo id must|LocalEntryNotFoundError|"
     "GatedRepoError|RepositoryNotFoundError|NotADirectoryError|can't open file '|IsADirectoryError|"
     "PermissionError|DatasetGenerationError|We couldn't connect to|Couldn't reach|"
     "Max retries exceeded with url|cannot find the requested files"},
    {Topic::none, Nearness::own, Symptom::model_or_data_loading_failure, fault,
     "Input/output error|Stale file handle|Transport endpoint is not connected", is_of_a_file},
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, mismatch,
     "unrecognized arguments: --local"},
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, unsaid,
     "error: unrecognized arguments|error: the following arguments are required|error: argument "},
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, unsaid,
     "got an unexpected keyword argument"},
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, mismatch,
     "requires PyTorch >=|requires PyTorch>=|requires torch >=|requires torch>=|requires PyTorch version|"
     "requires CUDA >="},
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, mismatch,
     "CUBLAS_STATUS_NOT_SUPPORTED"},
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, unsaid,
     "CUBLAS_STATUS_INVALID_VALUE"},
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, mismatch,
     "CUDNN_STATUS_NOT_SUPPORTED"},
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, unsaid,
     "CUDNN_STATUS_BAD_PARAM"},
    {Topic::none, Nearness::own, Symptom::framework_runtime_exception, misuse,
     "has already been destroyed|invalid root|Expected to have finished reduction|marked as ready twice|"
     "marked a variable ready twice"},
    {Topic::none, Nearness::waiting, Symptom::collective_deadlock_hang, divergence,
     "by subset of ranks"},
    {Topic::none, Nearness::waiting, Symptom::collective_deadlock_hang, unsaid,
     "memory broadcast block found|Stalled ranks|Missing ranks|missing ranks|stuck in a collective"},
    {Topic::none, Nearness::waiting, Symptom::collective_timeout_abort, unsaid,
     "collective operation timeout&OpType=SEND|collective operation timeout&OpType=RECV|RECV timeout|"
     "SEND timeout"},
    {Topic::timeout, Nearness::waiting, Symptom::collective_timeout_abort, unsaid,
     "collective operation timeout|Timeout at NCCL work|failure detected by watchdog|"
     "detected operation timeout|for recv operation to complete|for send operation to complete|"
     "monitoredBarrier"},
    {Topic::none, Nearness::waiting, Symptom::collective_timeout_abort, unsaid,
     "detected by watchdog at work|watchdog got stuck|Application timeout caused pair closure|"
     "didn't join collective|didn't finish collective|Heartbeat monitor timed out|before timing out|"
     "abort timed out after|NCCL operations have failed or timed out|last enqueued|Timeout(ms)="},
    {Topic::launcher, Nearness::waiting, Symptom::collective_timeout_abort, unsaid,
     "taking the entire process down"},
    {Topic::none, Nearness::waiting, Symptom::collective_timeout_abort, unsaid,
     "heartbeat timeout|Barrier timed out|JAX distributed service detected fatal|DEADLINE_EXCEEDED|"
     "missed heartbeat|CoordinationServiceError"},
    {Topic::none, Nearness::link, Symptom::remote_peer_connection_error, unsaid,
     "Got completion from peer|Got completion with error|got completion with error|"
     "transport retry counter exceeded|vendor err|NET/IB : Got async event"},
    {Topic::none, Nearness::link, Symptom::remote_peer_connection_error, fault,
     "Link is Down|carrier lost"},
    {Topic::connection, Nearness::link, Symptom::remote_peer_connection_error, unsaid,
     "IBV_WC_RETRY_EXC_ERR"},
    {Topic::connection, Nearness::link, Symptom::remote_peer_connection_error, fault,
     "port error"},
    {Topic::none, Nearness::echo, Symptom::remote_peer_connection_error, unsaid,
     "ncclRemoteError|losed by remote peer|Connection closed by peer|onnection was likely closed|"
     "recv failed while polling|Could not receive type from|communicator was aborted|Read error [|"
     "Horovod has been shut down|recvBytes failed|Stop_waiting response"},
    {Topic::connection, Nearness::echo, Symptom::remote_peer_connection_error, unsaid,
     "Connection reset by peer|Broken pipe|Connection timed out|Connection closed by|Proxy Call to rank|"
     "Failed to execute operation Connect"},
    {Topic::setup, Nearness::echo, Symptom::remote_peer_connection_error, unsaid,
     "Failed to recv, got 0 bytes", Sign::store_lost},
    {Topic::none, Nearness::ending, Symptom::host_resource_exhaustion, unsaid,
     "return code = -9|exitcode: -9|exited on signal 9|Signal 9 (SIGKILL)|exit code 137|exitcode  : -9|"
     "KILLED BY SIGNAL: 9|Signals.SIGKILL|: Killed| Killed  |exit code: 137|exitCode: 137|"
     "exited with code 137"},
    {Topic::none, Nearness::ending, Symptom::native_crash_or_illegal_access, unsaid,
     "return code = -11|exitcode: -11|exitcode: -6|return code = -6|Signal 11 (|Signal 6 (|exit code 139|"
     "exit code 134|KILLED BY SIGNAL: 11|KILLED BY SIGNAL: 6|exited on signal 6|Signals.SIGABRT|"
     "core dumped|Caught signal 11|Fatal Python error|Process received signal"},
    {Topic::none, Nearness::ending, Symptom::host_resource_exhaustion, unsaid,
     "exitcode: -7|return code = -7|Signal 7 (|exited on signal 7"},
    // How a job was ended from outside. A scheduler's own word is nearer to the reason than the signal that
    // it sent, and the special is nearer than the general.
    {StopKind::time_limit, "DUE TO TIME LIMIT|sacct: job&ended TIMEOUT|JobState=TIMEOUT", "Slurm's time limit"},
    {StopKind::time_limit, "sacct: job&ended DEADLINE", "the deadline of its Slurm job"},
    {StopKind::time_limit, "TERM_RUNLIMIT", "LSF's run time limit"},
    {StopKind::time_limit, "PBS: job killed: walltime", "the walltime limit of PBS"},
    {StopKind::time_limit, "DeadlineExceeded", "the deadline of the Kubernetes job"},
    {StopKind::time_limit, "job.exception type=timeout", "Flux's time limit"},
    {StopKind::preempted,
     "DUE TO PREEMPTION|sacct: job&ended PREEMPTED|JobState=PREEMPTED|TERM_PREEMPT|was preempted|"
     "eceived preemption notice|Preemption notified|job.exception type=preempt",
     "a preemption"},
    {StopKind::preempted, "TERMINATE_ON_HOST_MAINTENANCE", "a preemption, for maintenance of the host"},
    {StopKind::preempted, "pot interruption|pot Instance interruption|pot instance interruption",
     "a preemption of its spot instance"},
    {StopKind::preempted, "Job was evicted&004 (", "an eviction by HTCondor"},
    {StopKind::cancelled, "TERM_OWNER|TERM_FORCE_OWNER", "its owner (bkill)"},
    {StopKind::cancelled, "TERM_ADMIN", "an administrator"},
    {StopKind::cancelled, "Force Terminated job|sacct: job&ended CANCELLED|JobState=CANCELLED",
     "a cancellation (scancel)"},
    {StopKind::cancelled, "CANCELLED AT&STEP|CANCELLED AT&JOB",
     "a cancellation (scancel, or the end of another step)"},
    {StopKind::cancelled, "PBS: job killed", "PBS"},
    {StopKind::cancelled, "Job was aborted&009 (", "a cancellation (condor_rm)"},
    {StopKind::cancelled, "job.exception type=cancel", "a cancellation (flux cancel)"},
    {StopKind::cancelled, "' was stopped&Job '", "a cancellation (ray job stop)"},
    {StopKind::aborted, "\"key\": \"run_stop\"&\"status\": \"aborted\"",
     "the program itself: MLPerf status aborted, the target was not reached"},
    {StopKind::interrupted, "KeyboardInterrupt", "an interrupt from the keyboard"},
    {StopKind::terminated,
     "got signal: 15|SIGTERMException|Received SIGTERM|SIGTERM signal is received|received SIGTERM|"
     "received signal SIGTERM|Signal 15 (SIGTERM)|exits with return code = -15|received 15 death signal",
     "SIGTERM from outside"},
    {StopKind::interrupted,
     "received SIGINT|Received SIGINT|Signal 2 (SIGINT)|got signal: 2|received 2 death signal|"
     "exits with return code = -2",
     "SIGINT, as from the keyboard"},
    {StopKind::terminated, "got signal: 1", "SIGTERM or SIGHUP from outside"},
    {Topic::none, Nearness::ending, Symptom::none, unsaid,
     "sacct: &ended FAILED|JobState=FAILED|exits with return code =|FAILED (exitcode|"
     "first observed failure|Exited with exit code|returned non-zero exit status|non-zero exit status|"
     "a non-zero exit code|ChildFailedError|MPI_ABORT was invoked|BAD TERMINATION|died with <Signals|"
     "exitCode: |exited with code |terminated with code|RayActorError|ActorDiedError|process has died|"
     "job has been aborted|CHILD PROCESS FAILED|Trials did not complete|CrashLoopBackOff|"
     "Back-off restarting failed"},
    {Topic::launcher, Nearness::ending, Symptom::none, unsaid,
     "failed (exitcode:"},
    {Topic::none, Nearness::own, Symptom::communication_setup_failure, unsaid,
     "unhandled system error|internal error, NCCL|ncclInternalError|ncclSystemError|NCCL error|"
     "NCCL failure"},
    {Topic::none, Nearness::own, Symptom::native_crash_or_illegal_access, unsaid,
     "CUDA error:", Sign::driver_error},
    {Topic::none, Nearness::own, Symptom::native_crash_or_illegal_access, unsaid,
     "HIP error:|hipError|UR_RESULT_ERROR|PI_ERROR_|synStatus"},
    {Topic::driver, Nearness::own, Symptom::native_crash_or_illegal_access, unsaid,
     "Cuda failure", Sign::driver_error},
    {Topic::none, Nearness::own, Symptom::host_resource_exhaustion, unsaid,
     "exited unexpectedly"},
    {Topic::none, Nearness::waiting, Symptom::collective_timeout_abort, unsaid,
     "watchdog thread terminated with exception"},
    {Topic::none, Nearness::finished, Symptom::none, unsaid,
     "worker group successfully finished|WorkerState.SUCCEEDED|exits successfully|"
     "***** train metrics *****|Training completed. Do not forget|`max_epochs=|`max_steps=|"
     "sacct: job&ended COMPLETED|JobState=COMPLETED|after training is done|exiting program at iteration|"
     "State: COMPLETED|COMPLETED (exit code 0)|train_samples_per_second|Training finished|"
     "Training complete|# Out of bounds values : 0 OK|Successfully completed.|done training in "},
    {Topic::none, Nearness::finished, Symptom::none, unsaid,
     "\"key\": \"run_stop\"", reached_its_target},
    // Words that also report the end of a part: proof only among the last lines of a log.
    {Topic::none, Nearness::finished, Symptom::none, unsaid,
     "completed successfully|successfully completed|Finished training|finished training|training finished|"
     "Training Completed|Training completed|"
     "Training is done|Training done|training complete|Training has finished|TRAINING COMPLETE|All done|"
     "Job completed|Job finished|ENDING TIMING RUN AT|PROGRAM ENDED AT|End of Tests.|Total run time|"
     "Solution Validates|Reason:&Completed|benchmark ended: |# All processes entering MPI_Finalize|"
     "iperf Done.|-- finished at|HPCG result is VALID|Benchmark Completed|successful run completed in|"
     "End of HPC Challenge tests|Result = PASS|Total wall time: |GROMACS reminds you",
     nullptr, true},
    {Topic::none, Nearness::finished, Symptom::none, unsaid,
     " passed in ", all_tests_passed, true},

    // What no finding follows from by itself: a complaint alone.
    {Topic::launcher, Nearness::none, Symptom::none, unsaid,
     "Root Cause (first observed failure)|closing signal SIGTERM|mpirun noticed|mpirun detected|"
     "Some NCCL operations have failed or timed out"},
    {Topic::mismatch, Nearness::none, Symptom::none, unsaid,
     "message truncated : receiving|Message truncated : received"},
    {Topic::setup, Nearness::none, Symptom::none, unsaid,
     "Set NCCL_MULTI_RANK_GPU_ENABLE=1", Sign::device_shared},
    {Topic::setup, Nearness::none, Symptom::none, unsaid,
     "invalid resource handle|invalid argument&CUDA error|invalid argument&Cuda failure|"
     "new group's world size should be less or equal"},
    {Topic::setup, Nearness::none, Symptom::none, unsaid,
     "failed to listen", Sign::address_taken},
    {Topic::setup, Nearness::none, Symptom::none, unsaid,
     "env:// rendezvous|invalid literal for int()|rank < size"},
    {Topic::memory, Nearness::none, Symptom::none, unsaid,
     "out of memory"},
    {Topic::saving, Nearness::none, Symptom::none, unsaid,
     "saving |Parent directory & does not exist"},
    {Topic::unreadable, Nearness::none, Symptom::none, unsaid,
     "SafetensorError"},
    {Topic::reshard, Nearness::none, Symptom::none, unsaid,
     "contains a parameter group that doesn't match|value from checkpoint|"
     "Global shape mismatch for loaded"},
    {Topic::build, Nearness::none, Symptom::none, unsaid,
     "error: command|fatal error:"},
    {Topic::device, Nearness::none, Symptom::none, unsaid,
     "no CUDA-capable device|Cuda failure&launch failure|Cuda failure&unknown error|Cuda failure&ECC|"
     "Cuda failure&hardware"},
    {Topic::placement, Nearness::none, Symptom::none, unsaid,
     "same device, but found at least two"},
    {Topic::connection, Nearness::none, Symptom::none, unsaid,
     "Connection was likely closed|IBV_WC_LOC_PROT_ERR|IBV_WC_REM_ACCESS_ERR|with error 4, opcode"},
    {Topic::loading, Nearness::none, Symptom::none, unsaid,
     "Error: Some weights of"},  // as a warning it begins many healthy jobs
    {Topic::unreadable, Nearness::none, Symptom::none, unsaid,
     "No such file or directory: '", names_a_checkpoint},
    {Topic::device, Nearness::none, Symptom::none, unsaid,
     "Cuda failure", ends_with_it},
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
                Phrase one{.words = both.substr(0, also),
                           .topic = row.topic,
                           .nearness = row.nearness,
                           .symptom = row.symptom,
                           .cause = row.cause,
                           .sign = row.sign,
                           .stop = row.stop,
                           .stopped_by = row.stopped_by,
                           .also = row.also,
                           .only_last = row.only_last,
                           .place = static_cast<std::uint16_t>(phrases_.size())};
                if (also < both.size()) one.beside = both.substr(also + 1);
                bucket(one.words).push_back(one.place);
                phrases_.push_back(one);
            }
        }
    }

    PhraseMatch match(std::string_view text) const {
        PhraseMatch found;
        for (std::size_t at = 0; at + 3 <= text.size(); ++at) {
            for (const std::uint16_t i : buckets_[key(text.data() + at)]) {
                const Phrase& phrase = phrases_[i];
                const bool finds =
                    phrase.nearness != Nearness::none && (!found.finding || &phrase < found.finding);
                if (!finds && phrase.topic >= found.topic) continue;
                if (!text.substr(at).starts_with(phrase.words) || text.find(phrase.beside) == text.npos ||
                    (phrase.also && !phrase.also(text)))
                    continue;
                if (finds) found.finding = &phrase;
                found.topic = std::min(found.topic, phrase.topic);
            }
        }
        return found;
    }

    std::span<const Phrase> all() const { return phrases_; }

private:
    static std::size_t key(const char* three) {
        const auto byte = [&](int i) {
            return static_cast<std::size_t>(static_cast<unsigned char>(three[i]));
        };
        return (byte(0) * 961 + byte(1) * 31 + byte(2)) % 8192;
    }
    std::vector<std::uint16_t>& bucket(std::string_view words) { return buckets_[key(words.data())]; }

    std::vector<Phrase> phrases_;
    std::array<std::vector<std::uint16_t>, 8192> buckets_;
};

const PhraseSearch& phrase_search() {
    static const PhraseSearch search;
    return search;
}

}  // namespace

std::string_view name_of(StopKind kind) {
    constexpr std::string_view names[] = {"",           "time_limit", "preempted", "cancelled", "interrupted",
                                          "terminated", "aborted"};
    return names[static_cast<std::size_t>(kind)];
}

std::span<const Phrase> all_phrases() { return phrase_search().all(); }

PhraseMatch match_phrases(std::string_view text) { return phrase_search().match(text); }

std::string_view find_sign(std::string_view text, Sign sign) {
    std::size_t first = text.npos;
    for (const Phrase& phrase : all_phrases())
        if (phrase.sign == sign) first = std::min(first, text.find(phrase.words));
    return first == text.npos ? std::string_view() : text.substr(first);
}

bool shows(std::string_view text, Sign sign) { return !find_sign(text, sign).empty(); }

}  // namespace deadrank::results::analysis
