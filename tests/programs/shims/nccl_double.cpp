// tests/programs/shims/nccl_double.cpp — Stands where libnccl.so.2 stands: writes down what arrives, and
// moves data as a communicator of one rank does. It says that it has two ranks, so that shards have a size.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "inject/shims/nccl/nccl_abi.h"

using namespace deadrank::inject::shims;

extern "C" {
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int ncclGetVersion(int*);
}

namespace {

// One line a call, into the file that the test named.
const char* named_file() {
    static const char* const path = std::getenv("DEADRANK_ARRIVED");
    return path;
}
void arrived(const std::string& line) {
    if (!named_file()) return;
    std::FILE* file = std::fopen(named_file(), "a");
    if (!file) return;
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
}

int moved(const char* name, const void* from, void* to, std::size_t count, int dtype, int reduce, int root) {
    if (!from && !to) return nccl_success;
    arrived(std::string(name) + " count=" + std::to_string(count) + " dtype=" + std::to_string(dtype) +
            " reduce=" + std::to_string(reduce) + " root=" + std::to_string(root));
    if (!from || !to) return nccl_success;
    return cudaMemcpyAsync(to, from, count * bytes_of(dtype), 4, nullptr);
}

int a_communicator = 0;

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
    *version = 22809;
    return 0;
}
const char* ncclGetErrorString(int) { return "a result of the double"; }
const char* ncclGetLastError(CommHandle) { return ""; }
int ncclGetUniqueId(UniqueId* id) {
    std::memset(id, 7, sizeof *id);
    return 0;
}
// Asks for its own version through the public name, as the real library does when ranks compare theirs.
int ncclCommInitRank(CommHandle* made, int ranks, UniqueId, int rank) {
    int version = 0;
    ncclGetVersion(&version);
    arrived("comm_init ranks=" + std::to_string(ranks) + " rank=" + std::to_string(rank) +
            " version=" + std::to_string(version));
    *made = &a_communicator;
    return 0;
}
int ncclCommInitRankConfig(CommHandle* made, int ranks, UniqueId id, int rank, Config*) {
    return ncclCommInitRank(made, ranks, id, rank);
}
int ncclCommSplit(CommHandle, int, int, CommHandle* made, Config*) {
    static int another = 0;
    *made = &another;
    return 0;
}
int ncclCommCount(CommHandle, int* count) {
    *count = 2;
    return 0;
}
int ncclCommUserRank(CommHandle, int* rank) {
    *rank = 1;
    return 0;
}
int ncclCommGetAsyncError(CommHandle, int* error) {
    const char* wanted = std::getenv("DEADRANK_ASYNC_ERROR");
    *error = wanted ? std::atoi(wanted) : 0;
    return 0;
}
int ncclCommDestroy(CommHandle) {
    arrived("comm_destroy");
    return 0;
}
int ncclCommAbort(CommHandle) {
    arrived("comm_abort");
    return 0;
}
int ncclGroupStart() { return 0; }
int ncclGroupEnd() {
    arrived("group_end");
    return 0;
}
int ncclAllReduce(const void* from, void* to, std::size_t count, int dtype, int reduce, CommHandle, Stream) {
    return moved("all_reduce", from, to, count, dtype, reduce, -1);
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int dtype, int reduce, CommHandle,
                      Stream) {
    return moved("reduce_scatter", from, to, count, dtype, reduce, -1);
}
int ncclReduce(const void* from, void* to, std::size_t count, int dtype, int reduce, int root, CommHandle,
               Stream) {
    return moved("reduce", from, to, count, dtype, reduce, root);
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int dtype, int root, CommHandle, Stream) {
    return moved("broadcast", from, to, count, dtype, 0, root);
}
int ncclAllGather(const void* from, void* to, std::size_t count, int dtype, CommHandle, Stream) {
    return moved("all_gather", from, to, count, dtype, 0, -1);
}
int ncclSend(const void* from, std::size_t count, int dtype, int peer, CommHandle, Stream) {
    return moved("send", from, nullptr, count, dtype, 0, peer);
}
int ncclRecv(void* to, std::size_t count, int dtype, int peer, CommHandle, Stream) {
    return moved("recv", nullptr, to, count, dtype, 0, peer);
}

}  // extern "C"
