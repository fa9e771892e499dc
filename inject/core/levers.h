// inject/core/levers.h — The levers that a fault may pull, each declared once: its name for capabilities and
// refusals, what it does, and the record that one pull of it carries. To add one, declare it here, put it
// into `Pull`, and give each backend that has it a `carry_out`; a backend without it answers `unsupported` by
// itself, and the run becomes unknown with that sentence. On real machines every pull is journalled before it
// is done.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "results/record/changes.h"
#include "scenarios/model/error.h"

namespace deadrank::inject {

using results::Alteration;
using results::Bend;
using results::DeviceChange;
using results::HostChange;
using results::LinkChange;
using results::NameTrouble;
using results::Rank;
using results::StorageChange;
using results::StorageTrouble;
using results::StoreChange;
using results::StoreTrouble;
using results::Time;
using results::ValueCheck;
using scenarios::Result;

struct Done {};  // the lever moved

struct Lever {
    std::string_view name;  // as in Capabilities
    std::string_view does;  // completes "there is no lever to …"

    operator std::string() const { return std::string(name); }  // a fault lists the levers that it needs
};

// ── Before the job starts.
struct SetEnv {
    static constexpr Lever lever{"set_env", "set an environment variable"};
    Rank rank;
    std::string_view name, value;
};
struct UnsetEnv {
    static constexpr Lever lever{"unset_env", "take an environment variable away"};
    Rank rank;
    std::string_view name;
};
struct SetVersion {
    static constexpr Lever lever{"set_version", "give a rank another version of a package"};
    Rank rank;
    std::string_view package, version;
};
struct SwapRanks {
    static constexpr Lever lever{"swap_ranks", "exchange RANK of two processes"};
    Rank a, b;
};
struct PatchProgram {
    static constexpr Lever lever{"patch_program", "run another text of the program on a rank"};
    Rank rank;
    std::string_view patch;
};
struct BreakPackage {
    static constexpr Lever lever{"break_package", "break a package"};
    Rank rank;
    std::string_view package, problem;
    bool shadowed = false;            // it is whole, and another copy is found first
    std::string_view built_for = {};  // "torch 2.4": harmless where that is installed
};
struct TakePort {
    static constexpr Lever lever{"take_port", "take a port"};
    int node;
    std::string_view port;
    bool mute;  // accepts connections and never answers
};
struct BreakName {
    static constexpr Lever lever{"break_name", "break a host name"};
    Rank rank;
    std::string_view host;
    NameTrouble how;
};
struct ShareStore {
    static constexpr Lever lever{"share_store", "let another job meet in the same store"};
    std::string_view run_id;
    std::int64_t ranks;  // of that job that have come; -1 = as many as this one has
};
struct AddInterface {
    static constexpr Lever lever{"add_interface", "add a network interface"};
    int node;
    std::string_view name;
    bool routable, sorts_first;
    std::int64_t bandwidth = 0;  // that sockets over it reach; 0 = the link's
};
struct RenameInterface {
    static constexpr Lever lever{"rename_interface", "rename a network interface or take it away"};
    int node;
    std::string_view name, new_name;  // empty: it is gone
};

// ── At any time.
struct Kill {
    static constexpr Lever lever{"kill", "kill a process"};
    Rank rank;
    int signal;
};
struct Exit {
    static constexpr Lever lever{"exit", "make a rank's own code raise and leave"};
    Rank rank;
    int code;
    std::string_view says;
};
struct Stop {
    static constexpr Lever lever{"stop", "stop a process (SIGSTOP)"};
    Rank rank;
};
struct Resume {
    static constexpr Lever lever{"resume", "let a stopped process go on"};
    Rank rank;
};
// A lever with parts: a backend may have some of them, and the parts are what capabilities name.
struct ChangeDevice {
    static constexpr Lever lever{"change_device", "change a device"};
    static constexpr Lever fault{"change_device.fault", "break a device"};
    static constexpr Lever leak{"change_device.leak", "leak a device's memory"};
    static constexpr Lever memory{"change_device.memory", "limit a device's memory"};
    static constexpr Lever slow{"change_device.slow", "slow a device down"};
    static constexpr std::array parts{fault, leak, memory, slow};
    Rank rank;
    DeviceChange change;
};
struct ChangeHost {
    static constexpr Lever lever{"change_host", "change a host"};
    static constexpr Lever clock{"change_host.clock", "set a host's clock"};
    static constexpr Lever direct{"change_host.direct",
                                  "keep a host's network cards from its devices' memory"};
    static constexpr Lever down{"change_host.down", "take a whole host away"};
    static constexpr Lever limits{"change_host.limits", "limit what a host grants"};
    static constexpr Lever firewall{"change_host.firewall", "close the ports of a host"};
    static constexpr Lever peers{"change_host.peers", "keep a host's devices from each other's memory"};
    static constexpr std::array parts{clock, direct, down, firewall, limits, peers};
    int node;
    HostChange change;
};
struct ChangeLink {
    static constexpr Lever lever{"change_link", "change a link"};
    static constexpr Lever down{"change_link.down", "cut a link"};
    static constexpr Lever loss{"change_link.loss", "lose messages on a link"};
    static constexpr Lever slow{"change_link.slow", "slow a link down"};
    static constexpr std::array parts{down, loss, slow};
    LinkChange change;
};
struct ChangeStorage {
    static constexpr Lever lever{"change_storage", "damage files"};
    StorageChange change;
};
struct ChangeStore {
    static constexpr Lever lever{"change_store", "change the way to a store"};
    Rank rank;
    StoreChange change;
};
struct Preempt {
    static constexpr Lever lever{"preempt", "take the machines away from the whole job"};
    std::string_view reason;
};

// ── At the moment that triggered: alters that rank's call under way.
struct AlterCall {
    static constexpr Lever lever{"alter_call", "alter a call"};
    static constexpr Lever answer{"alter_call.answer", "make a call answer an error"};
    static constexpr Lever count{"alter_call.count", "change a call's number of elements"};
    static constexpr Lever delay{"alter_call.delay", "delay a call"};
    static constexpr Lever dtype{"alter_call.dtype", "change a call's element type"};
    static constexpr Lever flip{"alter_call.flip", "flip a bit of a call's payload"};
    static constexpr Lever hang{"alter_call.hang", "keep a call from completing"};
    static constexpr Lever hold{"alter_call.hold", "exchange a call with the next one"};
    static constexpr Lever operation{"alter_call.operation", "exchange an operation for another"};
    static constexpr Lever root{"alter_call.root", "name another root"};
    static constexpr Lever skip{"alter_call.skip", "leave a call out"};
    static constexpr std::array parts{answer, count, delay, dtype, flip, hang, hold, operation, root, skip};
    Rank rank;
    Alteration change;
};

// ── Named values and blocks of the workload: last until taken back, from the next time they are passed.
struct BendValue {
    static constexpr Lever lever{"bend", "bend a value of the program"};
    Rank rank;
    std::string_view seam;
    Bend bend;
};
struct Unbend {
    static constexpr Lever lever{"unbend", "straighten a value of the program"};
    Rank rank;
    std::string_view seam;
};
struct SkipBlock {
    static constexpr Lever lever{"skip_block", "leave out a block of the program"};
    Rank rank;
    std::string_view block;
    bool skip;
};
struct CheckValue {
    static constexpr Lever lever{"check_value", "add a check to the program"};
    Rank rank;
    std::string_view seam;
    std::optional<ValueCheck> check;  // none: it is taken back
};

// One pull of any of them. Its texts belong to the fault and live as long as the call.
using Pull = std::variant<SetEnv, UnsetEnv, SetVersion, SwapRanks, PatchProgram, BreakPackage, TakePort,
                          BreakName, ShareStore, AddInterface, RenameInterface, Kill, Exit, Stop, Resume,
                          ChangeDevice, ChangeHost, ChangeLink, ChangeStorage, ChangeStore, Preempt,
                          AlterCall, BendValue, Unbend, SkipBlock, CheckValue>;

// What the program must ask for before a pull has any effect: a seam, a block, a variable, a version.
struct Subject {
    Rank rank;
    std::string name;  // "shard.offset", "NCCL_ALGO", "nccl"

    bool operator==(const Subject&) const = default;
};
std::optional<Subject> subject_of(const Pull& pull);  // none: the pull has its effect by itself

// What a backend lets a fault do.
class Levers {
public:
    virtual ~Levers() = default;

    // Where things are. Faults aim with these.
    virtual Rank ranks() const = 0;
    virtual int node_of(Rank rank) const = 0;
    virtual std::vector<Rank> ranks_of(int node) const {
        std::vector<Rank> there;
        for (Rank rank = 0; rank < ranks(); ++rank) {
            if (node_of(rank) == node) there.push_back(rank);
        }
        return there;
    }

    // Errors: unsupported (the backend lacks the lever, or cannot move it so), bad_input (it names nothing).
    virtual Result<Done> pull(const Pull& pull) = 0;

    // Has the program asked for it since the pull? Nothing: this backend does not watch.
    virtual std::optional<bool> was_requested(const Subject&) const { return std::nullopt; }
};

// A backend derives from this and has one `Result<Done> carry_out(const X&)`, public, for each lever X that
// it has: `class SimLevers final : public LeversOf<SimLevers>`.
template <class Backend>
class LeversOf : public Levers {
public:
    Result<Done> pull(const Pull& pull) final {
        return std::visit(
            [this]<class Record>(const Record& record) -> Result<Done> {
                if constexpr (has<Record>()) return static_cast<Backend&>(*this).carry_out(record);
                return missing(Record::lever);
            },
            pull);
    }

    // Its levers by name, for Capabilities: those that it carries out, part by part, without those `lacked`.
    static std::vector<std::string> names(const std::vector<std::string_view>& lacked = {});

protected:
    // The refusal of a lever that this backend does not have.
    virtual tl::unexpected<scenarios::Error> missing(const Lever& lever) const = 0;

private:
    template <class Record>
    static constexpr bool has() {
        return requires(Backend & backend, const Record& record) { backend.carry_out(record); };
    }
    template <class Record>
    static std::vector<Lever> levers_of() {
        if constexpr (!has<Record>())
            return {};
        else if constexpr (requires { Record::parts; })
            return {Record::parts.begin(), Record::parts.end()};
        else
            return {Record::lever};
    }
    template <class... Records>
    static std::vector<std::vector<Lever>> levers_among(const std::variant<Records...>*) {
        return {levers_of<Records>()...};
    }
};

template <class Backend>
std::vector<std::string> LeversOf<Backend>::names(const std::vector<std::string_view>& lacked) {
    std::vector<std::string> names;
    for (const std::vector<Lever>& levers : levers_among(static_cast<const Pull*>(nullptr))) {
        for (const Lever& lever : levers) {
            if (std::find(lacked.begin(), lacked.end(), lever.name) == lacked.end()) names.push_back(lever);
        }
    }
    return names;
}

}  // namespace deadrank::inject
