// runners/backends/ranks/trail.cpp — Each payload type lists the fields that are written.
#include "runners/backends/ranks/trail.h"

#include <cmath>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <unistd.h>
#include <variant>

namespace deadrank::runners {

namespace {

struct Writer {
    const results::Texts& texts;
    std::string& line;

    template <class T>
    void operator()(const char* name, const T& field) const {
        line += fmt::format(", \"{}\": {}", name, value(field));
    }
    static std::string quoted(std::string_view words) {
        return nlohmann::json(std::string(words))
            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    std::string value(results::TextId id) const { return quoted(texts[id]); }
    std::string value(double number) const {
        if (std::isnan(number)) return "\"nan\"";
        return std::isinf(number) ? (number > 0 ? "\"inf\"" : "\"-inf\"") : fmt::format("{}", number);
    }
    template <class T>
    std::string value(const T& field) const {
        if constexpr (std::is_enum_v<T>) {
            return quoted(results::name_of(field));
        } else {
            return fmt::format("{}", field);
        }
    }
};

}  // namespace

Trail::Trail(const std::filesystem::path& file, results::Rank rank, JobClock clock)
    : descriptor_(::open(file.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644)),
      clock_(clock),
      rank_(rank) {}
Trail::~Trail() { ::close(descriptor_); }

void Trail::record(const results::Payload& what) {
    std::visit(
        [&](const auto& payload) {
            using Kind = std::decay_t<decltype(payload)>;
            std::string text = fmt::format("{{\"t\": {}, \"rank\": {}, \"kind\": \"{}\"",
                                           clock_.now().count(), rank_, Kind::kind);
            Kind::fields(payload, Writer{texts_, text});
            line(text + "}");
        },
        what);
}

void Trail::line(const std::string& object) {
    const std::string whole = object + "\n";
    [[maybe_unused]] const auto written = ::write(descriptor_, whole.data(), whole.size());
}

}  // namespace deadrank::runners
