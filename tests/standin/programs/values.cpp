// tests/standin/programs/values.cpp — Calls everything, and compares each value with what CUDA's own
// conversions say it must be.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tests/standin/programs/kernels.h"
#include "tests/standin/programs/rank.h"

namespace program {

namespace {

constexpr unsigned long count = 37;  // no multiple of anything

float brought(int rank, unsigned long at) {
    return static_cast<float>(1 + (static_cast<unsigned long>(rank) + at) % 2);
}

template <class T>
struct Buffers {
    T *send = nullptr, *receive = nullptr, *expected = nullptr;
    unsigned char* wrong = nullptr;  // one mark a place

    explicit Buffers(const Rank& rank) {
        good(cudaSetDevice(rank.device), "cudaSetDevice");
        const std::size_t bytes = count * static_cast<std::size_t>(rank.size) * sizeof(T);
        for (T** buffer : {&send, &receive, &expected})
            good(cudaMalloc(reinterpret_cast<void**>(buffer), bytes), "cudaMalloc");
        const std::size_t places = count * static_cast<std::size_t>(rank.size);
        good(cudaMallocHost(reinterpret_cast<void**>(&wrong), places), "cudaMallocHost");
        std::fill_n(wrong, places, static_cast<unsigned char>(1));
        launch(fill<T>, count * static_cast<unsigned long>(rank.size), rank.stream, send,
               count * static_cast<unsigned long>(rank.size), rank.rank);
        good(cudaMemsetAsync(receive, 0, bytes, rank.stream), "cudaMemsetAsync");
    }
    ~Buffers() {
        for (T* buffer : {send, receive, expected}) (void)cudaFree(buffer);
        (void)cudaFreeHost(wrong);
    }
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
};

template <class T>
class Suite {
public:
    Suite(Ranks& ranks, ncclDataType_t type, const char* name, bool print)
        : ranks_(ranks), type_(type), name_(name), print_(print), size_(ranks.front().size) {}

    long run() {
        static const char* const names[] = {"sum", "prod", "max", "min", "avg", "scaled_sum"};
        for (int op = 0; op < 6; ++op) reductions(op, names[op]);
        movements();
        messages();
        return wrong_;
    }

private:
    using Call = std::function<ncclResult_t(const Rank&, Buffers<T>&)>;
    using Expected = std::function<float(const Rank&, unsigned long)>;

    // `seen`: how many values each rank looks at.
    void one(const char* what, const char* how, unsigned long seen, const Call& call,
             const Expected& expected) {
        std::vector<std::unique_ptr<Buffers<T>>> buffers;
        for (const Rank& rank : ranks_) buffers.push_back(std::make_unique<Buffers<T>>(rank));
        good(ncclGroupStart(), "ncclGroupStart");
        for (std::size_t i = 0; i < ranks_.size(); ++i) good(call(ranks_[i], *buffers[i]), what);
        good(ncclGroupEnd(), "ncclGroupEnd");
        long wrong = 0;
        for (std::size_t i = 0; i < ranks_.size(); ++i) wrong += look(ranks_[i], *buffers[i], seen, expected);
        if (print_ || wrong) std::printf("%-14s %-9s %-10s %ld wrong\n", what, name_, how, wrong);
        wrong_ += wrong;
    }

    long look(const Rank& rank, Buffers<T>& buffers, unsigned long seen, const Expected& expected) {
        std::vector<T> values;
        for (unsigned long at = 0; at < seen; ++at) values.push_back(T(expected(rank, at)));
        good(cudaSetDevice(rank.device), "cudaSetDevice");
        good(cudaMemcpyAsync(buffers.expected, values.data(), seen * sizeof(T), cudaMemcpyHostToDevice,
                             rank.stream),
             "cudaMemcpyAsync");
        launch(compare<T>, seen, rank.stream, buffers.receive, buffers.expected, seen, buffers.wrong);
        rank.wait();
        return std::count(buffers.wrong, buffers.wrong + seen, 1);
    }

    float reduced(int op, unsigned long at) const {
        float result = op == 1 ? 1.0F : op == 3 ? 2.0F : 0.0F;
        for (int rank = 0; rank < size_; ++rank) {
            const float value = brought(rank, at);
            if (op == 1)
                result *= value;
            else if (op == 2)
                result = std::max(result, value);
            else if (op == 3)
                result = std::min(result, value);
            else
                result += op == 5 ? 2.0F * value : value;
        }
        if (op != 4) return result;
        const bool whole = type_ <= ncclUint64;
        return whole ? std::floor(result / static_cast<float>(size_)) : result / static_cast<float>(size_);
    }

    void reductions(int op, const char* how) {
        std::vector<ncclRedOp_t> ops;
        T two = T(2.0F);
        for (const Rank& rank : ranks_) {
            ops.push_back(static_cast<ncclRedOp_t>(op));
            if (op == 5)
                good(ncclRedOpCreatePreMulSum(&ops.back(), &two, type_, ncclScalarHostImmediate, rank.comm),
                     "ncclRedOpCreatePreMulSum");
        }
        const auto mine = [&](const Rank& rank) {
            return ops[static_cast<std::size_t>(&rank - ranks_.data())];
        };
        const auto all = [&](const Rank&, unsigned long at) { return reduced(op, at); };
        one(
            "AllReduce", how, count,
            [&](const Rank& r, Buffers<T>& b) {
                return ncclAllReduce(b.send, b.receive, count, type_, mine(r), r.comm, r.stream);
            },
            all);
        const int root = size_ - 1;
        one(
            "Reduce", how, count,
            [&](const Rank& r, Buffers<T>& b) {
                return ncclReduce(b.send, b.receive, count, type_, mine(r), root, r.comm, r.stream);
            },
            [&](const Rank& r, unsigned long at) { return r.rank == root ? reduced(op, at) : 0.0F; });
        one(
            "ReduceScatter", how, count,
            [&](const Rank& r, Buffers<T>& b) {
                return ncclReduceScatter(b.send, b.receive, count, type_, mine(r), r.comm, r.stream);
            },
            [&](const Rank& r, unsigned long at) {
                return reduced(op, static_cast<unsigned long>(r.rank) * count + at);
            });
        for (std::size_t i = 0; op == 5 && i < ranks_.size(); ++i)
            good(ncclRedOpDestroy(ops[i], ranks_[i].comm), "ncclRedOpDestroy");
    }

    void movements() {
        const int root = 0;
        const unsigned long everything = count * static_cast<unsigned long>(size_);
        one(
            "Broadcast", "", count,
            [&](const Rank& r, Buffers<T>& b) {
                return ncclBroadcast(b.send, b.receive, count, type_, root, r.comm, r.stream);
            },
            [&](const Rank&, unsigned long at) { return brought(root, at); });
        const auto from_each = [&](const Rank&, unsigned long at) {
            return brought(static_cast<int>(at / count), at % count);
        };
        one(
            "AllGather", "", everything,
            [&](const Rank& r, Buffers<T>& b) {
                return ncclAllGather(b.send, b.receive, count, type_, r.comm, r.stream);
            },
            from_each);
        one(
            "Gather", "", everything,
            [&](const Rank& r, Buffers<T>& b) {
                return ncclGather(b.send, b.receive, count, type_, root, r.comm, r.stream);
            },
            [&](const Rank& r, unsigned long at) { return r.rank == root ? from_each(r, at) : 0.0F; });
        one(
            "Scatter", "", count,
            [&](const Rank& r, Buffers<T>& b) {
                return ncclScatter(b.send, b.receive, count, type_, root, r.comm, r.stream);
            },
            [&](const Rank& r, unsigned long at) {
                return brought(root, static_cast<unsigned long>(r.rank) * count + at);
            });
        one(
            "AlltoAll", "", everything,
            [&](const Rank& r, Buffers<T>& b) {
                return ncclAlltoAll(b.send, b.receive, count, type_, r.comm, r.stream);
            },
            [&](const Rank& r, unsigned long at) {
                return brought(static_cast<int>(at / count),
                               static_cast<unsigned long>(r.rank) * count + at % count);
            });
    }

    // A ring: everybody sends to the next and receives from the one before.
    void messages() {
        one(
            "Send and Recv", "", count,
            [&](const Rank& r, Buffers<T>& b) {
                const ncclResult_t sent =
                    ncclSend(b.send, count, type_, (r.rank + 1) % size_, r.comm, r.stream);
                return sent != ncclSuccess ? sent
                                           : ncclRecv(b.receive, count, type_, (r.rank + size_ - 1) % size_,
                                                      r.comm, r.stream);
            },
            [&](const Rank& r, unsigned long at) { return brought((r.rank + size_ - 1) % size_, at); });
    }

    Ranks& ranks_;
    ncclDataType_t type_;
    const char* name_;
    bool print_;
    int size_;
    long wrong_ = 0;
};

}  // namespace

long all_values(Ranks& ranks, bool print) {
    return Suite<std::int8_t>(ranks, ncclInt8, "int8", print).run() +
           Suite<std::uint8_t>(ranks, ncclUint8, "uint8", print).run() +
           Suite<std::int32_t>(ranks, ncclInt32, "int32", print).run() +
           Suite<std::uint32_t>(ranks, ncclUint32, "uint32", print).run() +
           Suite<std::int64_t>(ranks, ncclInt64, "int64", print).run() +
           Suite<std::uint64_t>(ranks, ncclUint64, "uint64", print).run() +
           Suite<__half>(ranks, ncclFloat16, "half", print).run() +
           Suite<float>(ranks, ncclFloat32, "float", print).run() +
           Suite<double>(ranks, ncclFloat64, "double", print).run() +
           Suite<__nv_bfloat16>(ranks, ncclBfloat16, "bfloat16", print).run() +
           Suite<__nv_fp8_e4m3>(ranks, ncclFloat8e4m3, "fp8_e4m3", print).run() +
           Suite<__nv_fp8_e5m2>(ranks, ncclFloat8e5m2, "fp8_e5m2", print).run();
}

long split_values(Ranks& ranks) {
    Ranks halves = ranks;
    good(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        good(ncclCommSplit(ranks[i].comm, ranks[i].rank % 2, -ranks[i].rank, &halves[i].comm, nullptr),
             "ncclCommSplit");
    }
    good(ncclGroupEnd(), "ncclGroupEnd");
    long wrong = 0;
    for (const int parity : {0, 1}) {
        Ranks members;
        for (Rank& one : halves) {
            if (one.rank % 2 == parity) members.push_back(one);
        }
        for (Rank& one : members) {
            const int members_in_all = (one.size + 1 - parity) / 2;
            good(ncclCommUserRank(one.comm, &one.rank), "ncclCommUserRank");
            good(ncclCommCount(one.comm, &one.size), "ncclCommCount");
            wrong += one.size == members_in_all ? 0 : 1;
        }
        if (!members.empty()) wrong += Suite<float>(members, ncclFloat32, "float", false).run();
        for (Rank& one : members) good(ncclCommDestroy(one.comm), "ncclCommDestroy");
    }
    return wrong;
}

}  // namespace program
