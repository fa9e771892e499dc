// results/analysis/phrases.h — The one table of phrases that frameworks, launchers, schedulers and kernels
// print: what each is about, and the finding that it speaks for. All phrases are general; none is about one
// incident.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::analysis {

// How near a line is to the cause. The first kinds beat the later ones, whatever came first in time: a rank
// that waits for a dead rank often complains before the launcher reports the death.
enum class Nearness {
    hardware,  // a kernel or a driver reports a fault of the machine
    own,       // an error of the process that prints it
    link,      // a transport gave up on a peer
    waiting,   // a bound on a collective, a barrier, a heartbeat ran out
    echo,      // a peer is gone: another process failed
    ending,    // a launcher says how a process ended
    stopped,   // ended from outside: a user, a time limit, a preemption
    finished,  // proof that the job came to its end
    none,      // no finding follows from the phrase alone
};

// What a complaint is about. Where a text has phrases of several topics, the first of them here decides:
// "[rank1] saving step_100: No space left on device" is about saving.
enum class Topic {
    launcher,  // a report on the end of another process
    mismatch,  // ranks issued different calls
    timeout,   // a watchdog, or a bound on one operation
    setup,     // rendezvous, bootstrap, communicator
    pinned,    // host memory, though NCCL calls it out of memory
    memory,    // of a device
    host,      // host memory, shared memory, descriptors
    saving,
    unreadable,  // a checkpoint
    reshard,
    disk,
    build,
    import,
    native,     // illegal access, a signal
    device,     // hardware or driver
    driver,     // what a driver refuses to do for software
    placement,  // tensors on two devices
    shape,
    connection,  // an established connection broke
    loading,     // model, tokenizer, data set
    none,        // no complaint
};

// One particular thing that a phrase shows, for those who ask for it by name.
enum class Sign {
    none,
    variable_absent,    // a variable of set-up is not set
    address_taken,      // nobody can listen there
    name_unresolved,    // a host's name leads nowhere
    unroutable,         // there is no way to that address
    device_refused,     // the node has no device of that number
    device_twice,       // two ranks are on one device, and are named behind it
    device_shared,      // a rank may share a device if it says so
    clients_joined,     // how many of the ranks came: the words before it
    key_awaited,        // a bound on a wait for a key of the store ran out
    read_timed_out,     // and on an answer of it
    store_unreached,    // nobody answered at the store's address
    store_lost,         // the connection to the store was closed
    disk_full,          // or a quota used up
    kernel_assert,      // a kernel of a device refused its input
    driver_error,       // of CUDA's driver or runtime
    driver_too_old,     // for the runtime
    never_initialized,  // a group is used before it is made
    no_interface,       // NCCL has no interface of that name
    no_address,         // nor has gloo
    no_plugin,          // for NCCL's network
    no_algorithm,       // nor an algorithm of that name
    retries_exhausted,  // NCCL found nobody at an address
    no_queue_pair,      // between two InfiniBand ports
};

// Who ended a job from outside, or which limit.
enum class StopKind { none, time_limit, preempted, cancelled, interrupted, terminated, aborted };
std::string_view name_of(StopKind kind);

struct Phrase {
    std::string_view words = {};
    std::string_view beside = {};  // further words required in the same text
    Topic topic = Topic::none;
    Nearness nearness = Nearness::none;
    scenarios::Symptom symptom = scenarios::Symptom::none;  // none: the job ended, nothing more is known
    scenarios::Cause cause = scenarios::Cause::none;        // the one that the words name, if they name one
    Sign sign = Sign::none;
    StopKind stop = StopKind::none;
    std::string_view stopped_by = {};  // "Slurm's time limit"
    bool (*also)(std::string_view text) = nullptr;
    bool only_last = false;   // means something only among the last lines of a log
    std::uint16_t place = 0;  // in the table
};

// Findings: the specific before the general.
std::span<const Phrase> all_phrases();

struct PhraseMatch {
    const Phrase* finding = nullptr;  // the first in the table that a finding follows from
    Topic topic = Topic::none;        // the first topic of any
};

// One pass over the text.
PhraseMatch match_phrases(std::string_view text);

// The text from the phrase on that shows this; empty if none does.
std::string_view find_sign(std::string_view text, Sign sign);
bool shows(std::string_view text, Sign sign);

}  // namespace deadrank::results::analysis
