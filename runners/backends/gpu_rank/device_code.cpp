// runners/backends/gpu_rank/device_code.cpp — Our kernels as host functions. Threads run one after another,
// so a sum needs no lock.
#include "runners/backends/gpu_rank/device_code.h"

#include <functional>
#include <utility>

namespace {

struct Index {
    unsigned x = 0;
};
thread_local Index threadIdx, blockIdx;
const Index blockDim{256};
void atomicAdd(unsigned long long* to, unsigned long long number) { *to += number; }

#include "runners/backends/gpu_rank/device_kernels.h"

}  // namespace

namespace deadrank::runners {

namespace {

class HostCode final : public DeviceCode {
public:
    explicit HostCode(const Cuda& cuda) : cuda_(cuda) {}

private:
    using Word = unsigned long long;
    struct Launch {
        Kernel kernel;
        std::uint64_t threads, arguments[3];
    };

    int launch(CudaStream stream, Kernel kernel, std::uint64_t threads,
               const std::uint64_t (&arguments)[3]) override {
        auto one =
            std::make_unique<Launch>(Launch{kernel, threads, {arguments[0], arguments[1], arguments[2]}});
        const int code = cuda_.call_host(stream, run, one.get());
        if (code == cuda_ok) (void)one.release();
        return code;
    }

    static void run(void* data) {
        const std::unique_ptr<Launch> one(static_cast<Launch*>(data));
        for (std::uint64_t at = 0; at < one->threads; ++at) {
            blockIdx.x = static_cast<unsigned>(at / blockDim.x);
            threadIdx.x = static_cast<unsigned>(at % blockDim.x);
            thread(*one);
        }
    }
    static void thread(const Launch& one) {
        const auto& [first, second, third] = one.arguments;
        auto* const words = reinterpret_cast<Word*>(first);
        if (one.kernel == Kernel::fill) deadrank_fill(words, second, third);
        if (one.kernel == Kernel::digest) deadrank_digest(words, second, reinterpret_cast<Word*>(third));
        if (one.kernel == Kernel::flip) deadrank_flip(words, second);
    }

    const Cuda& cuda_;
};

std::uint64_t as_word(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

}  // namespace

scenarios::Result<std::unique_ptr<DeviceCode>> DeviceCode::make(const Api& api, int device) {
    if (api.standin) return code_of_the_host(api.cuda);
    return code_of_a_gpu(api.cuda, device);
}

int DeviceCode::fill(CudaStream stream, void* to, std::uint64_t count, std::uint64_t value) {
    return launch(stream, Kernel::fill, count, {as_word(to), count, value});
}
int DeviceCode::digest(CudaStream stream, const void* from, std::uint64_t count, void* sum) {
    return launch(stream, Kernel::digest, count, {as_word(from), count, as_word(sum)});
}
int DeviceCode::flip(CudaStream stream, void* words, std::uint64_t bit) {
    return launch(stream, Kernel::flip, 1, {as_word(words), bit, 0});
}

std::unique_ptr<DeviceCode> code_of_the_host(const Cuda& cuda) { return std::make_unique<HostCode>(cuda); }

}  // namespace deadrank::runners
