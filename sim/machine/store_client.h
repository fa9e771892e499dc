// sim/machine/store_client.h — A process's end of a store: what it asks takes a message there and back, and
// troubles of the way or of the host show in its words.
#pragma once

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "sim/machine/machine.h"
#include "sim/machine/store_server.h"

namespace deadrank::sim {

inline constexpr const char* store_closed =
    "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the "
    "remote server shutdown or crash?";

inline StoreTrouble trouble_of(const Process& process) {
    return process.tampering ? process.tampering->store : StoreTrouble::none;
}

class StoreClient final : public Store {
public:
    StoreClient(Machine& machine, Process& process, std::shared_ptr<Stores::Server> server,
                std::string prefix)
        : machine_(machine), process_(process), server_(std::move(server)), prefix_(std::move(prefix)) {}

    bool kept() const override { return !prefix_.empty(); }

    std::uint64_t meeting() const override {
        std::uint64_t mixed = server_->number;
        for (const char letter : prefix_)
            mixed = mixed * 1'099'511'628'211U + static_cast<unsigned char>(letter);
        return mixed;
    }

    const std::shared_ptr<Stores::Server>& server() const { return server_; }

    void set(std::string_view key, std::string_view value) override {
        if (intercept_call("store_set")) return;
        const std::string name = named(key);
        server_->values.insert_or_assign(name, std::string(value));
        server_->wake(machine_.engine, name);
    }

    std::optional<std::string> wait(std::string_view key, Time timeout) override {
        if (intercept_call("store_get")) return std::nullopt;
        const std::string name = named(key);
        const WaitNote note{.kind = WaitKind::store, .text = &name};
        if (!server_->values.contains(name)) server_->waiting[name].push_back(process_.id);
        machine_.wait_until(process_, note, machine_.engine.now() + left_of(timeout, name),
                            [&] { return !server_->alive || (server_->values.contains(name) && speaks()); });
        // An answer that was under way when the host left still arrives.
        const auto found = server_->values.find(name);
        if (found != server_->values.end() && speaks()) return found->second;
        check_alive();
        return std::nullopt;
    }

    std::int64_t add(std::string_view key, std::int64_t amount) override {
        if (intercept_call("store_add")) return 0;
        const std::string name = named(key);
        std::string& value = server_->values[name];
        std::int64_t sum = 0;
        std::from_chars(value.data(), value.data() + value.size(), sum);
        value = std::to_string(sum += amount * process_.weight);
        server_->wake(machine_.engine, name);
        return sum;
    }

    std::string compare_set(std::string_view key, std::string_view expected,
                            std::string_view desired) override {
        if (intercept_call("store_set")) return std::string(desired);
        const auto found = server_->values.find(named(key));
        if (found != server_->values.end() && found->second == expected) found->second = desired;
        if (found != server_->values.end()) return found->second;
        if (!expected.empty()) return std::string(expected);  // as torch has it: nothing is set then
        server_->values.emplace(named(key), desired);
        server_->wake(machine_.engine, named(key));
        return std::string(desired);
    }

    bool erase(std::string_view key) override {
        if (intercept_call("store_set")) return false;
        return server_->values.erase(named(key)) > 0;
    }

    std::int64_t count() override {
        if (intercept_call("store_get")) return 0;
        return std::ssize(server_->values);
    }

    // As c10d's compare_set with nothing expected.
    std::string set_once(std::string_view key, std::string_view value) override {
        if (intercept_call("store_set")) return std::string(value);
        const auto [entry, fresh] = server_->values.try_emplace(named(key), value);
        if (fresh) server_->wake(machine_.engine, entry->first);
        return entry->second;
    }

private:
    std::string named(std::string_view key) const { return prefix_ + std::string(key); }
    bool speaks() const { return trouble_of(process_) != StoreTrouble::mute; }

    Time lateness() const {
        return trouble_of(process_) == StoreTrouble::late ? 2 * process_.tampering->store_late : Time{0};
    }

    // What is left of the patience for a key once a late answer has come. The client bounds such a wait
    // alone: it takes it back when its time is up, and the answer to that is as late.
    Time left_of(Time timeout, std::string_view key) {
        const Time late = lateness();
        if (late <= timeout) return timeout - late;
        machine_.engine.sleep(timeout);
        machine_.processes.settle(process_);
        throw LibraryError(Code::timeout,
                           fmt::format("torch.distributed.DistStoreError: wait timeout after {}ms, keys: /{}",
                                       timeout.count() / 1'000'000, key));
    }

    bool intercept_call(std::string_view name) {
        if (process_.armed) {
            Call call{.kind = CallKind::store, .name = name};
            if (machine_.gate.plain(process_, call)) return true;
        }
        if (server_->file) {
            machine_.engine.sleep(machine_.settings.storage_latency);
            machine_.processes.settle(process_);
            return false;
        }
        const Hop usual = machine_.topology.hop({process_.node, 0}, {server_->node, 0});
        const Hop there = machine_.network.now(usual);
        const Hop back = machine_.network.now({usual.to, usual.from, usual.latency, usual.bandwidth});
        if (there.bandwidth == 0 || back.bandwidth == 0) {
            const std::string silent = "a store that nothing comes back from";
            server_->waiting[silent].push_back(process_.id);
            machine_.wait(process_, {.kind = WaitKind::store, .text = &silent},
                          [&] { return !server_->alive; });
        }
        if (trouble_of(process_) == StoreTrouble::mute) {
            const std::string mute = "a store that does not answer";
            machine_.wait(process_, {.kind = WaitKind::store, .text = &mute},
                          [&] { return trouble_of(process_) != StoreTrouble::mute; });
        }
        machine_.engine.sleep(there.latency + back.latency);
        if (const Time late = lateness(); late > Time{0}) machine_.engine.sleep(late);
        check_alive();
        return false;
    }

    void check_alive() {
        machine_.processes.settle(process_);
        if (server_->alive && trouble_of(process_) != StoreTrouble::cut) return;
        throw LibraryError(Code::system_error, store_closed);
    }

    Machine& machine_;
    Process& process_;
    std::shared_ptr<Stores::Server> server_;
    std::string prefix_;  // what comes before each key in a store that others use as well
};

}  // namespace deadrank::sim
