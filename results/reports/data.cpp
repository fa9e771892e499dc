// results/reports/data.cpp — Who trains on which samples and holds which part of a tensor or
// checkpoint, and what a server answered: shown where the last good run had it otherwise.
#include <fmt/format.h>
#include <map>

#include "results/reports/clues.h"
#include "results/reports/event_text.h"
#include "results/text/style.h"

namespace deadrank::results::reports {

namespace {

constexpr std::size_t data_lines_most = 16;

// Events of one kind as lines, each with the ranks that have it, in order of first sight.
template <class P, class Text>
std::vector<std::pair<std::string, std::vector<Rank>>> lines_of(const Evidence& evidence, Text text) {
    std::vector<std::pair<std::string, std::vector<Rank>>> lines;
    std::map<std::string, std::size_t> known;
    for (const Event* event : evidence.each<P>()) {
        const std::string line = text(evidence, *event, *event->template as<P>());
        if (line.empty()) continue;
        const auto [found, fresh] = known.try_emplace(line, lines.size());
        if (fresh) lines.push_back({line, {}});
        auto& ranks = lines[found->second].second;
        if (ranks.empty() || ranks.back() != event->rank) ranks.push_back(event->rank);
    }
    return lines;
}

template <class P, class Text>
Clue changed_data(std::string title, const Evidence& evidence, const Evidence* good, Text text) {
    const auto now = lines_of<P>(evidence, text);
    if (good && lines_of<P>(*good, text) == now) return {};
    Clue clue{std::move(title), {}};
    for (const auto& [line, ranks] : now) {
        if (clue.lines.size() < data_lines_most)
            clue.lines.push_back(pad_right(Style{}.cut(who_text(ranks), 17), 18) + line);
    }
    if (now.size() > data_lines_most)
        clue.lines.push_back(fmt::format("… and {} more", now.size() - data_lines_most));
    return clue;
}

std::string batch(const Evidence& evidence, const Event&, const DataBatch& what) {
    if (what.step > 1) return {};
    const std::string samples(evidence.text(what.samples));
    return fmt::format("step {}  {}", what.step,
                       samples.empty()
                           ? fmt::format("{} from {}, every {}", what.count, what.first, what.stride)
                           : "samples " + Style{}.cut(samples, 40));
}
std::string shard(const Evidence& evidence, const Event&, const ShardLayout& what) {
    return fmt::format("{}  [{}, {}) of {}", evidence.text(what.tensor), what.offset,
                       what.offset + what.length, what.total);
}
std::string loaded(const Evidence& evidence, const Event&, const CheckpointLoad& what) {
    return fmt::format("{}  step {}, {} bytes, {}", evidence.text(what.path), what.step, what.bytes,
                       name_of(what.result));
}
std::string bound(const Evidence& evidence, const Event&, const DeviceBind& what) {
    return fmt::format("{}: asked for device {}, got {}", evidence.text(what.what), what.requested,
                       what.actual);
}
std::string served(const Evidence& evidence, const Event& event, const ServeOutput& what) {
    return what.request > 3 ? "" : fmt::format("request {}  {}", what.request, fields_text(evidence, event));
}
std::string member(const Evidence& evidence, const Event&, const CommInitEnter& what) {
    return fmt::format("{}: place {} of {}, members {}", evidence.text(what.name), what.rank_in_comm,
                       what.size, Style{}.cut(evidence.text(what.members), 40));
}

}  // namespace

std::vector<Clue> data_clues(const Evidence& evidence, const Evidence* good) {
    std::vector<Clue> all = {
        changed_data<CommInitEnter>("who joined which group, as each rank saw it", evidence, good, member),
        changed_data<ShardLayout>("which part of each tensor a rank holds", evidence, good, shard),
        changed_data<CheckpointLoad>("what was loaded", evidence, good, loaded),
        changed_data<DeviceBind>("where work landed", evidence, good, bound),
        changed_data<ServeOutput>("what was served", evidence, good, served)};
    if (good) all.push_back(changed_data<DataBatch>("the first samples of each rank", evidence, good, batch));
    return all;
}

}  // namespace deadrank::results::reports
