// runners/web/orders.cpp — From what a browser asks for to a command line of this program.
#include "runners/web/orders.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "results/record/text_file.h"
#include "scenarios/model/document.h"

namespace deadrank::runners::web {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr std::size_t name_most = 120;

// One or more words between slashes, as ids of the catalogue are.
bool is_id(std::string_view id) {
    return !id.empty() && id.size() <= name_most && id.front() != '/' && id.back() != '/' &&
           id.find("//") == std::string_view::npos &&
           std::all_of(id.begin(), id.end(),
                       [](unsigned char one) { return std::isalnum(one) != 0 || one == '_' || one == '/'; });
}

bool is_a_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

// A text that is not in the catalogue has an id of its own, whose first part is no stage.
std::string own_id(const std::string& id) { return id.find('/') == std::string::npos ? "mine/" + id : id; }

// Programs beside the original that the text names.
Result<void> copy_programs(const fs::path& from, const std::string& text, const fs::path& to) {
    std::error_code trouble;
    for (fs::directory_iterator at(from, trouble), end; !trouble && at != end; at.increment(trouble)) {
        const std::string name = at->path().filename().string();
        if (at->path().extension() != ".py" || text.find('"' + name + '"') == std::string::npos) continue;
        fs::copy_file(at->path(), to / name, trouble);
    }
    if (!trouble) return {};
    return refuse(ErrorCode::io, fmt::format("cannot be copied: {}", trouble.message()), {}, {from.string()});
}

// Names between dots: no option of a command can look like one.
bool is_knob_path(std::string_view path) {
    return !path.empty() && std::isalpha(static_cast<unsigned char>(path.front())) != 0 &&
           std::all_of(path.begin(), path.end(),
                       [](unsigned char one) { return std::isalnum(one) != 0 || one == '_' || one == '.'; });
}

// "fault.0.factor" is "1.factor" to `sweep probe`, and the trigger's step "1.step".
std::string probe_path(std::string_view path) {
    if (!path.starts_with("fault.")) return std::string(path);
    path.remove_prefix(6);
    const std::size_t dot = path.find('.');
    const auto number = scenarios::parse_whole(path.substr(0, dot));
    std::string_view rest = dot == std::string_view::npos ? "" : path.substr(dot + 1);
    if (rest.starts_with("when.")) rest.remove_prefix(5);
    return fmt::format("{}.{}", number.value_or(0) + 1, rest);
}

Result<std::vector<std::string>> words_of(const Find& find, const std::string& what, const Subject& subject,
                                          const fs::path& place, const OrderOptions& options) {
    const std::string seed = std::to_string(subject.seed);
    switch (find.kind) {
        case JobKind::run: {
            std::vector<std::string> words = {"run",
                                              what,
                                              "--seed",
                                              seed,
                                              "--json",
                                              "--jobs",
                                              "1",
                                              "--memory",
                                              options.memory,
                                              "--out",
                                              place / kept_runs,
                                              "--html",
                                              place / report_file};
            if (subject.explore_order) words.push_back("--explore-order");
            return words;
        }
        case JobKind::sweep:
            return std::vector<std::string>{"sweep", what, "--seed", seed, "--json"};
        case JobKind::shrink: {
            std::vector<std::string> words = {"sweep", "shrink", what, "--seed", seed, "--json"};
            if (!find.keep.empty() && !is_id(find.keep))
                return refuse(ErrorCode::usage, fmt::format("'{}' is no symptom", find.keep),
                              "deadrank explain lists them");
            if (!find.keep.empty()) words.insert(words.end(), {"--keep", find.keep});
            return words;
        }
        case JobKind::probe:
            if (!is_knob_path(find.vary) || find.low.empty() || find.high.empty())
                return refuse(ErrorCode::usage, "a probe needs a setting and two values",
                              "name what to vary, from where to where");
            return std::vector<std::string>{
                "sweep",
                "probe",
                what,
                "--vary",
                fmt::format("{}={}..{}", probe_path(find.vary), find.low, find.high),
                "--seeds",
                fmt::format("1..{}", std::clamp(find.seeds, 1, 100)),
                "--json"};
    }
    return std::vector<std::string>{};
}

}  // namespace

fs::path file_of(const Library& library, const Subject& subject) {
    const fs::path original = library.catalog / (subject.id + ".toml");
    if (is_id(subject.id) && is_a_file(original)) return original;
    return fs::path("catalog") / (own_id(is_id(subject.id) ? subject.id : "my_bug") + ".toml");
}

Result<JobOrder> make_order(const Library& library, const Subject& subject, const Find& find,
                            const OrderOptions& options) {
    if (!is_id(subject.id)) {
        return refuse(ErrorCode::usage, fmt::format("'{}' is not a name", subject.id),
                      "take letters, digits and underscores");
    }
    const fs::path original = library.catalog / (subject.id + ".toml");
    const bool known = is_a_file(original);
    if (!known && subject.text.empty()) {
        return refuse(ErrorCode::usage, fmt::format("the catalogue has no scenario '{}'", subject.id),
                      "take one of the list, or write its text");
    }
    auto place = results::processes::PrivateDirectory::make();
    if (!place) return tl::unexpected(place.error());
    std::string what = subject.id;
    const auto unchanged = known ? scenarios::read_text(original) : Result<std::string>(std::string());
    if (!subject.text.empty() && (!known || !unchanged || *unchanged != subject.text)) {
        const fs::path file =
            place->path() / "catalog" / ((known ? subject.id : own_id(subject.id)) + ".toml");
        if (auto written = results::write_text(subject.text, file); !written)
            return tl::unexpected(written.error());
        if (known) {
            const auto copied = copy_programs(original.parent_path(), subject.text, file.parent_path());
            if (!copied) return tl::unexpected(copied.error());
        }
        what = file.string();
    }
    auto words = words_of(find, what, subject, place->path(), options);
    if (!words) return tl::unexpected(words.error());
    words->insert(words->begin(), options.program.string());
    if (!options.catalog.empty()) words->insert(words->end(), {"--catalog", options.catalog});
    return JobOrder{find.kind, std::move(*words), std::move(*place)};
}

}  // namespace deadrank::runners::web
