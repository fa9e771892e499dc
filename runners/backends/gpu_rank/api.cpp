// runners/backends/gpu_rank/api.cpp — The loader's own search finds the libraries: LD_LIBRARY_PATH, then the
// system's.
#include "runners/backends/gpu_rank/api.h"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sstream>

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

class Loaded {
public:
    static Result<Loaded> any_of(std::initializer_list<const char*> names) {
        std::string why;
        for (const char* name : names) {
            if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Loaded(handle);
            const char* said = dlerror();
            if (why.empty() && said) why = said;
        }
        return refuse(ErrorCode::environment, why,
                      "name the directory of CUDA's runtime and of NCCL in LD_LIBRARY_PATH");
    }
    template <class Function>
    void find(const char* name, Function& into) {
        into = reinterpret_cast<Function>(dlsym(handle_, name));
        if (!into && missing_.empty()) missing_ = name;
        Dl_info info{};
        if (into && path_.empty() && dladdr(reinterpret_cast<void*>(into), &info)) path_ = info.dli_fname;
    }
    template <class Function>
    void find_optional(const char* name, Function& into) {
        into = reinterpret_cast<Function>(dlsym(handle_, name));
    }
    Result<std::string> path() const {
        if (missing_.empty()) return path_;
        return refuse(ErrorCode::environment, fmt::format("{} has no {}", path_, missing_),
                      "use CUDA 11 or later, and NCCL 2.14 or later");
    }

private:
    explicit Loaded(void* handle) : handle_(handle) {}
    void* handle_;
    std::string path_, missing_;
};

Result<std::string> open_cuda(Cuda& cuda) {
    auto library =
        Loaded::any_of({"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"});
    if (!library) return tl::unexpected(library.error());
    library->find("cudaGetDeviceCount", cuda.count);
    library->find("cudaSetDevice", cuda.set_device);
    library->find("cudaMalloc", cuda.malloc);
    library->find("cudaFree", cuda.free);
    library->find("cudaMemGetInfo", cuda.memory);
    library->find("cudaMallocHost", cuda.malloc_host);
    library->find("cudaMemcpyAsync", cuda.copy);
    library->find("cudaStreamCreateWithFlags", cuda.stream);
    library->find("cudaStreamSynchronize", cuda.synchronize);
    library->find("cudaLaunchHostFunc", cuda.call_host);
    library->find("cudaEventCreateWithFlags", cuda.event);
    library->find("cudaEventRecord", cuda.record);
    library->find("cudaEventQuery", cuda.query);
    library->find("cudaEventDestroy", cuda.forget);
    library->find("cudaRuntimeGetVersion", cuda.version);
    library->find("cudaGetErrorString", cuda.words);
    return library->path();
}

Result<std::string> open_nccl(Nccl& nccl, const std::string& chosen) {
    auto library = Loaded::any_of({chosen.empty() ? "libnccl.so.2" : chosen.c_str()});
    if (!library) return tl::unexpected(library.error());
    library->find("pncclGetVersion", nccl.version);
    library->find("ncclGetUniqueId", nccl.unique_id);
    library->find("ncclCommInitRank", nccl.init);
    library->find("ncclCommInitRankConfig", nccl.init_by_config);
    library->find("ncclCommGetAsyncError", nccl.async_error);
    library->find("ncclCommAbort", nccl.abort);
    library->find("ncclCommDestroy", nccl.destroy);
    library->find("ncclGroupStart", nccl.group_start);
    library->find("ncclGroupEnd", nccl.group_end);
    library->find("ncclGetErrorString", nccl.words);
    library->find("ncclGetLastError", nccl.last_error);
    library->find("ncclAllReduce", nccl.all_reduce);
    library->find("ncclReduceScatter", nccl.reduce_scatter);
    library->find("ncclReduce", nccl.reduce);
    library->find("ncclBroadcast", nccl.broadcast);
    library->find("ncclAllGather", nccl.all_gather);
    library->find_optional("ncclAlltoAll", nccl.all_to_all);
    library->find("ncclSend", nccl.send);
    library->find("ncclRecv", nccl.receive);
    return library->path();
}

}  // namespace

std::vector<NcclRelease> further_releases() {
    std::vector<NcclRelease> found;
    const char* said = std::getenv(releases_variable);
    std::istringstream directories(said ? said : "");
    for (std::string directory; std::getline(directories, directory, ':');) {
        const std::string library = directory + "/libnccl.so.2";
        void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        const auto ask = handle ? reinterpret_cast<int (*)(int*)>(dlsym(handle, "pncclGetVersion")) : nullptr;
        int code = 0;
        if (ask && ask(&code) == 0) found.push_back({code, library});
        if (handle) dlclose(handle);
    }
    return found;
}

Result<Api> open_api(const std::string& nccl_library) {
    Api api;
    const auto cuda = open_cuda(api.cuda);
    if (!cuda) return tl::unexpected(cuda.error());
    const auto nccl = open_nccl(api.nccl, nccl_library);
    if (!nccl) return tl::unexpected(nccl.error());
    api.cuda_library = *cuda;
    api.nccl_library = *nccl;
    if (void* ours = dlopen("libdeadrank_device.so", RTLD_NOW | RTLD_NOLOAD)) {
        api.standin = true;
        dlclose(ours);
    }
    return api;
}

int device_count(const Cuda& cuda, std::string& why) {
    int count = 0;
    if (const int code = cuda.count(&count); code != cuda_ok) {
        why = cuda.words(code);
        return 0;
    }
    if (count == 0) why = "CUDA sees no device";
    return count;
}

std::vector<std::string> device_names(int count) {
    std::vector<std::string> names(static_cast<std::size_t>(count));
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) return names;
    const auto begin = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    const auto ask = reinterpret_cast<int (*)(char*, int, int)>(dlsym(driver, "cuDeviceGetName"));
    if (!begin || !ask || begin(0) != 0) return names;
    for (int device = 0; device < count; ++device) {
        std::array<char, 256> text{};
        if (ask(text.data(), static_cast<int>(text.size()) - 1, device) == 0)
            names[static_cast<std::size_t>(device)] = text.data();
    }
    return names;
}

std::string nccl_version_text(int code) {
    return fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

}  // namespace deadrank::runners
