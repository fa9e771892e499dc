// tests/programs/shims/cudart_double.cpp — As much of the CUDA runtime as the interposer asks for, on host
// memory: every stream is done at once.
#include <cstddef>
#include <cstdlib>
#include <cstring>

extern "C" {

int cudaMalloc(void** made, std::size_t bytes) {
    *made = std::calloc(1, bytes ? bytes : 1);
    return *made ? 0 : 2;
}
int cudaFree(void* memory) {
    std::free(memory);
    return 0;
}
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void*) {
    std::memcpy(to, from, bytes);
    return 0;
}
int cudaStreamSynchronize(void*) { return 0; }
int cudaStreamIsCapturing(void*, int* status) {
    *status = 0;
    return 0;
}
int cudaLaunchHostFunc(void*, void (*call)(void*), void* argument) {
    call(argument);
    return 0;
}

}  // extern "C"
