// tests/fuzz/replay_main.cpp — Plays files through a fuzz target where libFuzzer is absent, so that what it
// once found stays found.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** files) {
    for (int i = 1; i < count; ++i) {
        std::ifstream in(files[i], std::ios::binary);
        if (!in) {
            std::fprintf(stderr, "%s cannot be read\n", files[i]);
            return 2;
        }
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
    std::printf("%d files played\n", count - 1);
    return 0;
}
