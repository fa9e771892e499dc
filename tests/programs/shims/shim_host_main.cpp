// tests/programs/shims/shim_host_main.cpp — Loads a client of NCCL as Python loads torch (out of sight of
// other libraries) or in sight of all, and lets it run: shim_host local|global CLIENT call …
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: shim_host local|global CLIENT CALL …\n");
        return 64;
    }
    const int sight = std::strcmp(argv[1], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
    void* client = ::dlopen(argv[2], RTLD_NOW | sight);
    if (!client) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return 1;
    }
    if (std::strcmp(argv[3], "time") == 0) {
        auto* measure = reinterpret_cast<double (*)(int)>(::dlsym(client, "time_calls"));
        std::printf("%.3f\n", measure(argc > 4 ? std::atoi(argv[4]) : 1000000));
        return 0;
    }
    auto* call = reinterpret_cast<int (*)(int, char**)>(::dlsym(client, "call_all"));
    return call ? call(argc - 3, argv + 3) : 1;
}
