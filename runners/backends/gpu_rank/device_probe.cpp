// runners/backends/gpu_rank/device_probe.cpp — What a job would find on this machine, and whether our kernels
// compute correctly there.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "runners/backends/gpu_rank/agent.h"
#include "runners/backends/gpu_rank/api.h"
#include "runners/backends/gpu_rank/device_code.h"
#include "runners/backends/gpu_rank/nccl_library.h"

namespace deadrank::runners {

// Runs in its own process: the vendor's libraries that it loads may do anything.

int probe() {
    nlohmann::ordered_json found;
    const auto api = open_api();
    if (!api) {
        found["why"] = api.error().what;
    } else {
        answer_for_version(api->nccl.version, 0);
        std::string why;
        const int count = device_count(api->cuda, why);
        int nccl = 0, cuda = 0;
        api->nccl.version(&nccl);
        api->cuda.version(&cuda);
        found = {{"standin", api->standin},
                 {"nccl", nccl_version_text(nccl)},
                 {"claims_heard", api->standin || reads_claim(nccl)},
                 {"cuda", fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10)},
                 {"nccl_library", api->nccl_library},
                 {"cuda_library", api->cuda_library},
                 {"devices", device_names(count)},
                 {"why", why}};
    }
    for (const NcclRelease& release : further_releases())
        found["further_releases"][nccl_version_text(release.code)] = release.library;
    fmt::print("{}\n", found.dump());
    return 0;
}

// Words filled, summed and flipped on the device, then checked here.

namespace {

constexpr std::uint64_t words = 1000, value = 7, bit = 64 * 500 + 13;  // the last block is not full

class Check {
public:
    Check(const Cuda& cuda, DeviceCode& code) : cuda_(cuda), code_(code) {
        need(cuda_.malloc(&numbers_, words * sizeof value));
        need(cuda_.malloc(&sum_, sizeof value));
        need(cuda_.stream(&stream_, 0));
    }

    nlohmann::ordered_json all() {
        need(code_.fill(stream_, numbers_, words, value));
        const auto filled = numbers();
        const auto before = digest();
        need(code_.flip(stream_, numbers_, bit));
        const auto bent = numbers();
        const auto after = digest();
        need(code_.flip(stream_, numbers_, bit));
        std::vector<std::uint64_t> expected(words, value);
        const bool fills = filled == expected;
        expected[bit / 64] ^= std::uint64_t{1} << bit % 64;
        const bool sums = before != after && before == digest() && before != 0;
        return {{"fill", fills}, {"flip", bent == expected}, {"digest", sums}, {"trouble", trouble_}};
    }

private:
    void need(int code) {
        if (code != cuda_ok && trouble_.empty()) trouble_ = cuda_.words(code);
    }
    std::vector<std::uint64_t> read(const void* at, std::uint64_t count) {
        std::vector<std::uint64_t> into(count);
        need(cuda_.copy(into.data(), at, count * sizeof value, CopyKind::to_host, stream_));
        need(cuda_.synchronize(stream_));
        return into;
    }
    std::vector<std::uint64_t> numbers() { return read(numbers_, words); }
    std::uint64_t digest() {
        need(code_.fill(stream_, sum_, 1, 0));
        need(code_.digest(stream_, numbers_, words, sum_));
        return read(sum_, 1)[0];
    }

    const Cuda& cuda_;
    DeviceCode& code_;
    void *numbers_ = nullptr, *sum_ = nullptr;
    CudaStream stream_ = nullptr;
    std::string trouble_;
};

// NVRTC needs no GPU, but must not run beside the drop-in's driver.
nlohmann::ordered_json compiled() {
    const auto text = compile_for_a_gpu("compute_90");
    return text ? fmt::format("{} bytes of PTX", text->size()) : text.error().text();
}

int refuse_with(const std::string& why) {
    fmt::print("{}\n", nlohmann::ordered_json{{"why", why}, {"for_a_gpu", compiled()}}.dump());
    return 1;
}

}  // namespace

int check_kernels() {
    const auto api = open_api();
    if (!api) return refuse_with(api.error().text());
    std::string why;
    if (device_count(api->cuda, why) == 0) return refuse_with("there is no GPU: " + why);
    api->cuda.set_device(0);
    void* context = nullptr;
    api->cuda.malloc(&context, 1);  // the first use creates the driver's context
    const auto code = DeviceCode::make(*api, 0);
    if (!code) return refuse_with(code.error().text());
    nlohmann::ordered_json found = Check(api->cuda, **code).all();
    found["standin"] = api->standin;
    if (!api->standin) found["for_a_gpu"] = compiled();
    fmt::print("{}\n", found.dump());
    return found["fill"] && found["flip"] && found["digest"] && found["trouble"] == "" ? 0 : 1;
}

}  // namespace deadrank::runners
