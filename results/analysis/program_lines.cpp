// results/analysis/program_lines.cpp — Where in the user's own program a rank waited or failed.
#include "results/analysis/program_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "results/analysis/error_quote.h"
#include "results/analysis/findings.h"

namespace deadrank::results::analysis {

namespace {

constexpr std::size_t source_max = 80;
constexpr std::size_t parties_max = 3;
constexpr Time end_of_stack{1'000'000'000};  // a stack's lines follow each other at once

// "[rank3]: " is torch's, before each line of a traceback.
std::string_view without_rank(std::string_view line) {
    if (!line.starts_with("[rank")) return line;
    const std::size_t end = line.find("]: ");
    return end == std::string_view::npos || end > 16 ? line : line.substr(end + 3);
}

std::string_view trimmed_line(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    const std::size_t end = line.find_last_not_of(" \t\r");
    return line.substr(begin, end - begin + 1);
}

// Reads the log of one rank line by line.
class StackReader {
public:
    explicit StackReader(std::vector<ProgramLine>& found) : found_(found) {}

    void read(Time at, std::string_view raw) {
        const std::string_view line = without_rank(raw);
        const bool is_stack = line.find("hread") != std::string_view::npos;
        if (line.ends_with("(most recent call last):") &&
            (is_stack || line.find("Traceback") != std::string_view::npos)) {
            finish();
            open_ = true;
            frame_ = {.at = at, .waits = is_stack, .file = {}, .source = {}};
            return;
        }
        if (!open_) return;
        if (at - frame_.at > end_of_stack || (!line.empty() && line.front() != ' ')) return finish();
        const std::string_view words = trimmed_line(line);
        if (const auto frame = read_frame(words)) {
            expects_source_ = is_program_file(frame->file);
            if (!expects_source_) return;
            frame_.file = frame->file;
            frame_.number = frame->number;
            frame_.source.clear();
        } else if (std::exchange(expects_source_, false)) {
            frame_.source = words;
        }
    }

    void finish() {
        if (open_ && frame_.number > 0) found_.push_back(frame_);
        open_ = expects_source_ = false;
    }

private:
    std::vector<ProgramLine>& found_;
    ProgramLine frame_;
    bool open_ = false, expects_source_ = false;
};

}  // namespace

std::optional<StackFrame> read_frame(std::string_view line) {
    constexpr std::string_view head = "File \"", middle = "\", line ";
    if (!line.starts_with(head)) return std::nullopt;
    const std::size_t end = line.find(middle);
    if (end == std::string_view::npos) return std::nullopt;
    int number = 0;
    const std::string_view rest = line.substr(end + middle.size());
    if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec != std::errc{})
        return std::nullopt;
    return StackFrame{line.substr(head.size(), end - head.size()), number};
}

bool is_program_file(std::string_view file) {
    // Programs that an environment installs are in its bin; /opt holds what an image installs.
    constexpr std::string_view foreign[] = {"/managed/python/deadrank/",
                                            "site-packages/",
                                            "dist-packages/",
                                            "<",
                                            "/lib/python",
                                            "/deadrank_hook/",
                                            "/bin/",
                                            "/opt/conda/",
                                            "/opt/pytorch/",
                                            "/opt/venv/",
                                            "/opt/NeMo/",
                                            "/opt/megatron-lm/",
                                            "/opt/rocm",
                                            "/usr/lib",
                                            "/torch/",
                                            "/deepspeed/",
                                            "/megatron/",
                                            "/transformers/",
                                            "/accelerate/",
                                            "/lightning/",
                                            "/pytorch_lightning/",
                                            "/vllm/",
                                            "/sglang/",
                                            "/verl/",
                                            "/nemo/",
                                            "/fairseq/",
                                            "/colossalai/",
                                            "/horovod/",
                                            "/jax/",
                                            "/ray/"};
    return std::none_of(std::begin(foreign), std::end(foreign),
                        [&](std::string_view part) { return file.find(part) != std::string_view::npos; });
}

std::string ProgramLine::text() const {
    const std::string name = file.substr(file.rfind('/') + 1);
    return fmt::format("{}:{}{}{}", name, number, source.empty() ? "" : " ",
                       shorten_text(source, source_max));
}

void visit_log_lines(const Evidence& evidence, std::string_view words, const LogVisitor& visit) {
    std::set<Rank> begun;
    for (const Event* event : evidence.each<RankLog>()) {
        if (event->rank < 0) continue;
        std::string_view text = evidence.text(event->as<RankLog>()->line);
        if (!begun.contains(event->rank)) {
            if (text.find(words) == std::string_view::npos) continue;
            begun.insert(event->rank);
        }
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            visit(event->rank, event->at, text.substr(0, end));
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        }
    }
}

ProgramLines::ProgramLines(const Evidence& evidence) {
    std::map<Rank, StackReader> readers;
    visit_log_lines(evidence, "most recent call last", [&](Rank rank, Time at, std::string_view line) {
        readers.try_emplace(rank, lines_[rank]).first->second.read(at, line);
    });
    for (auto& [rank, reader] : readers) reader.finish();
    std::erase_if(lines_, [](const auto& entry) { return entry.second.empty(); });
}

const ProgramLine* ProgramLines::find(Rank rank, Time at) const {
    const auto found = lines_.find(rank);
    if (found == lines_.end()) return nullptr;
    const auto after = std::find_if(found->second.begin(), found->second.end(),
                                    [&](const ProgramLine& line) { return line.at > at; });
    return after == found->second.begin() ? &*after : &*std::prev(after);
}

std::string describe_lines(const ProgramLines& lines, const std::vector<Rank>& blamed, Time at) {
    struct Party {
        bool is_blamed;
        bool waits;
        std::string text;
        std::vector<Rank> ranks;
    };
    std::vector<Party> parties;
    for (const auto& [rank, all] : lines.all()) {
        const ProgramLine& line = *lines.find(rank, at);
        const bool is_blamed = std::find(blamed.begin(), blamed.end(), rank) != blamed.end();
        const std::string text = line.text();
        const auto same = std::find_if(parties.begin(), parties.end(), [&](const Party& party) {
            return party.is_blamed == is_blamed && party.waits == line.waits && party.text == text;
        });
        if (same == parties.end())
            parties.push_back({is_blamed, line.waits, text, {rank}});
        else
            same->ranks.push_back(rank);
    }
    std::stable_sort(parties.begin(), parties.end(), [](const Party& a, const Party& b) {
        return std::pair(!a.is_blamed, -static_cast<std::int64_t>(a.ranks.size())) <
               std::pair(!b.is_blamed, -static_cast<std::int64_t>(b.ranks.size()));
    });
    std::string words;
    for (std::size_t i = 0; i < parties.size() && i < parties_max; ++i)
        words += fmt::format("{}{} {} at {}", i == 0 ? "" : "; ", ranks_text(parties[i].ranks),
                             parties[i].waits ? "waited" : "raised", parties[i].text);
    return words;
}

}  // namespace deadrank::results::analysis
