// runners/studies/parity.cpp — Whether two backends give the same findings for one plan, and the page that
// shows where they differ.
#include "runners/studies/parity.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "results/reports/json_files.h"
#include "results/reports/resilience_table.h"
#include "results/text/text_file.h"
#include "results/text/words.h"
#include "runners/line/library.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners {

// Turns findings into words, and compares the two sets.

namespace {

std::set<std::string> diagnosis(const Trialled& trialled) {
    std::set<std::string> said;
    if (!trialled.fault) return said;
    for (const results::Finding& finding : trialled.fault->findings) {
        results::Blame blame;
        blame.ranks = finding.blame.ranks;
        said.insert(fmt::format("{} ({})", finding.symptom, blame.text()));
    }
    return said;
}

// The scenario as written, or on at most `ranks` ranks; on twice as many if it names ranks beyond those.
scenarios::Result<scenarios::Scenario> at_most(const scenarios::Scenario& scenario, scenarios::Seed seed,
                                               std::int64_t ranks, const scenarios::Capabilities& able,
                                               const scenarios::Vocabulary& vocabulary) {
    const scenarios::Capabilities anything{.backend = "any", .levers = {"*"}, .workloads = {"*"}};
    const auto own = scenarios::resolve(scenario, seed, anything, vocabulary);
    if (!own) return tl::unexpected(own.error());
    const std::int64_t stated = own->fault.world_size();
    if (stated <= ranks) return scenario;
    scenarios::Scenario smaller = scaled(scenario, ranks);
    if (scenarios::resolve(smaller, seed, anything, vocabulary)) return smaller;
    const std::int64_t twice = std::min(2 * ranks, able.ranks_max);
    if (twice >= stated) return stated <= able.ranks_max ? scenario : smaller;
    scenarios::Scenario larger = scaled(scenario, twice);
    return scenarios::resolve(larger, seed, anything, vocabulary) ? larger : smaller;
}

// Real PyTorch processes use gloo here, so the simulator must be compared with gloo, not NCCL.
scenarios::Scenario over_the_library_of(const Runner& reality, scenarios::Scenario scenario) {
    if (reality.name() != "local" || scenario.cluster.contains("library")) return scenario;
    scenario.cluster["library"].options = {{.type = scenarios::ValueType::choice, .text = "gloo"}};
    return scenario;
}

}  // namespace

std::string_view name_of(Parity parity) {
    static constexpr std::array<std::string_view, 4> names = {"agree", "explained", "differ", "not_played"};
    return names.at(static_cast<std::size_t>(parity));
}

std::string listed(const std::set<std::string>& findings) {
    return findings.empty() ? "nothing" : fmt::format("{}", fmt::join(findings, ", "));
}

std::string why_not_on_paper(const scenarios::Scenario& written, scenarios::Seed seed, Runner& reality,
                             std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary) {
    const auto scenario = at_most(written, seed, ranks_most, reality.capabilities(), vocabulary);
    if (!scenario) return scenario.error().what;
    const auto trial = scenarios::resolve(*scenario, seed, reality.capabilities(), vocabulary);
    if (!trial) return trial.error().what;
    const auto able = reality.on_paper(trial->fault);
    return able ? std::string() : able.error().what;
}

std::string kind_of_reason(std::string_view why) {
    std::string kind;
    bool quoted = false, number = false;
    for (const char letter : why) {
        const bool quote = letter == '\'', digit = letter >= '0' && letter <= '9';
        if (quote && !quoted) kind += "…";
        if (digit && !number && !quoted) kind += "…";
        if (!quote && !quoted && !digit) kind += letter;
        if (quote) quoted = !quoted;
        number = digit;
    }
    return kind;
}

void conclude(Compared& compared, const std::string& reason) {
    compared.why = reason;
    compared.parity = compared.simulated == compared.real ? Parity::agree
                      : reason.empty()                    ? Parity::differ
                                                          : Parity::explained;
}

Compared compare(const scenarios::Scenario& written, scenarios::Seed seed, Runner& sim, Runner& reality,
                 std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary, const LineOptions& asked) {
    Compared compared{.scenario = written.id};
    compared.why = why_not_on_paper(written, seed, reality, ranks_most, vocabulary);
    if (!compared.why.empty()) return compared;
    LineOptions options = asked;
    options.control = options.healed = false;
    const scenarios::Scenario scenario =
        *at_most(written, seed, ranks_most, reality.capabilities(), vocabulary);
    const auto play_on = [&](Runner& runner, const scenarios::Scenario& one) {
        LineOptions here = options;
        if (!options.out.empty()) here.out = options.out / runner.name();
        return play(one, seed, runner, vocabulary, here);
    };
    const Trialled simulated = play_on(sim, over_the_library_of(reality, scenario));
    const Trialled real = simulated.fault ? play_on(reality, scenario) : Trialled{};
    // If a lever was refused half-way, it is a different bug.
    if (!simulated.fault || !real.fault || !real.fault->record.truth.took_place()) {
        const results::Case& outcome = simulated.fault ? real.outcome : simulated.outcome;
        compared.why = outcome.reason.empty() ? "the fault never found its moment" : outcome.reason;
        return compared;
    }
    compared.simulated = diagnosis(simulated);
    compared.real = diagnosis(real);
    compared.played_on = fmt::format("{} ranks", real.fault->plan.world_size());
    const auto reason = scenario.parity.find(std::string(reality.name()));
    conclude(compared, reason == scenario.parity.end() ? "" : reason->second);
    return compared;
}

std::set<std::string> simulated_findings(const scenarios::Scenario& written, scenarios::Seed seed,
                                         Runner& sim, Runner& reality, std::int64_t ranks_most,
                                         const scenarios::Vocabulary& vocabulary) {
    const auto scenario = at_most(written, seed, ranks_most, reality.capabilities(), vocabulary);
    if (!scenario) return {};
    LineOptions options;
    options.control = options.healed = false;
    return diagnosis(play(over_the_library_of(reality, *scenario), seed, sim, vocabulary, options));
}

void ParityRate::add(Parity parity) {
    agreed += parity == Parity::agree;
    explained += parity == Parity::explained;
    differed += parity == Parity::differ;
    not_played += parity == Parity::not_played;
}

std::string ParityRate::text(std::string_view backend) const {
    return fmt::format(
        "{} of {} scenarios have the same findings in sim and {} ({} %); of the others {} say why, {} do not",
        agreed, played(), backend, played() > 0 ? agreed * 100 / played() : 0, explained, differed);
}

// Reads and writes lines of JSON, and writes Markdown. A scenario's [parity] sentences are printed below the
// row that needs them.

using results::counted;
using results::reports::Json;
using results::reports::plain_cell;

namespace {

constexpr std::string_view written_by = "<!-- Written by `deadrank parity --table`; not by hand. -->";
constexpr results::reports::PagePlace table_place{"<!-- parity table -->", "<!-- end of the parity table -->",
                                                  written_by};
constexpr results::reports::PagePlace summary_place{"<!-- parity summary -->",
                                                    "<!-- end of the parity summary -->", written_by};

scenarios::Result<Compared> parsed(const std::string& line, const std::filesystem::path& file, int number) {
    const auto bad = [&] {
        return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                 "this is no line of `deadrank parity --json`",
                                 "name a file that such a run wrote", {file.string(), number, 0});
    };
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return bad();
    try {
        Compared one{
            .scenario = json.at("scenario"), .why = json.at("why"), .played_on = json.at("played_on")};
        one.simulated = json.at("simulated").get<std::set<std::string>>();
        one.real = json.at("real").get<std::set<std::string>>();
        const auto word = json.at("parity").get<std::string>();
        for (const Parity each : {Parity::agree, Parity::explained, Parity::differ})
            if (name_of(each) == word) one.parity = each;
        return one;
    } catch (const nlohmann::json::exception&) {
        return bad();
    }
}

// The first quoted part of a reason.
std::string in_quotes(std::string_view why) {
    const std::size_t begin = why.find('\''), end = why.find('\'', begin + 1);
    return begin == std::string_view::npos || end == std::string_view::npos
               ? std::string()
               : std::string(why.substr(begin + 1, end - begin - 1));
}

// "ranks 1, 2" of "collective_mismatch_error (ranks 1, 2)".
std::set<std::string> blamed(const std::set<std::string>& findings) {
    std::set<std::string> ranks;
    for (const std::string& one : findings) ranks.insert(one.substr(one.find('(')));
    return ranks;
}

std::size_t same_ranks(const ParityPage& page) {
    return static_cast<std::size_t>(
        std::count_if(page.compared.begin(), page.compared.end(), [](const Compared& one) {
            const bool differ = one.parity == Parity::explained || one.parity == Parity::differ;
            return differ && blamed(one.simulated) == blamed(one.real);
        }));
}

ParityRate rate_of(const ParityPage& page) {
    ParityRate rate;
    for (const Compared& one : page.compared) rate.add(one.parity);
    return rate;
}

std::string row_of(const Compared& one) {
    const std::string simulated = listed(one.simulated);
    const std::string real = one.simulated == one.real ? "the same" : listed(one.real);
    const std::string why = one.parity == Parity::explained ? ": " + one.why : "";
    return fmt::format("| {} | {} | {} | {}{} |\n", plain_cell(one.scenario), plain_cell(simulated),
                       plain_cell(real), name_of(one.parity), plain_cell(why));
}

}  // namespace

std::string parity_line(const Compared& one) {
    const Json json = {{"scenario", one.scenario},
                       {"parity", name_of(one.parity)},
                       {"simulated", one.simulated},
                       {"real", one.real},
                       {"why", one.why},
                       {"played_on", one.played_on},
                       {"stale", one.stale()}};
    return results::reports::dumped(json);
}

scenarios::Result<std::vector<Compared>> read_parity(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return std::vector<Compared>{};
    const auto text = results::reports::read_text(file);
    if (!text) return tl::unexpected(text.error());
    std::map<std::string, Compared> last;
    std::istringstream in(*text);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (in.eof() && !line.ends_with("}")) break;  // incomplete
        auto one = parsed(line, file, number);
        if (!one) return tl::unexpected(one.error());
        if (one->parity != Parity::not_played || last.count(one->scenario) == 0) last[one->scenario] = *one;
    }
    std::vector<Compared> all;
    for (auto& [id, one] : last) all.push_back(std::move(one));
    return all;
}

std::vector<Reasons> reasons_of(const ParityPage& page) {
    std::map<std::string, Reasons> by_kind;
    const auto add = [&](const Compared& one) {
        Reasons& reasons = by_kind[kind_of_reason(one.why)];
        ++reasons.scenarios;
        const std::string name = in_quotes(one.why);
        if (!name.empty() && std::count(reasons.names.begin(), reasons.names.end(), name) == 0)
            reasons.names.push_back(name);
    };
    for (const Compared& one : page.not_tried) add(one);
    for (const Compared& one : page.compared)
        if (one.parity == Parity::not_played) add(one);
    std::vector<Reasons> all;
    for (auto& [kind, reasons] : by_kind) {
        reasons.kind = kind;
        std::sort(reasons.names.begin(), reasons.names.end());
        all.push_back(std::move(reasons));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.scenarios > b.scenarios; });
    return all;
}

std::string parity_summary(const ParityPage& page) {
    const ParityRate rate = rate_of(page);
    std::string text = fmt::format(
        "{}\nOf {}, {} were played in the simulator and with `--runner {}`, with the same draws: ",
        written_by, counted(page.scenarios(), "scenario"), rate.played(), page.backend);
    text += fmt::format(
        "**{} have the same findings ({} %)**, {} differ and say why, {} differ without a reason; ",
        rate.agreed, rate.played() > 0 ? rate.agreed * 100 / rate.played() : 0, rate.explained,
        rate.differed);
    return text + fmt::format("{} of those that differ name the same ranks. {} cannot be played there.\n",
                              same_ranks(page), page.scenarios() - rate.played());
}

std::string parity_table(const ParityPage& page) {
    std::string text = parity_summary(page);
    text += "\n| scenarios | cannot be played, because | such as |\n|---|---|---|\n";
    for (const Reasons& reasons : reasons_of(page)) {
        text += fmt::format("| {} | {} | {} |\n", reasons.scenarios, plain_cell(reasons.kind),
                            plain_cell(fmt::format("{}", fmt::join(reasons.names, ", "))));
    }
    text += "\n| scenario | found in the simulator | found for real | |\n|---|---|---|---|\n";
    for (const Compared& one : page.compared) {
        if (one.parity != Parity::not_played) text += row_of(one);
    }
    return text;
}

scenarios::Result<void> write_parity_table(const ParityPage& page, const std::filesystem::path& file) {
    return results::reports::write_in_place(parity_table(page), table_place, file);
}

scenarios::Result<void> write_parity_summary(const ParityPage& page, const std::filesystem::path& file) {
    return results::reports::write_in_place(parity_summary(page), summary_place, file);
}

}  // namespace deadrank::runners
