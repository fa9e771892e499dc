// scenarios/model/selector.cpp — Grammar: (number list | all | first | last | same | others | [any] node … |
// any [n] [other | of node n]) [but list], and several of them joined by "and".
#include "scenarios/model/selector.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace deadrank::scenarios {

namespace {

using Numbers = std::vector<std::int64_t>;

enum class Base { list, all, first, last, same, others, node };

// What a selector says, without a cluster yet.
struct SelectorSpec {
    Base base = Base::all;
    Numbers list;                      // Base::list
    std::optional<std::int64_t> node;  // of Base::node; absent = a drawn one
    bool last_node = false;
    bool first_node = false;
    std::optional<std::int64_t> count;  // "any": how many of them
    Numbers but;
    bool but_first = false;
    bool but_last = false;
};

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(" ,", at), text.size());
        if (end > at) words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

std::optional<std::int64_t> number(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 0) return std::nullopt;
    return value;
}

// Reads words from the left; each step returns whether the selector still makes sense.
class Grammar {
public:
    explicit Grammar(std::string_view text) : words_(words_of(text)) {}

    std::optional<SelectorSpec> read() {
        if (words_.empty() || !read_base() || !read_but() || at_ != words_.size()) return std::nullopt;
        return spec_;
    }

private:
    bool take(std::string_view word) {
        if (at_ == words_.size() || words_[at_] != word) return false;
        ++at_;
        return true;
    }

    std::optional<std::int64_t> take_number() {
        if (at_ == words_.size()) return std::nullopt;
        const auto value = number(words_[at_]);
        if (value) ++at_;
        return value;
    }

    bool read_base() {
        if (take("any")) return read_any();
        if (take("all")) return base(Base::all);
        if (take("same")) return base(Base::same);
        if (take("others")) return base(Base::others);
        if (take("node")) return read_node();
        if (take("first")) return take("node") ? whole_node(&SelectorSpec::first_node) : base(Base::first);
        if (take("last")) return take("node") ? whole_node(&SelectorSpec::last_node) : base(Base::last);
        spec_.base = Base::list;
        while (const auto one = take_number()) spec_.list.push_back(*one);
        return !spec_.list.empty();
    }

    bool read_any() {
        if (take("node")) return base(Base::node);
        spec_.count = take_number().value_or(1);
        if (*spec_.count < 1) return false;
        if (take("other")) return base(Base::others);
        if (take("of")) return (take("same") && base(Base::same)) || (take("node") && read_node());
        return true;
    }

    bool read_node() {
        spec_.node = take_number();
        return spec_.node && base(Base::node);
    }

    bool whole_node(bool SelectorSpec::*which) {
        spec_.*which = true;
        return base(Base::node);
    }

    bool base(Base base) {
        spec_.base = base;
        return true;
    }

    bool read_but() {
        if (!take("but")) return true;
        const std::size_t before = at_;
        for (bool more = true; more;) {
            if (const auto one = take_number()) {
                spec_.but.push_back(*one);
            } else if (take("first")) {
                spec_.but_first = true;
            } else {
                more = take("last");
                spec_.but_last = spec_.but_last || more;
            }
        }
        return at_ > before;
    }

    std::vector<std::string_view> words_;
    std::size_t at_ = 0;
    SelectorSpec spec_;
};

std::string selector_remedy(ValueType type) {
    return type == ValueType::ranks
               ? "write a number, [1, 2], \"any\", \"any 2\", \"any but 0\", \"any "
                 "other\", \"any of node 1\", \"all\", "
                 "\"all but 0\", \"first\", \"last\", \"node 1\", \"node 1 and node 2\", "
                 "\"any node\", \"same\" or \"others\""
               : "write a number, [0, 1], \"any\", \"any 2\", \"any but 0\", \"any "
                 "other\", \"all\", \"first\", \"last\", "
                 "\"same\" or \"others\"";
}

tl::unexpected<Error> bad_selector(std::string what, std::string help = {}) {
    return refuse(ErrorCode::bad_input, std::move(what), std::move(help));
}

std::string_view noun(ValueType type) { return type == ValueType::ranks ? "rank" : "node"; }

void without(Numbers& numbers, const Numbers& gone) {
    std::erase_if(numbers,
                  [&](std::int64_t one) { return std::find(gone.begin(), gone.end(), one) != gone.end(); });
}

Numbers up_to(std::int64_t count) {
    Numbers numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
    return numbers;
}

// The ranks of an earlier fault, or the nodes they are on.
Numbers in_terms_of(ValueType type, const Targets& targets, const Shape& shape) {
    Numbers found;
    for (const std::int64_t rank : targets)
        found.push_back(type == ValueType::ranks ? rank : shape.node_of(rank));
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

// A node itself, or its ranks; for ranks, a node is drawn only from those that have some.
Result<Numbers> of_a_node(ValueType type, const SelectorSpec& wish, const Shape& shape, const Draw& draw) {
    const bool ranks = type == ValueType::ranks;
    const std::int64_t end = ranks ? shape.node_of(shape.ranks - 1) + 1 : shape.nodes;
    constexpr std::uint64_t own_draw = 1'000'000;  // distinct from those of Draw::some
    const std::int64_t node = wish.node         ? *wish.node
                              : wish.last_node  ? end - 1
                              : wish.first_node ? 0
                                                : draw.between(own_draw, 0, end - 1);
    if (node >= end) {
        const std::string_view why = ranks ? "has no ranks" : "is outside the cluster";
        return bad_selector(fmt::format("node {} {}", node, why),
                            fmt::format("there are nodes 0 to {}", end - 1));
    }
    return ranks ? shape.ranks_of(node) : Numbers{node};
}

Result<Numbers> candidates(ValueType type, const SelectorSpec& wish, const Shape& shape,
                           const std::vector<Targets>& earlier, const Draw& draw) {
    Numbers all = up_to(type == ValueType::ranks ? shape.ranks : shape.nodes);
    switch (wish.base) {
        case Base::all:
            return all;
        case Base::first:
            return Numbers{all.front()};
        case Base::last:
            return Numbers{all.back()};
        case Base::list: {
            Numbers list = wish.list;
            std::sort(list.begin(), list.end());
            return list;
        }
        case Base::same:
        case Base::others: {
            const bool same = wish.base == Base::same;
            if (earlier.empty() || (same ? earlier.back() : earlier.front()).empty()) {
                return bad_selector(fmt::format("\"{}\" has no earlier fault with ranks to refer to",
                                                same ? "same" : "others"),
                                    "name the ranks, or let an earlier [[fault]] have them");
            }
            if (same) return in_terms_of(type, earlier.back(), shape);
            without(all, in_terms_of(type, earlier.front(), shape));
            return all;
        }
        case Base::node:
            return of_a_node(type, wish, shape, draw);
    }
    return all;
}

Result<void> check_inside(ValueType type, const Numbers& numbers, const Shape& shape) {
    const std::int64_t end = type == ValueType::ranks ? shape.ranks : shape.nodes;
    for (const std::int64_t one : numbers) {
        if (one < end) continue;
        return bad_selector(fmt::format("{} {} is outside the cluster", noun(type), one),
                            fmt::format("it has {}s 0 to {}", noun(type), end - 1));
    }
    if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) {
        return bad_selector(fmt::format("{} {} is named twice", noun(type),
                                        *std::adjacent_find(numbers.begin(), numbers.end())));
    }
    return {};
}

}  // namespace

std::vector<std::int64_t> Shape::ranks_of(std::int64_t node) const {
    std::vector<std::int64_t> found;
    for (std::int64_t rank = node * gpus_per_node; rank < std::min(ranks, (node + 1) * gpus_per_node);
         ++rank) {
        found.push_back(rank);
    }
    return found;
}

namespace {

// "node 1 and node 3": each part is a selector of its own.
std::vector<std::string_view> joined_parts(std::string_view text) {
    constexpr std::string_view joint = " and ";
    std::vector<std::string_view> parts;
    for (auto at = text.find(joint); at != std::string_view::npos; at = text.find(joint)) {
        parts.push_back(text.substr(0, at));
        text.remove_prefix(at + joint.size());
    }
    parts.push_back(text);
    return parts;
}

Result<Numbers> select_part(ValueType type, std::string_view text, const SelectorSpec& wish,
                            const Shape& shape, const std::vector<Targets>& earlier, const Draw& draw) {
    auto found = candidates(type, wish, shape, earlier, draw);
    if (!found) return found;
    if (const auto inside = check_inside(type, *found, shape); !inside) return tl::unexpected(inside.error());
    without(*found, wish.but);
    if (wish.but_first) without(*found, {0});
    if (wish.but_last) without(*found, {(type == ValueType::ranks ? shape.ranks : shape.nodes) - 1});
    const std::int64_t available = static_cast<std::int64_t>(found->size());
    const std::int64_t wanted = wish.count.value_or(std::max<std::int64_t>(available, 1));
    if (wanted > available) {
        return bad_selector(fmt::format("\"{}\" wants {} {}{}, and there are {}", text, wanted, noun(type),
                                        wanted == 1 ? "" : "s", available),
                            "let the cluster be larger, or ask for fewer");
    }
    return wish.count ? draw.some(std::move(*found), static_cast<std::size_t>(wanted)) : std::move(*found);
}

}  // namespace

Result<void> check_selector(ValueType type, std::string_view text) {
    for (const std::string_view part : joined_parts(text)) {
        if (!Grammar(part).read())
            return bad_selector(fmt::format("'{}' does not say which {}s", part, noun(type)),
                                selector_remedy(type));
    }
    return {};
}

Result<Numbers> select(ValueType type, std::string_view text, const Shape& shape,
                       const std::vector<Targets>& earlier, const Draw& draw) {
    if (const auto known = check_selector(type, text); !known) return tl::unexpected(known.error());
    const auto parts = joined_parts(text);
    Numbers all;
    for (const std::string_view part : parts) {
        auto found = select_part(type, part, *Grammar(part).read(), shape, earlier, draw);
        if (!found || parts.size() == 1) return found;
        all.insert(all.end(), found->begin(), found->end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

}  // namespace deadrank::scenarios
