// tests/standin/programs/patient_main.cpp — Ranks by fork: some all-reduces and a ring of messages, each
// waited for with patience. What a rank saw it says in one line; then it aborts and ends with 0 good, 1 wrong
// values, 3 a call that was not finished in time, 4 an asynchronous error, 5 an error that a call answered.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/standin/programs/kernels.h"
#include "tests/standin/programs/rank.h"

namespace {

using namespace program;

constexpr int calls = 6;
constexpr std::size_t count = 64;
constexpr std::chrono::milliseconds patience(5000);

int leave(const Rank& one, int call, const std::string& says, int code) {
    char line[256];
    std::snprintf(line, sizeof line, "rank %d: call %d: %s\n", one.rank, call, says.c_str());
    (void)!write(STDOUT_FILENO, line, std::strlen(line));
    if (one.comm) (void)ncclCommAbort(one.comm);
    return code;
}

// 0 when the stream is idle.
int wait(const Rank& one, int call) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (cudaStreamQuery(one.stream) == cudaErrorNotReady) {
        ncclResult_t state = ncclSuccess;
        good(ncclCommGetAsyncError(one.comm, &state), "ncclCommGetAsyncError");
        if (state != ncclSuccess)
            return leave(one, call, std::string("asynchronous error: ") + ncclGetErrorString(state), 4);
        if (std::chrono::steady_clock::now() > until) return leave(one, call, "not finished", 3);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return 0;
}

int work(Rank one, const ncclUniqueId& id) {
    one.begin();
    const ncclResult_t opened = ncclCommInitRank(&one.comm, one.size, id, one.rank);
    if (opened != ncclSuccess) return leave(one, 0, std::string("init: ") + ncclGetErrorString(opened), 5);
    float *send = nullptr, *receive = nullptr;
    good(cudaMalloc(reinterpret_cast<void**>(&send), count * sizeof(float)), "cudaMalloc");
    good(cudaMallocHost(reinterpret_cast<void**>(&receive), count * sizeof(float)), "cudaMallocHost");
    for (int call = 1; call <= calls; ++call) {
        std::vector<float> values(count, static_cast<float>(one.rank + call));
        good(cudaMemcpyAsync(send, values.data(), count * sizeof(float), cudaMemcpyHostToDevice, one.stream),
             "copy");
        const bool ring = call == calls;
        const int next = (one.rank + 1) % one.size, before = (one.rank + one.size - 1) % one.size;
        ncclResult_t answer = ncclSuccess;
        if (ring) {
            good(ncclGroupStart(), "ncclGroupStart");
            answer = ncclSend(send, count, ncclFloat, next, one.comm, one.stream);
            if (answer == ncclSuccess)
                answer = ncclRecv(receive, count, ncclFloat, before, one.comm, one.stream);
            const ncclResult_t ended = ncclGroupEnd();
            if (answer == ncclSuccess) answer = ended;
        } else {
            answer = ncclAllReduce(send, receive, count, ncclFloat, ncclSum, one.comm, one.stream);
        }
        if (answer != ncclSuccess)
            return leave(one, call, std::string("answered: ") + ncclGetErrorString(answer), 5);
        if (const int trouble = wait(one, call)) return trouble;
        const int sum = one.size * (one.size - 1) / 2 + one.size * call;
        const auto expected = static_cast<float>(ring ? before + call : sum);
        long wrong = 0;
        for (std::size_t i = 0; i < count; ++i) wrong += receive[i] == expected ? 0 : 1;
        if (wrong) return leave(one, call, std::to_string(wrong) + " wrong values", 1);
    }
    good(ncclCommDestroy(one.comm), "ncclCommDestroy");
    one.comm = nullptr;
    return leave(one, calls, "all good", 0);
}

// The worst exit code. Ranks that are stopped when nobody else is left are ended.
int wait_for(std::vector<pid_t> ranks) {
    const std::vector<pid_t> all = ranks;
    std::vector<pid_t> stopped;
    int worst = 0;
    while (!ranks.empty()) {
        int status = 0;
        const pid_t child = waitpid(-1, &status, WUNTRACED | WCONTINUED);
        if (child < 0) break;
        const auto place = std::find(all.begin(), all.end(), child) - all.begin();
        if (WIFSTOPPED(status)) {
            stopped.push_back(child);
        } else if (WIFCONTINUED(status)) {
            std::erase(stopped, child);
        } else {
            std::erase(ranks, child);
            std::erase(stopped, child);
            if (WIFSIGNALED(status))
                std::printf("rank %d: ended by signal %d\n", static_cast<int>(place), WTERMSIG(status));
            else
                worst = std::max(worst, WEXITSTATUS(status));
        }
        if (stopped.size() == ranks.size()) {
            for (const pid_t left : stopped) kill(left, SIGKILL);
            stopped.clear();
        }
    }
    return worst;
}

}  // namespace

int main(int argc, char** argv) {
    const int size = argc > 1 ? std::atoi(argv[1]) : 3;
    ncclUniqueId id;
    good(ncclGetUniqueId(&id), "ncclGetUniqueId");
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < size; ++rank) {
        const pid_t child = fork();
        if (child == 0) {
            setenv("RANK", std::to_string(rank).c_str(), 1);
            if (std::getenv("PATIENT_NETWORK"))
                setenv("NCCL_HOSTID", ("host" + std::to_string(rank)).c_str(), 1);
            _exit(work({rank, size, rank, nullptr, nullptr}, id));
        }
        ranks.push_back(child);
    }
    return wait_for(ranks);
}
