// tests/programs/shims/nccl_caller.cpp — A program that calls NCCL as its arguments say, and prints what came
// of each call: `all_reduce 0 1 2 3 4` is the code and the received values. Each rank sends 1 2 3 4, times
// its rank plus one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "inject/shims/nccl/nccl_abi.h"

using namespace deadrank::inject::shims;

extern "C" {
int cudaMalloc(void**, std::size_t);
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaStreamSynchronize(void*);
int ncclGetVersion(int*);
int ncclGetUniqueId(UniqueId*);
int ncclCommInitRank(CommHandle*, int, UniqueId, int);
int ncclCommSplit(CommHandle, int, int, CommHandle*, void*);
int ncclCommGetAsyncError(CommHandle, int*);
int ncclCommDestroy(CommHandle);
int ncclCommAbort(CommHandle);
int ncclGroupStart();
int ncclGroupEnd();
int ncclAllReduce(const void*, void*, std::size_t, int, int, CommHandle, Stream);
int ncclReduce(const void*, void*, std::size_t, int, int, int, CommHandle, Stream);
int ncclReduceScatter(const void*, void*, std::size_t, int, int, CommHandle, Stream);
int ncclBroadcast(const void*, void*, std::size_t, int, int, CommHandle, Stream);
int ncclAllGather(const void*, void*, std::size_t, int, CommHandle, Stream);
int ncclSend(const void*, std::size_t, int, int, CommHandle, Stream);
int ncclRecv(void*, std::size_t, int, int, CommHandle, Stream);
}

namespace {

constexpr int f32 = 7, count = 4, room = 64;

class Caller {
public:
    int say(const std::string& word) {
        const std::string op = word.substr(0, word.find(':'));
        const bool moves = op != "group_start" && call(op, word) >= 0;
        if (op == "group_start") code_ = ncclGroupStart();
        std::printf("%s %d%s\n", op.c_str(), code_, moves ? values().c_str() : answer_.c_str());
        std::fflush(stdout);
        return code_;
    }

private:
    // The count of received values to show, or -1.
    int call(const std::string& op, const std::string& word) {
        answer_.clear();
        if (op == "all_reduce") return moved(ncclAllReduce(send_, receive_, count, f32, 0, comm_, nullptr));
        if (op == "reduce") return moved(ncclReduce(send_, receive_, count, f32, 0, 0, comm_, nullptr));
        if (op == "reduce_scatter")
            return moved(ncclReduceScatter(send_, receive_, 2, f32, 0, comm_, nullptr));
        if (op == "broadcast") return moved(ncclBroadcast(send_, receive_, count, f32, 0, comm_, nullptr));
        if (op == "all_gather") return moved(ncclAllGather(send_, receive_, count, f32, comm_, nullptr));
        if (op == "send") return moved(ncclSend(send_, count, f32, 1 - rank_, comm_, nullptr));
        if (op == "recv") return moved(ncclRecv(receive_, count, f32, 1 - rank_, comm_, nullptr));
        other(op, word);
        return -1;
    }

    void other(const std::string& op, const std::string& word) {
        int number = 0;
        if (op == "version") {
            code_ = ncclGetVersion(&number);
            answer_ = " " + std::to_string(number);
        } else if (op == "id") {
            code_ = ncclGetUniqueId(&id_);
        } else if (op == "init") {
            init(word);
        } else if (op == "split") {
            code_ = ncclCommSplit(comm_, 0, 0, &comm_, nullptr);
        } else if (op == "poll") {
            code_ = ncclCommGetAsyncError(comm_, &number);
            answer_ = " " + std::to_string(number);
        } else if (op == "group_end") {
            code_ = ncclGroupEnd();
        } else if (op == "sleep") {
            std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(word.c_str() + op.size() + 1)));
            code_ = 0;
        } else if (op == "null") {
            code_ = ncclAllReduce(send_, receive_, count, f32, 0, nullptr, nullptr);
        } else if (op == "destroy") {
            code_ = ncclCommDestroy(comm_);
        } else if (op == "abort") {
            code_ = ncclCommAbort(comm_);
        } else {
            code_ = -1, answer_ = " is no call that this program knows";
        }
    }

    // init:ranks:rank:file-with-the-id; rank 0 makes the file.
    void init(const std::string& word) {
        int ranks = 2;
        char path[512] = {};
        std::sscanf(word.c_str(), "init:%d:%d:%511s", &ranks, &rank_, path);
        if (*path && rank_ == 0) {
            if ((code_ = ncclGetUniqueId(&id_)) != 0) return;
            const std::string unfinished = std::string(path) + ".part";
            std::ofstream(unfinished, std::ios::binary).write(id_.internal, sizeof id_.internal);
            std::rename(unfinished.c_str(), path);
        } else if (*path) {
            std::ifstream in;
            for (int tries = 0; tries < 3000 && !in.is_open(); ++tries) {
                in.open(path, std::ios::binary);
                if (!in.is_open()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
            in.read(id_.internal, sizeof id_.internal);
        }
        code_ = ncclCommInitRank(&comm_, ranks, id_, rank_);
        if (code_ == 0) code_ = allocate();
    }

    int allocate() {
        std::vector<float> start(room, 0.0F);
        for (int i = 0; i < count; ++i)
            start[static_cast<std::size_t>(i)] = static_cast<float>((i + 1) * (rank_ + 1));
        for (void** buffer : {&send_, &receive_}) {
            if (const int trouble = cudaMalloc(buffer, room * sizeof(float))) return trouble;
            cudaMemcpyAsync(*buffer, start.data(), room * sizeof(float), 4, nullptr);
            std::fill(start.begin(), start.end(), 0.0F);
        }
        return cudaStreamSynchronize(nullptr);
    }

    int moved(int code) {
        code_ = code;
        return count;
    }

    std::string values() {
        float seen[2 * count] = {};
        cudaStreamSynchronize(nullptr);
        if (receive_) cudaMemcpyAsync(seen, receive_, sizeof seen, 4, nullptr);
        cudaStreamSynchronize(nullptr);
        std::string text;
        for (const float value : seen) {
            char number[32];
            std::snprintf(number, sizeof number, " %g", static_cast<double>(value));
            text += number;
        }
        return text;
    }

    int code_ = 0, rank_ = 0;
    std::string answer_;
    UniqueId id_{};
    CommHandle comm_ = nullptr;
    void *send_ = nullptr, *receive_ = nullptr;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int call_all(int argc, char** argv) {
    Caller caller;
    int last = 0;
    for (int i = 0; i < argc; ++i) last = caller.say(argv[i]);
    return last == 0 ? 0 : 3;
}

// Nanoseconds of processor time a call of a collective: below it is a double that returns at once.
extern "C" __attribute__((visibility("default"))) double time_calls(int calls) {
    int comm = 0;
    const std::clock_t begin = std::clock();
    for (int i = 0; i < calls; ++i) ncclAllReduce(nullptr, nullptr, 0, f32, 0, &comm, nullptr);
    return static_cast<double>(std::clock() - begin) * (1e9 / CLOCKS_PER_SEC) / calls;
}
