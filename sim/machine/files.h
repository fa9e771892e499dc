// sim/machine/files.h — The shared file system: what was written, what of it is durable, and how a bad one
// answers. A write is seen by all at once; without a sync it is gone when the node that wrote it is lost.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/changes.h"
#include "sim/machine/call.h"
#include "sim/machine/processes.h"
#include "sim/world/world.h"

namespace deadrank::sim {

using results::StorageChange;
using results::StorageTrouble;

struct Machine;

struct File {
    std::vector<Number> content;
    std::vector<Number> before;  // what the version before this one held
    bool has_before = false;
    bool synced = false;
    int writer_node = 0;
};

class Files {
public:
    explicit Files(Machine& machine) : machine_(machine) {}

    Code write(Process& process, std::string_view path, std::span<const Number> content, WriteMode mode);
    Code sync(Process& process, std::string_view path);
    Code rename(Process& process, std::string_view from, std::string_view to);
    Code remove(Process& process, std::string_view path);
    Code read(Process& process, std::string_view path, std::vector<Number>& content);
    std::vector<std::string> list(std::string_view prefix) const;

    // At once, as what a process does with a file that it holds open.
    const std::vector<Number>* content(std::string_view path) const;  // nullptr: it is not there
    void drop(std::string_view path);

    void change(const StorageChange& change);
    void node_lost(int node);   // what it had not synced is lost as well
    void local_lost(int node);  // the files on its own disk
    std::int64_t free_bytes() const;

private:
    using Entry = std::map<std::string, File, std::less<>>::value_type;

    const StorageChange* standing(StorageTrouble what, std::string_view path) const;
    bool take_pending(StorageTrouble what, std::string_view path, std::int64_t& amount);
    bool spoil(const StorageChange& change);  // at once; false when no file is there for it
    void spoil_later(std::string_view path);
    void pass_time(Process& process, std::string_view path, std::size_t elements);

    Machine& machine_;
    std::map<std::string, File, std::less<>> files_;
    std::vector<StorageChange> standing_;  // slow, full, read_only, stale
    std::vector<StorageChange> pending_;   // act on the next write that fits
    std::int64_t used_ = 0;                // elements
};

class RankStorage final : public Storage {
public:
    RankStorage(Machine& machine, Process& process) : machine_(machine), process_(process) {}

    Code write(std::string_view path, std::span<const Number> content, WriteMode mode) override;
    Code sync(std::string_view path) override;
    Code rename(std::string_view from, std::string_view to) override;
    Code remove(std::string_view path) override;
    Code leave_open(std::string_view path) override;
    Code read(std::string_view path, std::vector<Number>& content) override;
    std::vector<std::string> list(std::string_view prefix) const override;

private:
    bool intercept_call(CallKind kind, std::string_view path, std::int64_t count, Code& answer,
                        std::int64_t* flip = nullptr);

    Machine& machine_;
    Process& process_;
};

}  // namespace deadrank::sim
