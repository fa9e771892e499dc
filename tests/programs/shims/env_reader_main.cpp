// tests/programs/shims/env_reader_main.cpp — Asks an environment plugin as NCCL does: env_reader PLUGIN NAME
// …
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

struct Plugin {  // version 1 of the interface
    const char* name;
    int (*init)(std::uint8_t, std::uint8_t, std::uint8_t, const char*);
    int (*finalize)();
    const char* (*value)(const char*);
};

const char* shown(const char* value) { return value ? value : "(none)"; }

}  // namespace

int main(int argc, char** argv) {
    void* library = argc > 1 ? ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
    auto* plugin = library ? static_cast<const Plugin*>(::dlsym(library, "ncclEnvPlugin_v1")) : nullptr;
    if (!plugin || plugin->init(2, 28, 9, "") != 0) return 1;
    for (int i = 2; i < argc; ++i) {
        const char* first = plugin->value(argv[i]);
        const bool stays = first == plugin->value(argv[i]);
        std::printf("%s=%s process=%s%s\n", argv[i], shown(first), shown(std::getenv(argv[i])),
                    stays ? "" : " moved");
    }
    return plugin->finalize();
}
