// results/record/payload_line.cpp — Reads what an event says from a line that an observer wrote.
#include "results/record/payload_line.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace deadrank::results {

namespace {

double real(const nlohmann::json& value) {
    if (value.is_number()) return value.get<double>();
    const std::string text = value.is_string() ? value.get<std::string>() : "nan";
    if (text.find("inf") == std::string::npos) return std::numeric_limits<double>::quiet_NaN();
    return text.starts_with('-') ? -std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::infinity();
}

struct EventFields {
    const nlohmann::json& line;
    const KeepText& keep;

    template <class T>
    void operator()(const char* name, T& field) const {
        const auto found = line.find(name);
        if (found == line.end()) return;
        read(*found, field);
    }

    void read(const nlohmann::json& value, TextId& field) const {
        field = keep(value.is_string() ? value.get<std::string>() : value.dump());
    }
    void read(const nlohmann::json& value, Op& field) const { field = op_named(word(value)); }
    void read(const nlohmann::json& value, Dtype& field) const { field = dtype_named(word(value)); }
    void read(const nlohmann::json& value, ReduceOp& field) const { field = reduce_op_named(word(value)); }
    void read(const nlohmann::json& value, Phase& field) const { field = phase_named(word(value)); }
    void read(const nlohmann::json& value, Code& field) const { field = code_named(word(value)); }
    void read(const nlohmann::json& value, double& field) const { field = real(value); }
    template <class Integer>
    void read(const nlohmann::json& value, Integer& field) const {
        if (value.is_number()) field = value.get<Integer>();
    }
    static std::string word(const nlohmann::json& value) {
        return value.is_string() ? value.get<std::string>() : std::string();
    }
};

template <std::size_t Index = 0>
bool fill(const std::string& kind, const EventFields& reader, Payload& payload) {
    if constexpr (Index < std::variant_size_v<Payload>) {
        using Kind = std::variant_alternative_t<Index, Payload>;
        if (kind != Kind::kind) return fill<Index + 1>(kind, reader, payload);
        Kind value{};
        Kind::fields(value, reader);
        payload = value;
        return true;
    } else {
        return false;
    }
}

}  // namespace

bool read_payload(std::string_view line, const KeepText& keep, Payload& payload) {
    return read_payload(nlohmann::json::parse(line, nullptr, false), keep, payload);
}

bool read_payload(const nlohmann::json& read, const KeepText& keep, Payload& payload) {
    if (!read.is_object()) return false;
    const auto kind = read.find("kind");
    return kind != read.end() && kind->is_string() &&
           fill(kind->get<std::string>(), EventFields{read, keep}, payload);
}

}  // namespace deadrank::results
