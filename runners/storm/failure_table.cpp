// runners/storm/failure_table.cpp — Reads a CSV of failures; what a row lacks is reported, not guessed.
#include "runners/storm/failure_table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "results/exporters/toml_tree.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

// The character that parts the columns: the one of these that the first line has most of.
char separator_of(const std::string& head) {
    const auto count = [&](char c) { return std::count(head.begin(), head.end(), c); };
    const char other = count('\t') > count(';') ? '\t' : ';';
    return count(other) > count(',') ? other : ',';
}

// The next record. A field in quotes may contain separators, line ends, and quotes written twice; `open`
// tells that its quote is never closed.
std::optional<std::vector<std::string>> next_record(std::istream& in, char separator, int& line_number,
                                                    bool& open) {
    std::string line;
    if (!std::getline(in, line)) return {};
    ++line_number;
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t at = 0;; ++at) {
        if (at == line.size()) {
            open = quoted && !std::getline(in, line);
            if (!quoted || open) return fields;
            ++line_number;
            fields.back() += '\n';
            at = static_cast<std::size_t>(-1);
            continue;
        }
        const char c = line[at];
        if (c == '"' && quoted && at + 1 < line.size() && line[at + 1] == '"')
            fields.back() += line[++at];
        else if (c == '"' && (quoted || fields.back().empty()))
            quoted = !quoted;
        else if (c == separator && !quoted)
            fields.emplace_back();
        else if (c != '\r')
            fields.back() += c;
    }
}

double offset_of(const std::string& zone) {
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-')) return 0;
    const double seconds =
        std::atoi(zone.substr(1, 2).c_str()) * 3600 + std::atoi(zone.substr(4, 2).c_str()) * 60;
    return zone[0] == '-' ? -seconds : seconds;
}

// What may follow a time: a fraction of a second, then Z or an offset (+02:00, +0200, +02), as ISO 8601
// writes them. Seconds east of UTC; `usual` where no offset is written, nothing where something else is.
std::optional<double> offset_behind(const char* rest, double usual) {
    if (*rest == '.' || *rest == ',')
        for (++rest; std::isdigit(static_cast<unsigned char>(*rest));) ++rest;
    std::string text;
    for (; *rest != '\0'; ++rest)
        if (*rest != ' ' && *rest != ':') text += *rest;
    if (text.empty()) return usual;
    if (text == "Z" || text == "UTC") return 0.0;
    const bool digits = std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return isdigit(c); });
    if ((text[0] != '+' && text[0] != '-') || !digits || (text.size() != 3 && text.size() != 5)) return {};
    text.resize(5, '0');
    return offset_of(text.substr(0, 3) + ":" + text.substr(3));
}

class TableReader {
public:
    TableReader(const std::filesystem::path& file, const FailureColumns& columns)
        : file_(file), columns_(columns) {}

    Result<FailureTable> read() {
        std::ifstream in(file_, std::ios::binary);
        std::string head;
        if (!in || !std::getline(in, head))
            return refuse(ErrorCode::io, "cannot read '" + file_.string() + "'");
        in.seekg(head.starts_with("\xef\xbb\xbf") ? 3 : 0);  // a byte order mark
        const char separator = separator_of(head);
        int number = 0;
        bool open = false;
        const auto names = next_record(in, separator, number, open);
        if (auto found = find_columns(*names); !found) return tl::unexpected(found.error());
        for (int first = number + 1; const auto fields = next_record(in, separator, number, open);
             first = number + 1) {
            if (open)
                return refuse(ErrorCode::bad_input, "a quote is opened and never closed", "close it",
                              {file_.string(), first, 0});
            row(*fields, first);
        }
        if (table_.failures.size() < unread_ || table_.failures.empty()) {
            return refuse(ErrorCode::bad_input,
                          fmt::format("{} of {} rows have no time of the form '{}'", unread_,
                                      unread_ + table_.failures.size(), columns_.format),
                          "say format = \"…\" in the columns file: as strptime has it, or unix, or unix_ms",
                          {file_.string(), first_unread_, 0});
        }
        finish();
        return std::move(table_);
    }

private:
    Result<void> find_columns(const std::vector<std::string>& head) {
        for (const auto& [name, at] :
             {std::pair{&columns_.time, &time_}, std::pair{&columns_.place, &place_},
              std::pair{&columns_.group, &group_}, std::pair{&columns_.cause, &cause_},
              std::pair{&columns_.repaired, &repaired_}}) {
            if (name->empty()) continue;
            const auto found = std::find(head.begin(), head.end(), *name);
            if (found == head.end()) {
                const std::string near = scenarios::nearest(*name, head);
                return refuse(ErrorCode::bad_input,
                              fmt::format("'{}' has no column '{}'", file_.string(), *name),
                              near.empty() ? fmt::format("it has {}", fmt::join(head, ", "))
                                           : "did you mean '" + near + "'?",
                              {file_.string(), 1, 0});
            }
            *at = static_cast<int>(found - head.begin());
        }
        return {};
    }

    std::string field(const std::vector<std::string>& fields, int at) const {
        return at >= 0 && static_cast<std::size_t>(at) < fields.size() ? fields[static_cast<std::size_t>(at)]
                                                                       : "";
    }

    double time_of(const std::string& text) const {
        if (columns_.format == "unix" || columns_.format == "unix_ms") {
            char* rest = nullptr;
            const double time = std::strtod(text.c_str(), &rest);
            const bool number = rest != text.c_str() && *rest == '\0' && std::isfinite(time);
            return !number ? -1 : columns_.format == "unix" ? time : time / 1000;
        }
        std::tm parts{};
        const char* rest = strptime(text.c_str(), columns_.format.c_str(), &parts);
        if (text.empty() || rest == nullptr) return -1;
        const bool said = columns_.format.find("%z") != std::string::npos;
        const auto east = offset_behind(rest, said ? static_cast<double>(parts.tm_gmtoff) : columns_.zone);
        return east ? static_cast<double>(timegm(&parts)) - *east : -1;
    }

    void row(const std::vector<std::string>& fields, int number) {
        if (fields.size() == 1 && fields[0].empty()) return;
        MachineFailure failure{.at = time_of(field(fields, time_)),
                               .repaired = time_of(field(fields, repaired_)),
                               .place = field(fields, place_),
                               .group = field(fields, group_),
                               .cause = field(fields, cause_)};
        if (failure.at < 0) {
            if (unread_++ == 0) first_unread_ = number;
            return;
        }
        if (columns_.group.size() && columns_.place.size())
            failure.place = failure.group + "/" + failure.place;
        table_.failures.push_back(std::move(failure));
    }

    void finish() {
        auto& all = table_.failures;
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
        table_.places = columns_.places;
        std::size_t backwards = 0, overlaps = 0;
        std::map<std::string, double> busy;  // place → end of its last repair
        for (MachineFailure& one : all) {
            if (one.repaired >= 0 && one.repaired < one.at) ++backwards, one.repaired = -1;
            if (const auto at = busy.find(one.place); at != busy.end() && at->second > one.at) ++overlaps;
            if (one.repaired >= 0) busy[one.place] = std::max(busy[one.place], one.repaired);
        }
        if (unread_ > 0)
            table_.notes.push_back(
                fmt::format("{} rows without a time of the form '{}' were left out, the first in line {}",
                            unread_, columns_.format, first_unread_));
        if (backwards > 0)
            table_.notes.push_back(
                fmt::format("{} rows were repaired before they failed: their repair is not used", backwards));
        if (overlaps > 0)
            table_.notes.push_back(fmt::format(
                "{} failures strike a place that is still under repair: they count as they stand", overlaps));
        double longest = 0, from = 0;
        for (std::size_t i = 1; i < all.size(); ++i) {
            if (all[i].at - all[i - 1].at > longest)
                longest = all[i].at - all[i - 1].at, from = all[i - 1].at;
        }
        if (longest > 60 * 86400.0) {
            const std::time_t when = static_cast<std::time_t>(from);
            char day[16];
            std::strftime(day, sizeof day, "%Y-%m-%d", gmtime(&when));
            table_.notes.push_back(fmt::format(
                "nothing is told of the {:.0f} days from {} on: was it recorded?", longest / 86400, day));
        }
    }

    const std::filesystem::path& file_;
    const FailureColumns& columns_;
    FailureTable table_;
    int time_ = -1, place_ = -1, group_ = -1, cause_ = -1, repaired_ = -1;
    std::size_t unread_ = 0;
    int first_unread_ = 0;
};

}  // namespace

Result<FailureColumns> load_failure_columns(const std::filesystem::path& file) {
    auto tree = results::exporters::read_toml(file);
    if (!tree) return tl::unexpected(tree.error());
    static const std::vector<std::string> keys = {"time",     "place",  "group", "cause",
                                                  "repaired", "format", "zone",  "places"};
    if (auto checked = results::exporters::check_members(*tree, keys, file.string()); !checked)
        return tl::unexpected(checked.error());
    FailureColumns columns{.time = (*tree)["time"].text_or(),
                           .place = (*tree)["place"].text_or(),
                           .group = (*tree)["group"].text_or(),
                           .cause = (*tree)["cause"].text_or(),
                           .repaired = (*tree)["repaired"].text_or()};
    columns.format = (*tree)["format"].text_or(columns.format);
    columns.places = (*tree)["places"].number_or(0);
    const std::string zone = (*tree)["zone"].text_or("UTC");
    columns.zone = offset_of(zone);
    if (columns.time.empty())
        return refuse(ErrorCode::bad_input, "the columns file names no time",
                      "write time = \"name of the column\"", {file.string(), 1, 0});
    if (zone != "UTC" && (zone.size() != 6 || zone[3] != ':'))
        return refuse(ErrorCode::bad_input, "unknown zone '" + zone + "'",
                      "write UTC or an offset such as -07:00", {file.string(), (*tree)["zone"].line, 0});
    return columns;
}

Result<FailureTable> read_failures(const std::filesystem::path& csv, const FailureColumns& columns) {
    return TableReader(csv, columns).read();
}

}  // namespace deadrank::runners
