// results/reports/event_text.cpp — Visits a payload's fields in the order in which they are declared.
#include "results/reports/event_text.h"

#include <fmt/format.h>
#include <type_traits>

#include "results/text/style.h"

namespace deadrank::results::reports {

namespace {

constexpr std::size_t longest_text = 72;

class Words {
public:
    explicit Words(const Evidence& evidence) : evidence_(evidence) {}

    template <class Value>
    void operator()(std::string_view name, const Value& value) {
        const std::string words = say(value);
        if (words.empty()) return;
        text_ += fmt::format("{}{} {}", text_.empty() ? "" : ", ", name, words);
    }
    std::string take() { return std::move(text_); }

private:
    template <class Value>
    std::string say(const Value& value) const {
        if constexpr (std::is_same_v<Value, TextId>) {
            return Style{}.cut(one_line(evidence_.text(value)), longest_text);
        } else if constexpr (std::is_enum_v<Value>) {
            const std::string_view name = name_of(value);
            return name == "none" ? "" : std::string(name);
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
            return fmt::format("{:016x}", value);  // digests
        } else if constexpr (std::is_integral_v<Value>) {
            return std::is_signed_v<Value> && value == Value(-1) ? "" : fmt::format("{}", value);
        } else {
            return fmt::format("{}", value);
        }
    }

    const Evidence& evidence_;
    std::string text_;
};

}  // namespace

std::string fields_text(const Evidence& evidence, const Event& event) {
    return std::visit(
        [&](const auto& payload) {
            using Payload = std::remove_cvref_t<decltype(payload)>;
            Words words(evidence);
            Payload::fields(payload, words);
            return words.take();
        },
        event.what);
}

std::string event_text(const Evidence& evidence, const Event& event) {
    const std::string who = event.rank == no_rank ? "job" : fmt::format("rank {}", event.rank);
    const auto micros = event.at.count() / 1'000;
    const std::string when = fmt::format("{}.{:06} s", micros / 1'000'000, micros % 1'000'000);
    return fmt::format("{:>14}  {:<8}  {:<16}  {}", when, who, kind_name(event),
                       fields_text(evidence, event));
}

}  // namespace deadrank::results::reports
