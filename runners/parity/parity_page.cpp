// runners/parity/parity_page.cpp — What parity found as lines of JSON to and fro, and as a page in Markdown:
// the counts by seed, and a row a scenario.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/resilience_table.h"
#include "runners/parity/parity.h"
#include "scenarios/model/document.h"

namespace deadrank::runners {

using results::counted;
using results::reports::Json;
using results::reports::plain_cell;

namespace {

constexpr std::string_view written_by = "<!-- Written by `deadrank report parity --table`; not by hand. -->";
constexpr results::reports::PagePlace table_place{"<!-- parity table -->", "<!-- end of the parity table -->",
                                                  written_by};
constexpr results::reports::PagePlace summary_place{"<!-- parity summary -->",
                                                    "<!-- end of the parity summary -->", written_by};

scenarios::Result<Compared> parsed(const std::string& line, const std::filesystem::path& file, int number,
                                   std::uint64_t unsaid) {
    const auto bad = [&] {
        return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                 "this is no line of `deadrank report parity --json`",
                                 "name a file that such a run wrote", {file.string(), number, 0});
    };
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return bad();
    try {
        Compared one{
            .scenario = json.at("scenario"), .why = json.at("why"), .played_on = json.at("played_on")};
        one.seed = json.value("seed", unsaid);
        one.as_expected = json.value("as_expected", false);
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

// What stands in quotes in a reason.
std::string in_quotes(std::string_view why) {
    const std::size_t begin = why.find('\''), end = why.find('\'', begin + 1);
    return begin == std::string_view::npos || end == std::string_view::npos
               ? std::string()
               : std::string(why.substr(begin + 1, end - begin - 1));
}

bool agrees(const Compared* one) { return one->parity == Parity::agree; }
bool was_played(const Compared* one) { return one->parity != Parity::not_played; }

// A row of a scenario: the findings of the first seed under which it differs, or of the first.
std::string row_of(const ParityPage& page, std::vector<const Compared*> seeds) {
    std::erase_if(seeds, [](const Compared* one) { return !was_played(one); });
    if (seeds.empty()) return "";
    const auto apart = std::find_if_not(seeds.begin(), seeds.end(), agrees);
    const Compared& shown = apart == seeds.end() ? *seeds.front() : **apart;
    std::vector<std::uint64_t> differ;
    for (const Compared* one : seeds)
        if (!agrees(one)) differ.push_back(one->seed);
    std::string last(name_of(shown.parity));
    if (shown.on_nothing())
        last += " on nothing";
    else if (agrees(&shown) && !shown.as_expected)
        last += ", and not as the scenario expects";
    if (!differ.empty() && seeds.size() > 1) last += fmt::format(" under seed {}", fmt::join(differ, ", "));
    if (shown.parity == Parity::explained) last += ": " + shown.why;
    const bool held = page.held_out && is_held_out(*page.held_out, shown.scenario);
    return fmt::format("| {}{} | {} | {} | {} of {} | {} |\n", plain_cell(shown.scenario), held ? " ◦" : "",
                       plain_cell(listed(shown.simulated)),
                       shown.simulated == shown.real ? "the same" : plain_cell(listed(shown.real)),
                       seeds.size() - differ.size(), seeds.size(), plain_cell(last));
}

// Rows of the head: a number for each seed with its share of what was played, and the least and most share.
class HeadRows {
public:
    using Rates = std::map<std::uint64_t, ParityRate>;
    using Count = std::size_t (*)(const ParityRate&);

    explicit HeadRows(const Rates& rates) : rates_(&rates) {
        text_ = "\n| |";
        std::string rule = "|---|";
        for (const auto& [seed, rate] : rates) {
            text_ += fmt::format(" seed {} |", seed);
            rule += "---|";
        }
        text_ += " least | most |\n" + rule + "---|---|\n";
    }

    void of(const Rates& rates) { rates_ = &rates; }

    void number(std::string_view name, Count count) {
        text_ += fmt::format("| {} |", name);
        for (const auto& [seed, rate] : *rates_) text_ += fmt::format(" {} |", count(rate));
        text_ += " | |\n";
    }

    void share(std::string_view name, Count count) {
        std::size_t least = 100, most = 0;
        text_ += fmt::format("| {} |", name);
        for (const auto& [seed, rate] : *rates_) {
            const std::size_t percent = rate.played() > 0 ? count(rate) * 100 / rate.played() : 0;
            least = std::min(least, percent);
            most = std::max(most, percent);
            text_ += fmt::format(" {} ({} %) |", count(rate), percent);
        }
        text_ += fmt::format(" {} % | {} % |\n", least, most);
    }

    const std::string& text() const { return text_; }

private:
    const Rates* rates_;
    std::string text_;
};

std::string head_rows(const ParityPage& page) {
    const auto all = page.by_seed(), held = page.by_seed(true);
    if (all.empty()) return "";
    const auto played = [](const ParityRate& rate) { return rate.played(); };
    const auto agreed = [](const ParityRate& rate) { return rate.agreed; };
    HeadRows rows(all);
    rows.number("played by both", played);
    rows.share("the same findings", agreed);
    rows.share("… which the scenario expects", [](const ParityRate& rate) { return rate.as_expected; });
    rows.share("… which are something else",
               [](const ParityRate& rate) { return rate.agreed - rate.as_expected - rate.on_nothing; });
    rows.share("… nothing, on both sides", [](const ParityRate& rate) { return rate.on_nothing; });
    rows.share("differ, and the scenario says why", [](const ParityRate& rate) { return rate.explained; });
    rows.share("differ without a reason", [](const ParityRate& rate) { return rate.differed; });
    if (held.size() == all.size()) {
        rows.of(held);
        rows.number("kept out of tuning ◦: played by both", played);
        rows.share("kept out of tuning ◦: the same findings", agreed);
    }
    return rows.text();
}

// How many scenarios agree under every seed that they were played under.
std::string over_seeds(const ParityPage& page) {
    std::size_t every = 0, some = 0, none = 0;
    for (const auto& [scenario, seeds] : page.by_scenario()) {
        const auto played = std::count_if(seeds.begin(), seeds.end(), was_played);
        const auto agree = std::count_if(seeds.begin(), seeds.end(), agrees);
        if (played == 0) continue;
        ++(agree == played ? every : agree > 0 ? some : none);
    }
    return fmt::format("{} agree under every seed, {} under some, {} under none", every, some, none);
}

}  // namespace

std::string parity_line(const Compared& one) {
    const Json json = {{"scenario", one.scenario},
                       {"parity", name_of(one.parity)},
                       {"simulated", one.simulated},
                       {"real", one.real},
                       {"why", one.why},
                       {"played_on", one.played_on},
                       {"seed", one.seed},
                       {"as_expected", one.as_expected},
                       {"stale", one.stale()}};
    return results::reports::dumped(json);
}

scenarios::Result<std::vector<Compared>> read_parity(const std::filesystem::path& file,
                                                     std::uint64_t unsaid) {
    if (!std::filesystem::exists(file)) return std::vector<Compared>{};
    const auto text = scenarios::read_text(file);
    if (!text) return tl::unexpected(text.error());
    std::map<std::pair<std::string, std::uint64_t>, Compared> last;
    std::istringstream in(*text);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (in.eof() && !line.ends_with("}")) break;  // torn
        auto one = parsed(line, file, number, unsaid);
        if (!one) return tl::unexpected(one.error());
        const std::pair key(one->scenario, one->seed);
        if (one->parity != Parity::not_played || last.count(key) == 0) last[key] = *one;
    }
    std::vector<Compared> all;
    for (auto& [key, one] : last) all.push_back(std::move(one));
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
    for (const auto& [scenario, seeds] : page.by_scenario())
        if (std::none_of(seeds.begin(), seeds.end(), was_played)) add(*seeds.front());
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
    const auto by_scenario = page.by_scenario();
    const auto played =
        static_cast<std::size_t>(std::count_if(by_scenario.begin(), by_scenario.end(), [](const auto& one) {
            return std::any_of(one.second.begin(), one.second.end(), was_played);
        }));
    const auto by_seed = page.by_seed();
    std::string text = fmt::format(
        "{}\nOf {}, {} were played in the simulator and with `--runner {}`, with the same draws. ",
        written_by, counted(page.scenarios(), "scenario"), played, page.backend);
    if (page.backend == scenarios::BackendId::local)
        text += "The simulator plays its gloo model there, not its NCCL. ";
    text += fmt::format("**The same findings in {}**", spread_text(by_seed));
    text += by_seed.size() > 1 ? fmt::format(", by seed; {}. ", over_seeds(page)) : ". ";
    text += fmt::format("{} cannot be played there.", page.scenarios() - played);
    if (page.held_out)
        text += fmt::format(" A quarter, drawn by the number {}, is kept out of tuning (◦).", *page.held_out);
    return text + "\n" + head_rows(page);
}

std::string parity_table(const ParityPage& page) {
    std::string text = parity_summary(page);
    text += "\n| scenarios | cannot be played, because | such as |\n|---|---|---|\n";
    for (const Reasons& reasons : reasons_of(page)) {
        text += fmt::format("| {} | {} | {} |\n", reasons.scenarios, plain_cell(reasons.kind),
                            plain_cell(fmt::format("{}", fmt::join(reasons.names, ", "))));
    }
    text +=
        "\n| scenario | found in the simulator | found for real | seeds that agree | "
        "|\n|---|---|---|---|---|\n";
    for (const auto& [scenario, seeds] : page.by_scenario()) text += row_of(page, seeds);
    return text;
}

scenarios::Result<void> write_parity_table(const ParityPage& page, const std::filesystem::path& file) {
    return results::reports::write_in_place(parity_table(page), table_place, file);
}

scenarios::Result<void> write_parity_summary(const ParityPage& page, const std::filesystem::path& file) {
    return results::reports::write_in_place(parity_summary(page), summary_place, file);
}

}  // namespace deadrank::runners
