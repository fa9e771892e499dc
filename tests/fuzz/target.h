// tests/fuzz/target.h — A fuzz target is one file: FUZZ_TARGET(token) { … } gives `text` to a reader of the
// product, CHECKs what the reader promises of any text, and returns whether the reader accepted it. With the
// preset fuzz each target is a libFuzzer program; in deadrank_tests the suites FuzzCorpus and SlowFuzz play
// all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::fuzz {

struct Target {
    std::string_view name;  // also of its corpus, and of its lines in seeds.txt
    bool (*read)(std::string_view text);
};

// The targets that this program links.
std::vector<Target>& targets();

struct Registered {
    explicit Registered(const Target& target) { targets().push_back(target); }
};

// Of a reader that refused the text: it has to say why.
template <class T>
bool refused(const scenarios::Result<T>& result) {
    CHECK(!result.error().text().empty());
    return false;
}

}  // namespace deadrank::fuzz

#ifdef DEADRANK_LIBFUZZER
#define FUZZ_ENTRY(name)                                                                \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
        deadrank::fuzz::read_##name({reinterpret_cast<const char*>(data), size});       \
        return 0;                                                                       \
    }
#else
#define FUZZ_ENTRY(name) \
    static const deadrank::fuzz::Registered registered_##name({#name, deadrank::fuzz::read_##name});
#endif

#define FUZZ_TARGET(name)                           \
    namespace deadrank::fuzz {                      \
    static bool read_##name(std::string_view text); \
    }                                               \
    FUZZ_ENTRY(name)                                \
    bool deadrank::fuzz::read_##name(std::string_view text)
