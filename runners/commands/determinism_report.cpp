// runners/commands/determinism_report.cpp — Where runs differ, both forms of the first differing event stand
// below each other.
#include "runners/commands/determinism_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/text/words.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

namespace {

using nlohmann::ordered_json;
using results::reports::Ink;
using results::reports::Style;

std::string_view outcome_name(Checked::Outcome outcome) {
    return outcome == Checked::same ? "same" : outcome == Checked::differs ? "differs" : "unknown";
}

ordered_json event_json(const std::optional<TraceEvent>& event, const std::string& evidence) {
    ordered_json json = {{"ended", !event.has_value()}};
    if (event) {
        json["event"] = event->index;
        json["at"] = event->at.count();
        json["rank"] = event->rank;
        json["what"] = event->what;
        json["digest"] = fmt::format("{:016x}", event->digest);
    }
    if (!evidence.empty()) json["evidence"] = evidence;
    return json;
}

ordered_json json_of(const Checked& one) {
    const RunPrint& fault = one.print.runs[static_cast<std::size_t>(scenarios::Variant::fault)];
    ordered_json json = {
        {"scenario", one.print.scenario},       {"seed", one.print.seed},
        {"outcome", outcome_name(one.outcome)}, {"trace_hash", fmt::format("{:016x}", fault.trace_hash)},
        {"events", one.print.events()},         {"verdict", one.print.verdict}};
    if (one.outcome == Checked::differs) {
        json["differs_in"] = one.what.what;
        json["variant"] = scenarios::variant_name(one.what.variant);
        json["against"] = one.against;
    }
    if (one.parting) {
        json["here"] = event_json(one.parting->one, one.parting->evidence_one);
        json["there"] = event_json(one.parting->other, one.parting->evidence_other);
    }
    if (!one.reason.empty()) json["reason"] = one.reason;
    return json;
}

void print_story(const Checked& one, const Style& style) {
    const auto row = [&](std::string_view label, const std::string& text) {
        if (text.empty()) return;
        fmt::print("    {}{}\n", style.paint(Ink::dim, results::reports::pad_right(label, 10)), text);
    };
    if (one.outcome == Checked::unknown) return row("unknown", one.reason);
    row("differs", fmt::format("in {}: {} run, seed {}; the first run here against {}", one.what.what,
                               scenarios::variant_name(one.what.variant), one.print.seed, one.against));
    if (one.parting) {
        row("here", text_of(one.parting->one));
        row("", one.parting->evidence_one);
        row("there", text_of(one.parting->other));
        row("", one.parting->evidence_other);
    }
    row("but", one.reason);
}

// The trials [begin, end) are one scenario's.
using Place = std::vector<Checked>::const_iterator;
void print_scenario(Place begin, Place end, const Style& style, bool quiet) {
    std::uint64_t events = 0;
    for (Place one = begin; one != end; ++one) events += one->print.events();
    const auto bad =
        std::count_if(begin, end, [](const Checked& one) { return one.outcome != Checked::same; });
    if (bad == 0 && quiet) return;
    fmt::print(
        "  {} {}  {}\n", style.paint(bad == 0 ? Ink::green : Ink::red, bad == 0 ? "✔" : "✘"),
        begin->print.scenario,
        style.paint(Ink::dim,
                    fmt::format("{}, {} events",
                                results::counted(static_cast<std::size_t>(end - begin), "seed"), events)));
    for (Place one = begin; one != end; ++one) {
        if (one->outcome != Checked::same) print_story(*one, style);
    }
}

}  // namespace

void print_checked_json(const std::vector<Checked>& all) {
    for (const Checked& one : all)
        fmt::print("{}\n", json_of(one).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

void print_checked(const std::vector<Checked>& all, bool quiet, double seconds) {
    const Style style = style_of(stdout);
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end = std::find_if(begin, all.end(), [&](const Checked& one) {
            return one.print.scenario != begin->print.scenario;
        });
        print_scenario(begin, end, style, quiet);
        begin = end;
    }
    const auto count = [&](Checked::Outcome outcome) {
        return std::count_if(all.begin(), all.end(),
                             [&](const Checked& one) { return one.outcome == outcome; });
    };
    std::uint64_t events = 0;
    for (const Checked& one : all) events += one.print.events();
    fmt::print(
        "\n  {} same · {} differ · {} unknown · each trial played twice here and once in another process, "
        "{} events a time · {:.1f} s\n",
        count(Checked::same), count(Checked::differs), count(Checked::unknown), events, seconds);
}

}  // namespace deadrank::runners::commands
