// sim/program/builtins_stores.cpp — torch's stores as objects: made, shared by prefixes, asked for keys.
// Texts: torch.distributed 2.11.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

// Another store with something before each key. Without a prefix it is that store.
class ProgramStore final : public Store {
public:
    ProgramStore(Store& of, std::string prefix, std::string name)
        : of_(of), prefix_(std::move(prefix)), name_(std::move(name)) {}

    const std::string& name() const { return name_; }  // TCPStore(node0:29600)
    const std::string& prefix() const { return prefix_; }
    Store& whole() const { return of_; }

    void set(std::string_view key, std::string_view value) override { of_.set(named(key), value); }
    std::optional<std::string> wait(std::string_view key, Time timeout) override {
        return of_.wait(named(key), timeout);
    }
    std::int64_t add(std::string_view key, std::int64_t amount) override {
        return of_.add(named(key), amount);
    }
    std::string set_once(std::string_view key, std::string_view value) override {
        return of_.set_once(named(key), value);
    }
    std::string compare_set(std::string_view key, std::string_view expected,
                            std::string_view desired) override {
        return of_.compare_set(named(key), expected, desired);
    }
    bool erase(std::string_view key) override { return of_.erase(named(key)); }
    std::int64_t count() override { return of_.count(); }
    std::uint64_t meeting() const override {
        std::uint64_t mixed = of_.meeting();
        for (const char letter : prefix_)
            mixed = mixed * 1'099'511'628'211U + static_cast<unsigned char>(letter);
        return mixed;
    }
    void introduce(std::string_view among, Rank number, Rank process) override {
        of_.introduce(named(among), number, process);
    }
    std::vector<Rank> introduced(std::string_view among, Rank size) const override {
        return of_.introduced(named(among), size);
    }

private:
    std::string named(std::string_view key) const { return prefix_ + std::string(key); }

    Store& of_;
    std::string prefix_, name_;
};

namespace {

constexpr Time five_minutes{300'000'000'000};
constexpr const char* number_field = "number";
constexpr const char* patience_field = "timeout";

Value value_of(Interpreter& rank, Store& store, std::string prefix, std::string name, Time timeout) {
    auto& all = rank.seldom().stores;
    all.push_back(std::make_shared<ProgramStore>(store, std::move(prefix), std::move(name)));
    auto made = std::make_shared<Instance>();
    made->kind = store_kind;
    made->name = "Store";
    made->rank = &rank;
    set_field(made->fields, number_field, Value::whole(std::ssize(all) - 1));
    set_field(made->fields, patience_field, Value::whole(timeout.count()));
    return Value::of(std::move(made));
}

ProgramStore& store_at(Interpreter& rank, const Value& value) {
    if (!value.is(Type::object) || value.instance().kind != store_kind)
        raise("TypeError", fmt::format("{} object is not a store", type_word(value)));
    const Value* place = find_field(value.instance().fields, number_field);
    return *rank.seldom().stores[static_cast<std::size_t>(place->number())];
}

Time patience_of(const Value& store) {
    return Time(find_field(store.instance().fields, patience_field)->number());
}

Time left_of(Interpreter& rank, Time until) {
    return std::max(until - rank.world().timer().now(), Time{1'000'000});
}

// torch's master comes back once all of its workers have counted themselves.
void meet_workers(Store& store, std::int64_t workers, bool master, Time timeout) {
    const std::int64_t came = store.add("init/", 1);
    if (workers <= 0) return;
    if (came == workers) store.set("init/all", "1");
    if (!master) return;
    if (store.wait("init/all", timeout)) {
        (void)store.erase("init/all");
        return;
    }
    throw LibraryError(Code::timeout,
                       fmt::format("torch.distributed.DistStoreError: Timed out after {} seconds waiting for "
                                   "clients. {}/{} clients joined.",
                                   timeout.count() / 1'000'000'000 + 1, store.add("init/", 0), workers));
}

Value tcp_store(Interpreter& rank, Arguments& given) {
    const std::string endpoint =
        fmt::format("{}:{}", text_in(given[0], "host_name"), as_whole(given[1], "port"));
    const bool master = stated(given[3]) && truth(given[3]);
    const Time timeout = stated(given[4]) ? time_in(given[4]) : five_minutes;
    const bool waits = !stated(given[5]) || truth(given[5]);
    const std::int64_t workers = stated(given[2]) && waits ? as_whole(given[2], "world_size") : 0;
    if (rank.host().over()) raise("RuntimeError", "the job that came before is over: nobody listens");
    Store& store = rank.world().own_store(endpoint, master, timeout);
    meet_workers(store, workers, master, timeout);
    return value_of(rank, store, "", fmt::format("TCPStore({})", endpoint), timeout);
}

Value made_file_store(Interpreter& rank, Arguments& given) {
    const std::string& path = text_in(given[0], "file_name");
    const std::int64_t ranks = stated(given[1]) ? as_whole(given[1], "world_size") : -1;
    if (ranks > INT32_MAX) raise("ValueError", fmt::format("world_size = {} is out of all bounds", ranks));
    if (rank.host().over()) raise("RuntimeError", "the job that came before is over: its keys are gone");
    Store& store = rank.world().file_store(path, static_cast<Rank>(ranks));
    return value_of(rank, store, "", fmt::format("FileStore({})", path), five_minutes);
}

Value prefix_store(Interpreter& rank, Arguments& given) {
    const std::string& prefix = text_in(given[0], "prefix");
    ProgramStore& of = store_at(rank, given[1]);
    return value_of(rank, of.whole(), of.prefix() + prefix + "/",
                    fmt::format("PrefixStore({}, {})", prefix, of.name()), patience_of(given[1]));
}

Value default_store(Interpreter& rank, Arguments&) {
    if (!rank.host().started()) (void)rank.host().comm();
    return value_of(rank, rank.host().store(), "default_pg/", "PrefixStore(default_pg)", five_minutes);
}

std::vector<std::string> keys_in(const Value& keys) {
    if (keys.is(Type::text)) raise("TypeError", "keys must be a list of str, not 'str'");
    std::vector<std::string> all;
    for (const Value& key : items_of(keys)) all.push_back(text_in(key, "a key"));
    return all;
}

// Of several keys the time is bounded together.
Value wait_for(Interpreter& rank, ProgramStore& store, const std::vector<std::string>& keys, Time timeout) {
    const Time until = rank.world().timer().now() + timeout;
    std::optional<std::string> last;
    for (const std::string& key : keys) {
        last = store.wait(key, left_of(rank, until));
        if (last) continue;
        std::vector<std::string> named;
        for (const std::string& each : keys) named.push_back("/" + store.prefix() + each);
        throw LibraryError(Code::timeout,
                           fmt::format("torch.distributed.DistStoreError: wait timeout after {}ms, keys: {}",
                                       timeout.count() / 1'000'000, fmt::join(named, ", ")));
    }
    return last ? Value::new_text(*last) : Value::none();
}

}  // namespace

std::pair<Store*, std::string> store_in(Interpreter& rank, const Value& store) {
    ProgramStore& found = store_at(rank, store);
    return {&found, found.name()};
}

Value store_method(Interpreter& rank, const Value& object, const std::string& name,
                   const std::vector<Value>& given) {
    ProgramStore& store = store_at(rank, object);
    const Time patience = patience_of(object);
    const auto key = [&](std::size_t at = 0) { return text_in(needed(given, at, name), "a key"); };
    if (name == "set") {
        store.set(key(), shown_text(needed(given, 1, name)));
        return Value::none();
    }
    if (name == "get") return wait_for(rank, store, {key()}, patience);
    if (name == "add") return Value::whole(store.add(key(), as_whole(needed(given, 1, name), "an amount")));
    if (name == "wait") {
        (void)wait_for(rank, store, keys_in(needed(given, 0, name)),
                       is_stated(given, 1) ? time_in(given[1]) : patience);
        return Value::none();
    }
    if (name == "check") {
        constexpr Time at_once{1'000'000};
        const auto keys = keys_in(needed(given, 0, name));
        return Value::boolean(std::all_of(keys.begin(), keys.end(), [&](const std::string& each) {
            return store.wait(each, at_once).has_value();
        }));
    }
    if (name == "compare_set")
        return Value::new_text(
            store.compare_set(key(), shown_text(needed(given, 1, name)), shown_text(needed(given, 2, name))));
    if (name == "delete_key") return Value::boolean(store.erase(key()));
    if (name == "num_keys") return Value::whole(store.count());
    if (name != "set_timeout")
        raise("AttributeError", fmt::format("'Store' object has no attribute '{}'", name));
    set_field(object.instance().fields, patience_field,
              Value::whole(time_in(needed(given, 0, name)).count()));
    return Value::none();
}

std::vector<BuiltinRow> store_builtins() {
    return {{"TCPStore", tcp_store},
            {"FileStore", made_file_store},
            {"PrefixStore", prefix_store},
            {"_get_default_store", default_store}};
}

}  // namespace deadrank::sim::program
