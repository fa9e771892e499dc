// tests/standin/programs/cuda12_main.cpp — A program as CUDA 12 compiles it: linked to libcudart.so.12, with
// that release's signatures and sizes, which are written down here. It prints what each function answers, and
// whether a function wrote beyond the struct that it was given.
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string>

extern "C" {
using Stream = void*;
using Event = void*;
struct Dimensions {
    unsigned x, y, z;
};
int cudaRuntimeGetVersion(int* version);
int cudaDriverGetVersion(int* version);
int cudaGetDeviceProperties(void* properties, int device);     // of CUDA 11's struct
int cudaGetDeviceProperties_v2(void* properties, int device);  // what CUDA 12's header makes of that name
int cudaPointerGetAttributes(void* attributes, const void* at);
// Behind `id` come pointers of a later form: the first form must not follow them.
int cudaStreamGetCaptureInfo(Stream stream, int* status, unsigned long long* id, void** later,
                             void** later_still);
int cudaStreamGetCaptureInfo_v2(Stream stream, int* status, unsigned long long* id, void** graph,
                                void** nodes, std::size_t* count);
int cudaStreamCreate(Stream* into);
int cudaMemPrefetchAsync(const void* at, std::size_t size, int device, Stream stream);
int cudaMemAdvise(const void* at, std::size_t size, int advice, int device);
int cudaMalloc(void** into, std::size_t size);
int cudaMemset(void* at, int value, std::size_t size);
int cudaMemcpy(void* to, const void* from, std::size_t size, int kind);
int cudaEventCreate(Event* into);
int cudaEventRecord(Event event, Stream stream);
int cudaEventElapsedTime_v2(float* milliseconds, Event from, Event to);
int cudaThreadSynchronize();
int cudaGraphAddNode_v2();
int cudaGetLastError();
const char* cudaGetErrorString(int code);
void** __cudaRegisterFatBinary(void* binary);
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, void*, void*, void*,
                            void*, int*);
int cudaLaunchKernel(const void* kernel, Dimensions grid, Dimensions block, void** arguments,
                     std::size_t shared, Stream stream);
}

namespace {

void print(const char* name, long long value) { std::printf("%s %lld\n", name, value); }

// A struct of so many bytes, with bytes of others behind it.
template <std::size_t size>
struct Guarded {
    alignas(8) std::array<unsigned char, size + 128> bytes;
    Guarded() { bytes.fill(0xa5); }
    bool intact() const {
        for (std::size_t at = size; at < bytes.size(); ++at) {
            if (bytes[at] != 0xa5) return false;
        }
        return true;
    }
    template <class Field>
    Field at(std::size_t offset) const {
        Field field;
        std::memcpy(&field, bytes.data() + offset, sizeof field);
        return field;
    }
};

template <std::size_t size>
void print_properties(const char* name, int (*ask)(void*, int)) {
    Guarded<size> properties;
    print(name, ask(properties.bytes.data(), 1));
    std::printf("name %s\n", reinterpret_cast<const char*>(properties.bytes.data()));
    print("memory MiB", static_cast<long long>(properties.template at<std::size_t>(288) >> 20));
    print("clock kHz", properties.template at<int>(348));
    print("capability", properties.template at<int>(360) * 10 + properties.template at<int>(364));
    print("multiprocessors", properties.template at<int>(388));
    print("memory clock kHz", properties.template at<int>(608));
    print("shared memory opt-in", static_cast<long long>(properties.template at<std::size_t>(696)));
    print("intact", properties.intact());
}

}  // namespace

int main() {
    int number = 0;
    cudaRuntimeGetVersion(&number);
    print("runtime", number);
    cudaDriverGetVersion(&number);
    print("driver", number);
    print_properties<1032>("properties", &cudaGetDeviceProperties_v2);
    print_properties<728>("properties of CUDA 11", &cudaGetDeviceProperties);

    void* memory = nullptr;
    cudaMalloc(&memory, 4096);
    Guarded<24> attributes;
    print("attributes", cudaPointerGetAttributes(attributes.bytes.data(), memory));
    print("type", attributes.at<int>(0));
    print("address", attributes.at<void*>(8) == memory);
    print("intact", attributes.intact());

    Stream stream = nullptr;
    cudaStreamCreate(&stream);
    void* const own = &number;
    void *graph = own, *nodes = own;
    unsigned long long id = 7;
    std::size_t count = 7;
    print("capture", cudaStreamGetCaptureInfo(stream, &number, &id, &graph, &nodes));
    print("status", number);
    print("intact", graph == own && nodes == own && id == 0);
    print("second capture", cudaStreamGetCaptureInfo_v2(stream, &number, &id, &graph, &nodes, &count));
    print("filled", graph == nullptr && nodes == nullptr && count == 0);

    print("prefetch", cudaMemPrefetchAsync(memory, 4096, 0, stream));
    print("advise", cudaMemAdvise(memory, 4096, 3, 0));
    unsigned char copy[4] = {};
    cudaMemset(memory, 9, 4096);
    cudaMemcpy(copy, memory, sizeof copy, 4);
    print("copied", copy[3]);
    Event from = nullptr, to = nullptr;
    cudaEventCreate(&from), cudaEventCreate(&to);
    cudaEventRecord(from, stream), cudaEventRecord(to, stream);
    print("synchronized", cudaThreadSynchronize());
    float milliseconds = -1;
    print("elapsed", cudaEventElapsedTime_v2(&milliseconds, from, to));
    print("milliseconds", milliseconds >= 0);

    static char handle;
    __cudaRegisterFunction(__cudaRegisterFatBinary(nullptr), &handle, &handle, "_Z9of_nobodyv", -1, nullptr,
                           nullptr, nullptr, nullptr, nullptr);
    print("launch", cudaLaunchKernel(&handle, {1, 1, 1}, {1, 1, 1}, nullptr, 0, stream));
    std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    print("graph", cudaGraphAddNode_v2());
    std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));

    // The other runtime in the same process: its devices are the same.
    void* other = dlopen("libcudart.so.13", RTLD_NOW);
    using Ask = int (*)(void*, const void*);
    Guarded<88> seen;
    const Ask ask = other ? reinterpret_cast<Ask>(dlsym(other, "cudaPointerGetAttributes")) : nullptr;
    print("other runtime", ask ? ask(seen.bytes.data(), memory) : -1);
    print("type", seen.at<int>(0));
}
