// runners/commands/options.cpp — The words of the shared options.
#include "runners/commands/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <fmt/format.h>

namespace deadrank::runners::commands {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Seed;

namespace {

bool read_number(std::string_view text, std::uint64_t& number) {
    const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), number);
    return trouble == std::errc() && end == text.data() + text.size();
}

}  // namespace

void add_selection(CLI::App& app, SelectionOptions& options) {
    app.add_option(
           "scenarios", options.names,
           "Scenario files, directories of them, ids (communication/rank_leaves_all_reduce), stages, or "
           "patterns ('*/checkpoint_*'). Without any: the whole catalog")
        ->type_name("SCENARIO");
    const auto filter = [&](const char* name, std::vector<std::string>& values, const char* what) {
        app.add_option(name, values, what)
            ->type_name("ID")
            ->allow_extra_args(false)
            ->group("Only scenarios of");
    };
    filter("--stage", options.stages, "this stage of the taxonomy; repeat for several");
    filter("--symptom", options.symptoms, "this symptom");
    filter("--cause", options.causes, "this root cause");
    filter("--fix", options.fixes, "this fix pattern");
    filter("--class", options.classes, "this class: version_mismatch, rank_ordering, …");
    add_catalog(app, options.catalog);
}

void add_catalog(CLI::App& app, std::string& catalog) {
    app.add_option("--catalog", catalog,
                   "Directory of scenarios to use instead of the one shipped (also "
                   "DEADRANK_CATALOG)")
        ->type_name("DIR");
}

void add_json(CLI::App& app, bool& json, const std::string& what) { app.add_flag("--json", json, what); }

void add_seeds(CLI::App& app, SeedOptions& options) {
    auto* seed = app.add_option("--seed", options.seed, "The seed that makes every draw [1]")->type_name("N");
    app.add_option("--seeds", options.range, "Each seed from A to B, as in 1..20; or one number")
        ->type_name("A..B")
        ->excludes(seed);
}

scenarios::Result<std::vector<Seed>> seeds_of(const SeedOptions& options) {
    if (options.range.empty()) return std::vector<Seed>{Seed{options.seed}};
    constexpr std::uint64_t most = 1'000'000;
    const std::size_t dots = options.range.find("..");
    std::uint64_t first = 0, last = 0;
    const std::string_view text = options.range;
    const bool read = read_number(text.substr(0, dots), first) &&
                      read_number(dots == std::string::npos ? text : text.substr(dots + 2), last);
    if (!read || last < first) {
        return refuse(ErrorCode::usage, fmt::format("--seeds '{}' is no range", options.range),
                      "write it as A..B with A not above B, as in 1..20");
    }
    if (last - first >= most) {
        return refuse(ErrorCode::usage,
                      fmt::format("--seeds {} asks for more than {} seeds", options.range, most),
                      "play them in several runs");
    }
    std::vector<Seed> seeds;
    for (std::uint64_t number = first; number <= last; ++number) seeds.push_back(Seed{number});
    return seeds;
}

}  // namespace deadrank::runners::commands
