// runners/backends/gpu_rank/unique_id.cpp — Two digits a byte.
#include "runners/backends/gpu_rank/unique_id.h"

#include <fmt/format.h>

namespace deadrank::runners {

std::string in_hex(const NcclId& id) {
    std::string text;
    for (const char byte : id.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

NcclId from_hex(const std::string& text) {
    NcclId id{};
    for (std::size_t i = 0; i < sizeof id.bytes && 2 * i + 1 < text.size(); ++i)
        id.bytes[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    return id;
}

}  // namespace deadrank::runners
