// runners/backends/releases/pins.cpp — One line per release: NAME==VERSION --hash=sha256:…  # FILE BYTES MS
#include "runners/backends/releases/pins.h"

#include <fmt/format.h>
#include <regex>
#include <sstream>

#include "scenarios/model/document.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;

std::string Archive::refused_by(std::string_view python_version) const {
    static const std::regex tag(R"(-cp3(\d+)-(cp3\d+|abi3)-)");
    std::smatch found;
    if (!std::regex_search(file, found, tag)) return {};
    const int wanted = std::atoi(found[1].str().c_str());
    const std::size_t dot = python_version.find('.');
    const int there =
        dot == std::string_view::npos ? 0 : std::atoi(std::string(python_version.substr(dot + 1)).c_str());
    const bool may_be_newer = found[2].str() == "abi3";
    if (there == wanted || (may_be_newer && there > wanted)) return {};
    return fmt::format("{} was built for Python 3.{}, and the one here is {}", file, wanted, python_version);
}

scenarios::Result<Pins> parse_pins(std::string_view text, const std::string& name) {
    static const std::regex shape(R"(^(\S+) --hash=sha256:([0-9a-f]{64})  # (\S+) (\d+) bytes (\d+) ms$)");
    Pins pins;
    std::istringstream in{std::string(text)};
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.empty() || line.starts_with("#")) continue;
        std::smatch found;
        const bool matches = std::regex_match(line, found, shape);
        const auto pin = matches ? scenarios::parse_pin(found[1].str()) : scenarios::Result<scenarios::Pin>{};
        if (!matches || !pin)
            return refuse(
                ErrorCode::bad_input, fmt::format("'{}' is not a pinned release", line),
                "write NAME==VERSION --hash=sha256:…  # FILE N bytes N ms, as `deadrank report releases "
                "--pin` does",
                {name, number, 1});
        pins[*pin] = {found[2].str(), found[3].str(), std::stoll(found[4].str()), std::stoll(found[5].str())};
    }
    return pins;
}

scenarios::Result<Pins> read_pins(const std::filesystem::path& file) {
    const auto text = scenarios::read_text(file);
    if (!text)
        return refuse(ErrorCode::io, "the list of pinned releases cannot be read",
                      "it is scenarios/releases/pins.txt beside the catalog", {file.string()});
    return parse_pins(*text, file.string());
}

std::string to_text(const Pins& pins) {
    std::string out =
        "# scenarios/releases/pins.txt — The releases that scenarios here name: what the package index gave "
        "for\n"
        "# each, and what it costs on disk. Written by `deadrank report releases --pin`; pip reads it as "
        "requirements.\n";
    for (const auto& [pin, archive] : pins)
        out += fmt::format("{} --hash=sha256:{}  # {} {} bytes {} ms\n", pin.text(), archive.sha256,
                           archive.file, archive.bytes, archive.milliseconds);
    return out;
}

std::string size_text(std::int64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes >= 1'000'000'000) return fmt::format("{:.1f} GB", value / 1e9);
    if (bytes >= 10'000'000) return fmt::format("{:.0f} MB", value / 1e6);
    return fmt::format("{:.1f} MB", value / 1e6);
}

}  // namespace deadrank::runners
