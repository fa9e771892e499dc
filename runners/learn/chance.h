// runners/learn/chance.h — Draws that everybody gets alike from one seed, whatever the compiler (SplitMix64).
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace deadrank::runners::learn {

class Chance {
public:
    Chance(std::string_view name, std::uint64_t seed) : state_(seed) {
        for (const char letter : name)
            state_ = (state_ ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    }
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    template <class T>
    void shuffle(std::vector<T>& list) {
        for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[next() % i]);
    }

private:
    std::uint64_t state_;
};

}  // namespace deadrank::runners::learn
