// results/record/evidence.cpp — The events of one run, in memory and as a file.
#include "results/record/evidence.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "results/record/believed_ranks.h"
#include "scenarios/model/document.h"

namespace deadrank::results {

// ── Keeps events and texts. The table of texts is looked up by content and never iterated.

std::string_view kind_name(const Event& event) {
    return std::visit([](const auto& payload) { return std::decay_t<decltype(payload)>::kind; }, event.what);
}

namespace {

constexpr std::size_t first_room = 4096;  // events of a small job

template <class Word>
std::uint64_t word_at(std::string_view words, std::size_t place) {
    Word word = 0;
    std::memcpy(&word, words.data() + place, sizeof word);
    return word;
}

std::uint64_t less_than_a_word(std::string_view words) {
    const std::size_t size = words.size();
    if (size >= 4) return word_at<std::uint32_t>(words, 0) | word_at<std::uint32_t>(words, size - 4) << 32;
    std::uint64_t letters = 0;
    for (const char letter : words) letters = letters << 8 | static_cast<unsigned char>(letter);
    return letters;
}

// A word at a time. It finds texts within one process and is never written down.
std::size_t hash_of(std::string_view words) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;
    constexpr std::size_t word = sizeof(std::uint64_t);
    std::uint64_t hash = words.size();
    const auto take = [&](std::uint64_t letters) {
        hash = (hash ^ letters) * odd;
        hash ^= hash >> 32;
    };
    if (words.size() < word) return take(less_than_a_word(words)), hash;
    for (std::size_t at = 0; at + word < words.size(); at += word) take(word_at<std::uint64_t>(words, at));
    take(word_at<std::uint64_t>(words, words.size() - word));
    return hash;
}

}  // namespace

Texts::Texts() : kept_(std::make_unique<Kept>()) { keep(""); }

// Where this text is, or the vacant place where it belongs.
std::size_t Texts::place_of(std::string_view words, std::size_t hash) const {
    const std::vector<Slot>& slots = kept_->slots;
    const std::size_t mask = slots.size() - 1;
    std::size_t place = hash & mask;
    const auto other = [&](const Slot& slot) {
        return slot.id != vacant && (slot.hash != hash || (*this)[slot.id] != words);
    };
    while (other(slots[place])) place = (place + 1) & mask;
    return place;
}

void Texts::grow() {
    const std::vector<Slot> before = std::exchange(kept_->slots, std::vector<Slot>(2 * kept_->slots.size()));
    const std::size_t mask = kept_->slots.size() - 1;
    for (const Slot& slot : before) {
        if (slot.id == vacant) continue;
        std::size_t place = slot.hash & mask;
        while (kept_->slots[place].id != vacant) place = (place + 1) & mask;
        kept_->slots[place] = slot;
    }
}

TextId Texts::keep(std::string_view words) {
    const std::size_t hash = hash_of(words);
    std::size_t place = place_of(words, hash);
    if (const TextId known = kept_->slots[place].id; known != vacant) return known;
    if (2 * (size() + 1) > kept_->slots.size()) {
        grow();
        place = place_of(words, hash);
    }
    auto* own = static_cast<char*>(kept_->memory.allocate(words.size(), 1));
    std::memcpy(own, words.data(), words.size());
    const auto id = static_cast<TextId>(size());
    kept_->texts.emplace_back(own, words.size());
    kept_->slots[place] = {hash, id};
    return id;
}

std::string_view Texts::operator[](TextId id) const { return kept_->texts[static_cast<std::size_t>(id)]; }

void Evidence::record(const Event& event) {
    if (!keep_) return;
    facts_.clear();
    if (events_.capacity() == 0) events_.reserve(first_room);
    events_.push_back(event);
}

void Evidence::finish(Time observed_until) {
    const auto earlier = [](const Event& a, const Event& b) { return a.at < b.at; };
    if (!std::is_sorted(events_.begin(), events_.end(), earlier)) {
        std::stable_sort(events_.begin(), events_.end(), earlier);
    }
    filed_ = 0;
    facts_.clear();
    observed_until_ = events_.empty() ? observed_until : std::max(observed_until, events_.back().at);
}

const Evidence::Kinds& Evidence::kinds() const {
    if (filed_ == events_.size()) return kinds_;
    for (auto& kind : kinds_) kind.clear();
    for (const Event& event : events_) kinds_[event.what.index()].push_back(&event);
    filed_ = events_.size();
    return kinds_;
}

std::int32_t Evidence::world_size() const {
    if (const auto starts = each<JobStart>(); !starts.empty())
        return starts.front()->as<JobStart>()->world_size;
    Rank highest = no_rank;
    for (const Event& event : events_) {
        highest = std::max(highest, event.rank);
    }
    return highest + 1;
}

// ── Evidence as JSON lines. Payloads list their own fields, so a new kind needs no line here. NaN and
// infinities are strings ("nan", "inf", "-inf"), since JSON has no numbers for them.

namespace {

using Json = nlohmann::json;
using scenarios::ErrorCode;

constexpr std::string_view format_name = "evidence";

std::string quoted(std::string_view words) {
    return Json(words).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string written(double value) {
    if (std::isnan(value)) return "\"nan\"";
    if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
    return fmt::format("{}", value);
}

// Appends one field after the other to the line.
struct FieldWriter {
    const Evidence& evidence;
    std::string& line;

    template <class Field>
    void operator()(std::string_view name, const Field& value) const {
        line += fmt::format(",\"{}\":", name);
        if constexpr (std::is_same_v<Field, TextId>)
            line += quoted(evidence.text(value));
        else if constexpr (std::is_enum_v<Field>)
            line += fmt::format("\"{}\"", name_of(value));
        else if constexpr (std::is_floating_point_v<Field>)
            line += written(value);
        else
            line += fmt::format("{}", value);
    }
};

void assign(const Json& json, Op& field) { field = op_named(json.get_ref<const std::string&>()); }
void assign(const Json& json, Dtype& field) { field = dtype_named(json.get_ref<const std::string&>()); }
void assign(const Json& json, ReduceOp& field) {
    field = reduce_op_named(json.get_ref<const std::string&>());
}
void assign(const Json& json, Phase& field) { field = phase_named(json.get_ref<const std::string&>()); }
void assign(const Json& json, Code& field) { field = code_named(json.get_ref<const std::string&>()); }

void assign(const Json& json, double& field) {
    if (!json.is_string()) {
        field = json.get<double>();
        return;
    }
    const std::string& words = json.get_ref<const std::string&>();
    const double infinity = std::numeric_limits<double>::infinity();
    field = words == "inf" ? infinity : words == "-inf" ? -infinity : std::nan("");
}

// An absent field keeps its payload's default, so that older evidence still reads.
struct FieldReader {
    Evidence& evidence;
    const Json& object;

    template <class Field>
    void operator()(std::string_view name, Field& field) const {
        const auto found = object.find(name);
        if (found == object.end()) return;
        if constexpr (std::is_same_v<Field, TextId>)
            field = evidence.text(found->get_ref<const std::string&>());
        else if constexpr (std::is_integral_v<Field>)
            field = found->get<Field>();
        else
            assign(*found, field);
    }
};

template <std::size_t index = 0>
std::optional<Payload> payload_of(std::string_view kind, const FieldReader& reader) {
    if constexpr (index < std::variant_size_v<Payload>) {
        using P = std::variant_alternative_t<index, Payload>;
        if (P::kind != kind) return payload_of<index + 1>(kind, reader);
        P payload;
        P::fields(payload, reader);
        return payload;
    }
    return std::nullopt;
}

class Reading {
public:
    explicit Reading(std::string file) : file_(std::move(file)) {}

    scenarios::Result<void> head(const std::string& line);
    scenarios::Result<void> next(const std::string& line, bool torn);
    scenarios::Result<Evidence> done();

private:
    tl::unexpected<scenarios::Error> refuse(std::string what, std::string remedy) const {
        return scenarios::refuse(ErrorCode::bad_input, std::move(what), std::move(remedy),
                                 {file_, number_, 1});
    }
    scenarios::Result<void> take(const Json& object);
    void note_ranks(std::int64_t ranks) {
        if (ranks <= ranks_) return;
        ranks_ = ranks;
        ranks_line_ = number_;
    }

    std::string file_;
    int number_ = 0;
    Evidence evidence_;
    Time observed_until_{0};
    std::int64_t ranks_ = 0;               // at least
    int ranks_line_ = 0;                   // where that is said
    std::uint64_t came_ = 0;               // events
    std::optional<std::uint64_t> stated_;  // how many there are, by the first line
    std::map<std::string, int> unknown_;
};

scenarios::Result<void> Reading::head(const std::string& line) {
    number_ = 1;
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("deadrank") || object["deadrank"] != format_name) {
        return refuse("this is not an evidence file: its first line does not name the format",
                      R"(begin it with {"deadrank":"evidence","version":1})");
    }
    const Json version = object.value("version", Json());
    if (!version.is_number_integer() || version.get<int>() > evidence_version || version.get<int>() < 1) {
        return refuse(fmt::format("evidence of version {} cannot be read", version.dump()),
                      fmt::format("this program reads versions 1 to {}", evidence_version));
    }
    const Json until = object.value("observed_until", Json(0));
    if (!until.is_number_integer()) {
        return refuse(fmt::format("observed_until is {}, not a whole number", until.dump()),
                      "give nanoseconds");
    }
    observed_until_ = Time{until.get<std::int64_t>()};
    if (observed_until_ < Time{0})
        return refuse("observed_until is before the job's start", "give nanoseconds");
    if (const Json events = object.value("events", Json()); events.is_number_unsigned())
        stated_ = events.get<std::uint64_t>();
    return {};
}

scenarios::Result<void> Reading::next(const std::string& line, bool torn) {
    ++number_;
    if (line.empty()) return {};
    const Json object = Json::parse(line, nullptr, false);
    if (object.is_object()) {
        ++came_;
        return take(object);
    }
    if (!torn) return refuse("this line is not a JSON object", "repair or remove the line");
    evidence_.note(fmt::format("{}:{}: the last line is incomplete and was skipped", file_, number_));
    return {};
}

scenarios::Result<void> Reading::take(const Json& object) {
    try {
        const std::string kind = object.at("kind").get<std::string>();
        auto payload = payload_of(kind, FieldReader{evidence_, object});
        if (!payload) {
            ++unknown_[kind];
            return {};
        }
        const auto rank = object.value("rank", std::int64_t{no_rank});
        if (rank < no_rank || rank >= most_ranks) {
            return refuse(fmt::format("{} is no number of a rank", rank),
                          fmt::format("a job has at most {} ranks", most_ranks));
        }
        const Time at{object.at("t").get<std::int64_t>()};
        if (at < Time{0}) return refuse("the event is before the job's start", "give nanoseconds since then");
        const auto* start = std::get_if<JobStart>(&*payload);
        if (start && start->world_size < 0)
            return refuse(fmt::format("a job of {} ranks", start->world_size),
                          "give the number of its ranks");
        note_ranks(rank + 1);
        if (start) note_ranks(start->world_size);
        evidence_.record({at, static_cast<Rank>(rank), *payload});
    } catch (const Json::exception& problem) {
        const std::string_view said = problem.what();  // "[json.exception.type_error.302] type must be …"
        return refuse(fmt::format("this event cannot be read: {}",
                                  said.substr(std::min(said.find("] "), said.size() - 2) + 2)),
                      "an event has t (nanoseconds), rank, kind, and the fields of that kind");
    }
    return {};
}

// A file that lost its end tells of a job in which nothing happened after it.
scenarios::Result<Evidence> Reading::done() {
    if (stated_ && *stated_ != came_)
        return refuse(
            fmt::format("{} of its {} events are there: the file was cut or changed", came_, *stated_),
            R"(copy it again, or take "events" out of its first line)");
    if (const std::int64_t events = std::ssize(evidence_.events()); ranks_ > ranks_believed(events)) {
        number_ = ranks_line_;
        return refuse(
            fmt::format("this line implies {} ranks; the {} events of the file are too few for that", ranks_,
                        events),
            "give the whole evidence, or correct the rank");
    }
    for (const auto& [kind, count] : unknown_) {
        evidence_.note(fmt::format("{}: {} event{} of the unknown kind '{}' left out", file_, count,
                                   count == 1 ? "" : "s", kind));
    }
    evidence_.finish(observed_until_);
    return scenarios::Result<Evidence>(std::move(evidence_));
}

}  // namespace

std::string to_json_line(const Evidence& evidence, const Event& event) {
    std::string line =
        fmt::format(R"({{"t":{},"rank":{},"kind":"{}")", event.at.count(), event.rank, kind_name(event));
    std::visit(
        [&](const auto& payload) {
            std::decay_t<decltype(payload)>::fields(payload, FieldWriter{evidence, line});
        },
        event.what);
    line += "}";
    return line;
}

bool same_events(const Evidence& one, const Evidence& other) {
    const auto same_head = [](const Event& a, const Event& b) {
        return a.at == b.at && a.rank == b.rank && a.what.index() == b.what.index();
    };
    const auto same_line = [&](const Event& a, const Event& b) {
        return to_json_line(one, a) == to_json_line(other, b);
    };
    return std::equal(one.events().begin(), one.events().end(), other.events().begin(), other.events().end(),
                      same_head) &&
           std::equal(one.events().begin(), one.events().end(), other.events().begin(), same_line);
}

scenarios::Result<void> write_evidence(const Evidence& evidence, const std::filesystem::path& file) {
    std::ofstream out(file, std::ios::binary);
    out << fmt::format(R"({{"deadrank":"{}","version":{},"observed_until":{},"events":{}}})", format_name,
                       evidence_version, evidence.observed_until().count(), evidence.events().size())
        << '\n';
    for (const Event& event : evidence.events()) out << to_json_line(evidence, event) << '\n';
    out.flush();
    if (out) return {};
    return scenarios::refuse(ErrorCode::io, "the evidence could not be written",
                             "make the directory writable and leave room on the disk", {file.string()});
}

scenarios::Result<Evidence> read_evidence(const std::filesystem::path& file) {
    std::error_code none;
    if (!std::filesystem::exists(file, none))
        return scenarios::refuse(ErrorCode::io, "there is no such file", "name one that exists",
                                 {file.string()});
    if (std::filesystem::is_character_file(file, none) || std::filesystem::is_block_file(file, none))
        return scenarios::refuse(ErrorCode::io, "it is a device, not evidence", "name a file",
                                 {file.string()});
    auto in = scenarios::open_input(file);
    if (!in) return tl::unexpected(in.error());
    std::string line;
    if (!std::getline(*in, line)) {
        return scenarios::refuse(ErrorCode::io, "there is no evidence to read here",
                                 "name a file of JSON lines, as a run writes it", {file.string()});
    }
    Reading reading(file.string());
    if (auto head = reading.head(line); !head) return tl::unexpected(head.error());
    while (std::getline(*in, line)) {
        if (auto taken = reading.next(line, in->eof()); !taken) return tl::unexpected(taken.error());
    }
    return reading.done();
}

}  // namespace deadrank::results
