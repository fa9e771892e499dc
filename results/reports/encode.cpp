// results/reports/encode.cpp — Shapes are found by their own bytes: equal bytes, equal shape.
#include "results/reports/encode.h"

#include <map>
#include <unordered_map>

namespace deadrank::results::reports {

namespace {

void put(std::string& bytes, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(0x80 | (number & 0x7f)));
    bytes.push_back(static_cast<char>(number));
}

void put_signed(std::string& bytes, std::int64_t number) {
    put(bytes, (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63));
}

std::int64_t micros(Time time) { return time.count() / 1'000; }

std::string shape_of(const std::vector<Slice>& slices, const std::vector<SliceKind>& kinds) {
    std::string bytes;
    std::map<std::uint32_t, std::int64_t> last;  // by series
    put(bytes, slices.size());
    for (const Slice& slice : slices) {
        std::int64_t& before = last[kinds[slice.kind].series];
        put(bytes, slice.kind);
        put_signed(bytes, slice.number - before);
        before = slice.number;
    }
    return bytes;
}

}  // namespace

EncodedRows encode(const Timeline& timeline, const std::vector<Row>& rows) {
    std::string shapes, times;
    std::unordered_map<std::string, std::size_t> known;
    for (const Row& row : rows) {
        const auto& slices = timeline.ranks[static_cast<std::size_t>(row.ranks.front())];
        const std::string shape = shape_of(slices, timeline.kinds);
        const auto [found, fresh] = known.try_emplace(shape, known.size());
        if (fresh) shapes += shape;
        put(times, found->second);
        std::int64_t before = 0;
        for (const Slice& slice : slices) {
            const std::int64_t begin = micros(slice.begin);
            put(times, static_cast<std::uint64_t>(begin - before));
            put(times, slice.end == never ? 0 : 1 + static_cast<std::uint64_t>(micros(slice.end) - begin));
            before = begin;
        }
    }
    std::string count;
    put(count, known.size());
    return {base64(count + shapes), base64(times)};
}

std::string base64(std::string_view bytes) {
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t block = 0;
        for (std::size_t j = 0; j < 3; ++j)
            block = block << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        for (std::size_t j = 0; j < 4; ++j)
            text.push_back(i + j > bytes.size() ? '=' : digits[block >> (18 - 6 * j) & 63]);
    }
    return text;
}

}  // namespace deadrank::results::reports
