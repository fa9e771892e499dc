// results/exporters/remote_write.cpp — WriteRequest{1: TimeSeries{1: Label{1: name, 2: value}, 2: Sample{1:
// double, 2: ms}}}.
#include "results/exporters/remote_write.h"

#include <algorithm>
#include <cstring>

namespace deadrank::results::exporters {

namespace {

void put_number(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

// A length-delimited field.
void put_bytes(std::string& out, int field, const std::string& bytes) {
    put_number(out, static_cast<std::uint64_t>(field) << 3 | 2);
    put_number(out, bytes.size());
    out += bytes;
}

std::string label(const std::string& name, const std::string& value) {
    std::string out;
    put_bytes(out, 1, name);
    put_bytes(out, 2, value);
    return out;
}

std::string sample(double value, std::int64_t time_ms) {
    std::string out(1, '\x09');
    char bytes[8];
    std::memcpy(bytes, &value, sizeof bytes);
    out.append(bytes, sizeof bytes);
    out += '\x10';
    put_number(out, static_cast<std::uint64_t>(time_ms));
    return out;
}

}  // namespace

std::string write_request(std::span<const Series> series, std::size_t first, std::size_t last,
                          std::int64_t start_ms, std::int64_t step_ms) {
    std::string out;
    for (const Series& one : series) {
        std::string body;
        // Sorted by name: "__name__" comes before lower case and after capitals, so the map decides.
        Labels labels = one.labels;
        labels["__name__"] = one.name;
        for (const auto& [name, value] : labels) put_bytes(body, 1, label(name, value));
        bool any = false;
        for (std::size_t i = first; i < std::min(last, one.values.size()); ++i) {
            if (is_absent(one.values[i])) continue;
            any = true;
            put_bytes(body, 2, sample(one.values[i], start_ms + static_cast<std::int64_t>(i) * step_ms));
        }
        if (any) put_bytes(out, 1, body);
    }
    return out;
}

std::string snappy_block(const std::string& bytes) {
    std::string out;
    put_number(out, bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += 65536) {
        const std::size_t length = std::min<std::size_t>(65536, bytes.size() - at);
        out += '\xf4';  // a literal whose length - 1 follows in two bytes
        out += static_cast<char>((length - 1) & 0xff);
        out += static_cast<char>((length - 1) >> 8);
        out.append(bytes, at, length);
    }
    return out;
}

}  // namespace deadrank::results::exporters
