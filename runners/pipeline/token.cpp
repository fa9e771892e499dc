// runners/pipeline/token.cpp — Parsed from both ends, since a scenario's id may contain any character that a
// file name may.
#include "runners/pipeline/token.h"

#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "runners/pipeline/build.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/text.h"

namespace deadrank::runners {

namespace {

constexpr std::string_view format = "dr1";
constexpr std::size_t digest_digits = 8;

tl::unexpected<scenarios::Error> refuse(std::string_view text, std::string_view why) {
    return scenarios::refuse(scenarios::ErrorCode::usage, fmt::format("'{}' is not a token: {}", text, why),
                             "copy all of the line that begins with 'dr1-' from a report");
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

bool is_digest(std::string_view text) { return text.size() == digest_digits && number(text, 16); }

}  // namespace

Token token_of(const scenarios::Plan& plan, std::string_view runner, bool explored,
               std::uint64_t trace_hash) {
    return {.build = this_build().commit,
            .runner = std::string(runner),
            .scenario = plan.scenario,
            .seed = plan.seed.number,
            .explored = explored,
            .scenario_digest = plan.scenario_digest.substr(0, digest_digits),
            .plan_digest = scenarios::digest(plan).substr(0, digest_digits),
            .trace_hash = trace_hash};
}

std::string to_text(const Token& token) {
    return fmt::format("{}-{}-{}-{}-{}{}-{:0>8}-{:0>8}-{:016x}", format, token.build, token.runner,
                       token.scenario, token.seed, token.explored ? "x" : "", token.scenario_digest,
                       token.plan_digest, token.trace_hash);
}

scenarios::Result<Token> parse_token(std::string_view text) {
    const std::vector<std::string_view> parts = scenarios::parts_of(text, '-');
    if (parts.front() != format) return refuse(text, "it does not begin with 'dr1-'");
    if (parts.size() < 8) return refuse(text, "it is not complete");
    const std::size_t last = parts.size() - 1;
    std::string_view seed_text = parts[last - 3];
    const bool explored = seed_text.ends_with('x');
    if (explored) seed_text.remove_suffix(1);
    const auto seed = number(seed_text, 10);
    const auto hash = number(parts[last], 16);
    if (!seed) return refuse(text, fmt::format("'{}' is not a seed", parts[last - 3]));
    if (!hash || parts[last].size() != 16)
        return refuse(text, fmt::format("'{}' is not a trace hash", parts[last]));
    if (!is_digest(parts[last - 2]) || !is_digest(parts[last - 1]))
        return refuse(text, "its digests are not complete");
    const char* begin = parts[3].data();
    const std::string_view& id_end = parts[last - 4];
    return Token{.build = std::string(parts[1]),
                 .runner = std::string(parts[2]),
                 .scenario = std::string(begin, id_end.data() + id_end.size()),
                 .seed = *seed,
                 .explored = explored,
                 .scenario_digest = std::string(parts[last - 2]),
                 .plan_digest = std::string(parts[last - 1]),
                 .trace_hash = *hash};
}

}  // namespace deadrank::runners
