// runners/backends/releases/pins.h — scenarios/releases/pins.txt: of each release that a scenario names, the
// file that the index gave for it, its hash, its size and the time to install it. Also a requirements file
// for pip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "scenarios/model/release.h"

namespace deadrank::runners {

struct Archive {
    std::string sha256;             // 64 hex digits
    std::string file;               // "torchmetrics-1.3.2-py3-none-any.whl"
    std::int64_t bytes = 0;         // on disk, once installed
    std::int64_t milliseconds = 0;  // to install, where it was measured

    // Why this Python cannot install it, as a sentence: a wheel of "cp311" under Python 3.12. Empty if it
    // can.
    std::string refused_by(std::string_view python_version) const;
    bool operator==(const Archive&) const = default;
};

using Pins = std::map<scenarios::Pin, Archive>;

// Errors: io; bad_input with the line.
scenarios::Result<Pins> read_pins(const std::filesystem::path& file);
scenarios::Result<Pins> parse_pins(std::string_view text, const std::string& name);
std::string to_text(const Pins& pins);

// "3.4 MB", "1.2 GB".
std::string size_text(std::int64_t bytes);

}  // namespace deadrank::runners
