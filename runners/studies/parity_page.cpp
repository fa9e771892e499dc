// runners/studies/parity_page.cpp — Lines of JSON to and fro, and Markdown. The sentences of a scenario's
// [parity] stand below the row that needs them.
#include "runners/studies/parity_page.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "results/reports/json_files.h"
#include "results/reports/resilience_table.h"
#include "results/text/text_file.h"
#include "results/text/words.h"

namespace deadrank::runners {

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

// What stands in quotes in a reason.
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
        if (in.eof() && !line.ends_with("}")) break;  // torn
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
