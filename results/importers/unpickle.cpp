// results/importers/unpickle.cpp — A stack machine with only the opcodes of data. Depth, size and count are
// bounded: the memo could otherwise expand a small file without limit.
#include <bit>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "results/importers/dump_reader.h"

namespace deadrank::results::importers {

namespace {

using Json = nlohmann::json;
using scenarios::ErrorCode;
using scenarios::Result;

constexpr std::size_t values_most = 2'000'000;
constexpr std::size_t repeated_bytes_most = 256 << 20;  // of texts that are repeated, beyond the file's size
constexpr int depth_most = 64;

struct Broken {
    std::string what;
    bool cut = false;  // it is truncated, not wrong
};

// A value while the machine runs. torch writes a list once and refers to it again, so containers are shared.
struct Node;
using Value = std::shared_ptr<Node>;
struct Node {
    Json scalar;
    std::vector<Value> items;
    std::vector<std::pair<Value, Value>> fields;
    enum { leaf, list, dict } kind = leaf;
};

// Expands each reference into a copy; bounded, since a small file could mean a huge tree: 20,000 references
// to one text of 1 MB are 20 GB.
class Unsharing {
public:
    explicit Unsharing(std::size_t file_bytes) : bytes_most_(file_bytes + repeated_bytes_most) {}

    Json tree(const Value& value, int depth = 0) {
        if (++values_ > values_most) throw Broken{"it means more values than can be meant"};
        if (depth > depth_most) throw Broken{"it is nested too deep, or holds itself"};
        if (value->kind == Node::leaf) {
            if (value->scalar.is_string()) count(value->scalar.get_ref<const std::string&>().size());
            return value->scalar;
        }
        Json all = value->kind == Node::list ? Json::array() : Json::object();
        for (const Value& item : value->items) all.push_back(tree(item, depth + 1));
        for (const auto& [key, field] : value->fields) all[key_text(*key)] = tree(field, depth + 1);
        return all;
    }

private:
    void count(std::size_t bytes) {
        bytes_ += bytes;
        if (bytes_ > bytes_most_) throw Broken{"its texts are repeated to more bytes than can be meant"};
    }
    std::string key_text(const Node& key) {
        std::string text = key.scalar.is_string()
                               ? key.scalar.get<std::string>()
                               : key.scalar.dump(-1, ' ', true, Json::error_handler_t::replace);
        count(text.size());
        return text;
    }

    std::size_t values_ = 0, bytes_ = 0, bytes_most_;
};

class Machine {
public:
    explicit Machine(std::string_view bytes) : bytes_(bytes) {}
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    // A list that contains itself would never be freed, and a deep one would be freed by deep recursion.
    ~Machine() {
        for (const Value& node : kept_) node->items.clear(), node->fields.clear();
    }

    Json run() {
        while (at_ < bytes_.size()) {
            place_ = at_;
            const auto code = static_cast<unsigned char>(bytes_[at_++]);
            if (code == '.') return Unsharing(bytes_.size()).tree(pop());
            step(code);
            if (++steps_ > values_most) throw Broken{"it has more values than can be meant"};
        }
        throw Broken{"it ends before its STOP", true};
    }
    std::size_t place() const { return place_; }

    // What was read before the file ends: containers that were being filled are closed. An open dict inside a
    // list is left out, since an entry without its last fields is of no use.
    Json so_far() {
        if (!stack_.empty() && top()->fields.empty()) open_.insert(top().get());
        while (!marks_.empty()) {
            std::vector<Value> items = since_mark();
            if (stack_.empty()) throw Broken{"nothing whole is in it"};
            fill(items);
            open_.insert(top().get());
        }
        if (stack_.empty()) throw Broken{"nothing whole is in it"};
        const std::vector<Value> rest(stack_.begin() + 1, stack_.end());
        stack_.resize(1);
        if (!rest.empty()) fill(rest);
        return Unsharing(bytes_.size()).tree(pop());
    }

private:
    void fill(const std::vector<Value>& items) {
        Node& container = *top();
        for (std::size_t i = 0; i < items.size(); ++i) {
            const bool open_dict = items[i]->kind == Node::dict && open_.contains(items[i].get());
            if (container.kind == Node::list && !open_dict) container.items.push_back(items[i]);
            if (container.kind != Node::dict || i + 1 == items.size()) continue;
            if (items[i]->kind == Node::leaf) set(items[i], items[i + 1]);
            ++i;
        }
    }
    std::string_view take(std::size_t count) {
        if (count > bytes_.size() - at_) throw Broken{"it ends inside a value", true};
        const std::string_view piece = bytes_.substr(at_, count);
        at_ += count;
        return piece;
    }
    std::uint64_t little(std::size_t count) {
        std::uint64_t value = 0;
        const std::string_view piece = take(count);
        for (std::size_t i = 0; i < count && i < 8; ++i)
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(piece[i])) << (8 * i);
        return value;
    }
    // Two's complement of up to eight bytes.
    std::int64_t signed_little(std::size_t count) {
        if (count == 0) return 0;
        if (count > 8) throw Broken{"a number of more than 64 bits"};
        const int spare = static_cast<int>(64 - 8 * count);
        return static_cast<std::int64_t>(little(count) << spare) >> spare;
    }
    double big_float() {
        std::uint64_t bits = 0;
        for (const char c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
        return std::bit_cast<double>(bits);
    }

    static Value leaf(Json scalar) {
        auto node = std::make_shared<Node>();
        node->scalar = std::move(scalar);
        return node;
    }
    void push(Json scalar) { stack_.push_back(leaf(std::move(scalar))); }
    void push_container(bool list, std::vector<Value> items = {}) {
        auto node = std::make_shared<Node>();
        node->kind = list ? Node::list : Node::dict;
        node->items = std::move(items);
        kept_.push_back(node);
        stack_.push_back(std::move(node));
    }
    Value pop() {
        if (stack_.empty()) throw Broken{"nothing is on its stack"};
        Value value = std::move(stack_.back());
        stack_.pop_back();
        return value;
    }
    const Value& top() const {
        if (stack_.empty()) throw Broken{"nothing is on its stack"};
        return stack_.back();
    }
    std::vector<Value> since_mark() {
        if (marks_.empty() || marks_.back() > stack_.size()) throw Broken{"it has no MARK"};
        const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
        std::vector<Value> items(std::make_move_iterator(from), std::make_move_iterator(stack_.end()));
        stack_.erase(from, stack_.end());
        marks_.pop_back();
        return items;
    }
    void set(const Value& key, Value value) {
        if (top()->kind != Node::dict) throw Broken{"an item is set where there is no dict"};
        if (key->kind != Node::leaf) throw Broken{"a key is a container"};
        top()->fields.emplace_back(key, std::move(value));
    }
    void tuple(std::size_t count) {
        std::vector<Value> items(count);
        for (std::size_t i = count; i > 0; --i) items[i - 1] = pop();
        push_container(true, std::move(items));
    }
    void remember(std::uint64_t key) { memo_[key] = top(); }
    void recall(std::uint64_t key) {
        const auto found = memo_.find(key);
        if (found == memo_.end()) throw Broken{"it recalls what it never kept"};
        stack_.push_back(found->second);
    }

    void step(unsigned char code) {
        if (scalar(code) || container(code)) return;
        switch (code) {
            case 0x80:  // PROTO
                if (const auto version = little(1); version > 5)
                    throw Broken{fmt::format("there is no protocol {}", version)};
                return;
            case 0x95:  // FRAME
                little(8);
                return;
            case 'q':
                return remember(little(1));
            case 'r':
                return remember(little(4));
            case 0x94:  // MEMOIZE
                return remember(memo_.size());
            case 'h':
                return recall(little(1));
            case 'j':
                return recall(little(4));
            default:
                throw Broken{fmt::format("opcode 0x{:02x} is not data: it may call or import", code)};
        }
    }

    bool scalar(unsigned char code) {
        switch (code) {
            case 'N':
                push(nullptr);
                return true;
            case 0x88:
            case 0x89:
                push(code == 0x88);
                return true;
            case 'J':
                push(signed_little(4));
                return true;
            case 'K':
                push(little(1));
                return true;
            case 'M':
                push(little(2));
                return true;
            case 0x8a:  // LONG1
                push(signed_little(little(1)));
                return true;
            case 'G':
                push(big_float());
                return true;
            case 'X':
                push(std::string(take(little(4))));
                return true;
            case 0x8c:  // SHORT_BINUNICODE
                push(std::string(take(little(1))));
                return true;
            default:
                return false;
        }
    }

    bool container(unsigned char code) {
        switch (code) {
            case '}':
                push_container(false);
                return true;
            case ']':
            case ')':
                push_container(true);
                return true;
            case '(':
                marks_.push_back(stack_.size());
                return true;
            case 't':
                push_container(true, since_mark());
                return true;
            case 0x85:
            case 0x86:
            case 0x87:
                tuple(code - 0x84u);
                return true;
            case 'a': {
                Value item = pop();
                append(std::move(item));
                return true;
            }
            case 'e':
                for (Value& item : since_mark()) append(std::move(item));
                return true;
            case 's': {
                Value value = pop();
                const Value key = pop();
                set(key, std::move(value));
                return true;
            }
            case 'u': {
                std::vector<Value> items = since_mark();
                for (std::size_t i = 0; i + 1 < items.size(); i += 2) set(items[i], std::move(items[i + 1]));
                return true;
            }
            default:
                return false;
        }
    }
    void append(Value item) {
        if (top()->kind != Node::list) throw Broken{"an item is appended where there is no list"};
        top()->items.push_back(std::move(item));
    }

    std::string_view bytes_;
    std::size_t at_ = 0, place_ = 0, steps_ = 0;
    std::vector<Value> stack_, kept_;
    std::vector<std::size_t> marks_;
    std::set<const Node*> open_;
    std::unordered_map<std::uint64_t, Value> memo_;
};

}  // namespace

bool looks_like_pickle(std::string_view bytes) {
    return bytes.size() > 3 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

Result<Json> from_pickle(std::string_view bytes, std::string* cut) {
    Machine machine(bytes);
    std::string what;
    try {
        return machine.run();
    } catch (const Broken& broken) {
        what = fmt::format("byte {} of the pickle: {}", machine.place(), broken.what);
        if (!broken.cut) cut = nullptr;
    }
    try {
        if (cut != nullptr) {
            Json tree = machine.so_far();
            *cut = what + "; what came before is kept";
            return tree;
        }
    } catch (const Broken&) {
        // nothing to keep
    }
    return scenarios::refuse(ErrorCode::bad_input, what,
                             "a Flight Recorder dump holds data alone; take another file");
}

}  // namespace deadrank::results::importers
