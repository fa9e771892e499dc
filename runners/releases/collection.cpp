// runners/releases/collection.cpp — Costs come from the measurements in pins.txt: the package index is not
// queried until something is fetched.
#include "runners/releases/collection.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/record/text_file.h"
#include "results/record/words.h"

namespace deadrank::runners::releases {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::Pin;
using scenarios::refuse;

std::optional<scenarios::Release> release_of(const scenarios::Scenario& scenario) {
    if (scenario.workload_kind != scenarios::release_workload) return std::nullopt;
    scenarios::Values values;
    for (const auto& [name, setting] : scenario.workload) {
        if (setting.options.size() == 1) values.emplace(name, setting.options.front());
    }
    return scenarios::release_of(values);
}

std::set<Pin> Collection::all_pins() const {
    std::set<Pin> all;
    for (const Pin& pin : pins_of(bugs)) all.insert(pin);
    return all;
}

scenarios::Result<Collection> open_collection(const Library& library, const std::vector<std::string>& names) {
    Collection collection;
    collection.place = library.data / "releases";
    Library here = library;
    here.catalog = collection.place;
    auto ids = scenario_ids(here);
    if (!ids) return tl::unexpected(ids.error());
    for (const std::string& name : names) {
        const bool known = std::any_of(ids->begin(), ids->end(), [&](const std::string& id) {
            return id == name || id.substr(id.rfind('/') + 1) == name;
        });
        if (known) continue;
        const std::string near = scenarios::nearest(name, *ids);
        return refuse(
            ErrorCode::usage, fmt::format("'{}' is not a bug of a release", name),
            near.empty() ? "`deadrank report releases` lists them" : fmt::format("did you mean '{}'?", near));
    }
    for (const std::string& id : *ids) {
        const std::string last = id.substr(id.rfind('/') + 1);
        if (!names.empty() && !results::has(names, id) && !results::has(names, last)) continue;
        auto scenario = load_scenario(here, here.catalog / (id + ".toml"));
        if (!scenario) {
            collection.broken.push_back(scenario.error());
        } else if (const auto release = release_of(*scenario)) {
            collection.bugs.push_back({std::move(*scenario), *release});
        }
    }
    const fs::path file = collection.place / "pins.txt";
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return collection;
    auto pins = read_pins(file);
    if (!pins) return tl::unexpected(pins.error());
    collection.pins = std::move(*pins);
    return collection;
}

std::vector<Pin> pins_of(const std::vector<ReleaseBug>& bugs) {
    std::set<Pin> all;
    for (const ReleaseBug& bug : bugs) {
        for (const Pin& pin : bug.release.all()) all.insert(pin);
    }
    return {all.begin(), all.end()};
}

Cost cost_of(const std::vector<Pin>& wanted, const Pins& pins, const ReleaseCache& cache) {
    Cost cost;
    cost.releases = wanted.size();
    for (const Pin& pin : wanted) {
        const auto known = pins.find(pin);
        if (known == pins.end()) {
            cost.unpinned.insert(pin.text());
            continue;
        }
        cost.bytes += known->second.bytes;
        if (cache.has(pin, known->second)) continue;
        ++cost.missing;
        cost.bytes_missing += known->second.bytes;
        cost.milliseconds_missing += known->second.milliseconds;
    }
    return cost;
}

std::string Cost::text() const {
    std::string text = fmt::format("{}, {} on disk", results::counted(releases, "release"), size_text(bytes));
    if (missing == 0 && unpinned.empty()) return text + "; all of them are here";
    if (missing > 0)
        text += fmt::format("; {} to fetch: {}, about {:.0f} s", missing, size_text(bytes_missing),
                            static_cast<double>(milliseconds_missing) / 1e3);
    if (!unpinned.empty()) text += fmt::format("; {} not pinned", unpinned.size());
    return text;
}

scenarios::Result<void> prepare(const std::vector<ReleaseBug>& bugs, const Pins& pins,
                                const ProgressSink& say, const std::atomic<bool>* stop) {
    const ReleaseCache cache;
    const std::vector<Pin> wanted = pins_of(bugs);
    const Cost cost = cost_of(wanted, pins, cache);
    say(fmt::format("{} in {}", cost.text(), cache.place().string()));
    if (cost.missing == 0 && cost.unpinned.empty()) return {};
    const auto python = best_python();
    if (!python) return tl::unexpected(python.error());
    if (auto all = cache.prepare(wanted, pins, *python, say, stop); all || bugs.size() == 1) return all;
    // A release that cannot be fetched affects only its own bugs.
    scenarios::Result<void> first;
    for (const Pin& pin : wanted) {
        if (stop && stop->load()) break;
        const auto known = pins.find(pin);
        if (known != pins.end() && cache.has(pin, known->second)) continue;
        auto one = cache.prepare({pin}, pins, *python, say, stop);
        if (one) continue;
        say(one.error().text());
        if (first) first = one;
    }
    return first;
}

scenarios::Result<void> pin_all(Collection& collection, const ProgressSink& say,
                                const std::atomic<bool>* stop) {
    const auto python = best_python();
    if (!python) return tl::unexpected(python.error());
    const ReleaseCache cache;
    for (const Pin& pin : collection.all_pins()) {
        if (collection.pins.contains(pin)) continue;
        auto archive = cache.pin(pin, *python, stop);
        if (!archive) return tl::unexpected(archive.error());
        say(fmt::format("{}: {}, {}", pin.text(), archive->file, size_text(archive->bytes)));
        collection.pins[pin] = *archive;
        if (auto written = results::write_text(to_text(collection.pins), collection.place / "pins.txt"); !written)
            return written;
    }
    return {};
}

}  // namespace deadrank::runners::releases
