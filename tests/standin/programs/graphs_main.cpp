// tests/standin/programs/graphs_main.cpp — Captures copies, fills and NCCL's calls into a graph, launches it, and misuses
// a capture in each way that CUDA has a code for.
#include "tests/standin/programs/rank.h"

namespace {

cudaGraphExec_t end_capture(cudaStream_t stream) {
    using program::good;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    good(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    std::size_t nodes = 0;
    good(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes");
    std::printf("nodes %zu\n", nodes);
    good(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
    good(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return ready;
}

int first_of(const int* device) {
    int value = -1;
    program::good(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return value;
}

// A graph over two ranks of this process: what it does is what it did when it was captured, with today's values.
void sum_over_ranks() {
    using program::good;
    ncclComm_t comms[2] = {};
    cudaStream_t streams[2] = {};
    int* values[2] = {};
    cudaGraphExec_t graphs[2] = {};
    good(ncclCommInitAll(comms, 2, nullptr), "ncclCommInitAll");
    for (int rank = 0; rank < 2; ++rank) {
        good(cudaSetDevice(rank), "cudaSetDevice");
        good(cudaStreamCreateWithFlags(&streams[rank], cudaStreamNonBlocking), "cudaStreamCreate");
        good(cudaMalloc(reinterpret_cast<void**>(&values[rank]), sizeof(int)), "cudaMalloc");
        const int value = rank + 1;
        good(cudaMemcpy(values[rank], &value, sizeof value, cudaMemcpyHostToDevice), "cudaMemcpy");
        good(cudaStreamBeginCapture(streams[rank], cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
        good(ncclAllReduce(values[rank], values[rank], 1, ncclInt, ncclSum, comms[rank], streams[rank]),
             "ncclAllReduce");
        graphs[rank] = end_capture(streams[rank]);
    }
    std::printf("after the capture %d %d\n", first_of(values[0]), first_of(values[1]));
    for (int launch = 1; launch <= 2; ++launch) {
        for (int rank = 0; rank < 2; ++rank) good(cudaGraphLaunch(graphs[rank], streams[rank]), "cudaGraphLaunch");
        for (const cudaStream_t stream : streams) good(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        std::printf("after launch %d %d %d\n", launch, first_of(values[0]), first_of(values[1]));
    }
    for (const cudaGraphExec_t graph : graphs) good(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
    for (const ncclComm_t comm : comms) good(ncclCommDestroy(comm), "ncclCommDestroy");
}

const char* say(cudaError_t code) { return cudaGetErrorName(code); }

// A stream joins by an event, and must be joined to in turn.
void join_streams() {
    using program::good;
    cudaStream_t first = nullptr, second = nullptr;
    cudaEvent_t fork = nullptr, join = nullptr, outside = nullptr;
    cudaGraph_t graph = nullptr;
    int* value = nullptr;
    for (cudaStream_t* stream : {&first, &second})
        good(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "cudaStreamCreate");
    for (cudaEvent_t* event : {&fork, &join, &outside}) good(cudaEventCreate(event), "cudaEventCreate");
    good(cudaMalloc(reinterpret_cast<void**>(&value), sizeof(int)), "cudaMalloc");
    good(cudaMemset(value, 0, sizeof(int)), "cudaMemset");

    const auto begin = [&] { good(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture"); };
    const auto fork_off = [&] {
        good(cudaEventRecord(fork, first), "cudaEventRecord");
        good(cudaStreamWaitEvent(second, fork, 0), "cudaStreamWaitEvent");
        good(cudaMemsetAsync(value, 1, sizeof(int), second), "cudaMemsetAsync");
    };
    begin();
    fork_off();
    std::printf("query of a captured event %s\n", say(cudaEventQuery(fork)));
    good(cudaEventRecord(join, second), "cudaEventRecord");
    good(cudaStreamWaitEvent(first, join, 0), "cudaStreamWaitEvent");
    cudaGraphExec_t ready = end_capture(first);
    std::printf("joined %d", first_of(value));
    good(cudaGraphLaunch(ready, nullptr), "cudaGraphLaunch");
    std::printf(" %#x\n", first_of(value));

    begin();
    fork_off();
    std::printf("unjoined %s\n", say(cudaStreamEndCapture(first, &graph)));
    begin();
    fork_off();
    std::printf("ended elsewhere %s\n", say(cudaStreamEndCapture(second, &graph)));
    std::printf("begun twice %s\n", say(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal)));
    std::printf("waited for %s\n", say(cudaStreamSynchronize(first)));
    cudaStreamCaptureStatus status{};
    good(cudaStreamIsCapturing(second, &status), "cudaStreamIsCapturing");
    std::printf("invalidated %d\n", status == cudaStreamCaptureStatusInvalidated);
    std::printf("ended after that %s\n", say(cudaStreamEndCapture(first, &graph)));
    std::printf("ended again %s\n", say(cudaStreamEndCapture(first, &graph)));
    begin();
    good(cudaEventRecord(outside, second), "cudaEventRecord");
    std::printf("waits for what is outside %s\n", say(cudaStreamWaitEvent(first, outside, 0)));
    std::printf("ended after that %s\n", say(cudaStreamEndCapture(first, &graph)));
    std::printf("default stream %s\n", say(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal)));
    good(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

}  // namespace

int main() {
    sum_over_ranks();
    join_streams();
    return 0;
}
