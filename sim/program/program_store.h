// sim/program/program_store.h — A store as a program holds it: torch's TCPStore, FileStore and PrefixStore.
#pragma once

#include <string>
#include <utility>

#include "sim/world/world.h"

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

}  // namespace deadrank::sim::program
