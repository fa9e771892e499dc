// results/reports/scenario_line.cpp — With several seeds the worst case speaks, and the share of seeds that
// passed stands before it.
#include <algorithm>
#include <fmt/format.h>

#include "results/reports/terminal.h"
#include "results/text/words.h"

namespace deadrank::results::reports {

namespace {

Ink verdict_ink(Verdict verdict) {
    if (verdict == Verdict::pass) return Ink::green;
    return verdict == Verdict::fail ? Ink::red : Ink::yellow;
}

const Case& worst_of(const std::vector<Case>& seeds) {
    return *std::max_element(seeds.begin(), seeds.end(),
                             [](const Case& a, const Case& b) { return a.verdict < b.verdict; });
}

// The sentence of the finding, led by its symptom where there is room: what was noticed, and about whom.
std::string noticed(const Case& one, std::size_t columns) {
    if (one.verdict != Verdict::pass || !one.fault) return one_line(one.reason);
    if (const Finding* answer = one.fault->answering()) {
        const std::string sentence = one_line(answer->says);
        const std::string both = fmt::format("{} · {}", answer->symptom, sentence);
        return columns == 0 || columns_of(both) <= columns ? both : sentence;
    }
    return one_line(one.fault->reason);
}

std::string how_soon(const Case& one) {
    if (!one.fault || one.fault->noticed_at == never || one.fault->fault_at == never) return "";
    if (one.fault->noticed_at < one.fault->fault_at) return "";
    const Time delay = one.fault->noticed_at - one.fault->fault_at;
    return delay == Time{0} ? "at once" : duration_text(delay);
}

// What went wrong, in the vocabulary's word; where only the control or the healed run did, the reason says so
// itself.
std::string label_of(const Case& one) {
    if (one.verdict == Verdict::pass) return "";
    if (one.fault && one.fault->verdict == Verdict::pass) return "";
    std::string label(one.fault ? name_of(one.fault->outcome) : name_of(one.verdict));
    if (one.fault && one.fault->outcome == Outcome::caught) label = "reaction";
    std::replace(label.begin(), label.end(), '_', ' ');
    return label + ": ";
}

std::string share_of(const std::vector<Case>& seeds) {
    if (seeds.size() < 2) return {};
    const auto passed = std::count_if(seeds.begin(), seeds.end(),
                                      [](const Case& seed) { return seed.verdict == Verdict::pass; });
    return fmt::format("{:>7}  ", fmt::format("{}/{}", passed, seeds.size()));
}

}  // namespace

std::string verdict_mark(Verdict verdict, const Style& style) {
    const std::string_view mark = verdict == Verdict::pass ? "✔" : verdict == Verdict::fail ? "✘" : "?";
    return style.paint(verdict_ink(verdict), mark);
}

std::string scenario_line(const std::vector<Case>& seeds, std::size_t name_columns, const Style& style) {
    if (seeds.empty()) return {};
    constexpr std::size_t soon_columns = 11;
    const Case& one = worst_of(seeds);
    const std::string name = one.scenario.substr(one.scenario.find('/') + 1);
    const std::string share = share_of(seeds), label = label_of(one);
    const std::size_t used = 4 + name_columns + share.size() + soon_columns + 2 + columns_of(label);
    const std::size_t room = style.width == 0 ? 0 : std::max<std::size_t>(style.width, used + 20) - used;
    const std::string words = style.cut(noticed(one, room), room);
    return fmt::format("  {} {}{}{}  {}{}\n", verdict_mark(one.verdict, style),
                       pad_right(style.cut(name, name_columns), name_columns), style.paint(Ink::dim, share),
                       style.paint(Ink::cyan, pad_left(how_soon(one), soon_columns)),
                       style.paint(verdict_ink(one.verdict), label),
                       one.verdict == Verdict::pass ? style.paint(Ink::dim, words) : words);
}

}  // namespace deadrank::results::reports
