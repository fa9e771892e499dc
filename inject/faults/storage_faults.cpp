// inject/faults/storage_faults.cpp — Faults of files, on those whose path holds the parameter `path`.
#include "inject/core/fault.h"

namespace deadrank::inject {

namespace {

// A fault that lasts is reverted; the others act once.
enum class StorageFault { at_once, lasts };

std::unique_ptr<Fault> make_storage_fault(const FaultSpec& spec, StorageTrouble what, std::int64_t amount,
                                          StorageFault how) {
    StorageChange change{.path = spec.text("path"), .what = what, .amount = amount};
    FaultFunctions functions{
        .apply = [change](Levers& levers, Rank) { return levers.pull(ChangeStorage{change}); },
        .blame = {.component = "storage", .shard = change.path}};
    if (how == StorageFault::lasts) {
        change.end = true;
        functions.revert = [change](Levers& levers, Rank) { (void)levers.pull(ChangeStorage{change}); };
    }
    return make_simple_fault(spec, std::move(functions));
}

}  // namespace

// A file that was written correctly reads back differently: a bad disk, a copy that stopped half-way.
extern const FaultRow corrupt_checkpoint_row{
    {.name = "corrupt_checkpoint",
     .what = "A stored file is changed behind the job's back.",
     .parameters =
         {path_parameter(),
          {"how",
           ValueType::choice,
           "flip",
           "one bit flipped, cut short, exchanged with another file, or gone",
           {"flip", "truncate", "swap", "delete"}},
          {"at", ValueType::integer, "0", "flip: element × 64 + bit; truncate: elements kept", {}, false, 0}},
     .levers = {ChangeStorage::lever}},
    [](const FaultSpec& spec) {
        return make_storage_fault(spec, results::storage_trouble_named(spec.text("how")), spec.number("at"),
                                  StorageFault::at_once);
    }};

// Only the first part of a write reaches the disk: a crash in its middle, a full quota.
extern const FaultRow tear_write_row{
    {.name = "tear_write",
     .what = "The next write of the file keeps only its beginning and says that all is well.",
     .parameters = {path_parameter(),
                    {"keeps", ValueType::integer, "1", "elements that reach the disk", {}, false, 0}},
     .levers = {ChangeStorage::lever}},
    [](const FaultSpec& spec) {
        return make_storage_fault(spec, StorageTrouble::tear, spec.number("keeps"), StorageFault::at_once);
    }};

// A write is acknowledged and never reaches the disk: a cache that lost its power.
extern const FaultRow lose_write_row{{.name = "lose_write",
                                      .what = "The next write of the file is lost and says that all is well.",
                                      .parameters = {path_parameter()},
                                      .levers = {ChangeStorage::lever}},
                                     [](const FaultSpec& spec) {
                                         return make_storage_fault(spec, StorageTrouble::lose, 0,
                                                                   StorageFault::at_once);
                                     }};

// Readers see what was there before: the cache of a network file system.
extern const FaultRow stale_read_row{{.name = "stale_read",
                                      .what = "Reads answer the content before the last write.",
                                      .parameters = {path_parameter()},
                                      .levers = {ChangeStorage::lever}},
                                     [](const FaultSpec& spec) {
                                         return make_storage_fault(spec, StorageTrouble::stale, 0,
                                                                   StorageFault::lasts);
                                     }};

// The disk is full, or the quota is used up, from this moment on.
extern const FaultRow fill_storage_row{
    {.name = "fill_storage",
     .what = "Writes find no more space than this.",
     .parameters = {path_parameter(),
                    {"free", ValueType::integer, "0", "elements that still fit", {}, false, 0}},
     .levers = {ChangeStorage::lever}},
    [](const FaultSpec& spec) {
        return make_storage_fault(spec, StorageTrouble::full, spec.number("free"), StorageFault::lasts);
    }};

// The file system is busy: all ranks wait for the checkpoint or for the data.
extern const FaultRow slow_storage_row{
    {.name = "slow_storage",
     .what = "Reads and writes take longer.",
     .parameters = {path_parameter(),
                    {"factor", ValueType::factor, "10x", "how many times as long", {}, false, 1}},
     .levers = {ChangeStorage::lever}},
    [](const FaultSpec& spec) {
        return make_storage_fault(spec, StorageTrouble::slow, spec.number("factor"), StorageFault::lasts);
    }};

// The file system was mounted read-only after an error.
extern const FaultRow lock_storage_row{{.name = "lock_storage",
                                        .what = "Writes are refused.",
                                        .parameters = {path_parameter()},
                                        .levers = {ChangeStorage::lever}},
                                       [](const FaultSpec& spec) {
                                           return make_storage_fault(spec, StorageTrouble::read_only, 0,
                                                                     StorageFault::lasts);
                                       }};

}  // namespace deadrank::inject
