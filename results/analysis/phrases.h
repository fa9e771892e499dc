// results/analysis/phrases.h — The one table of phrases that frameworks, launchers, schedulers and kernels
// print: what each is about, and the finding that it speaks for. All phrases are general; none is about one
// incident.
#pragma once

#include <array>
#include <span>
#include <string_view>

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

struct Phrase {
    std::string_view words = {};
    std::string_view beside = {};  // further words required in the same text
    Topic topic = Topic::none;
    Nearness nearness = Nearness::none;
    std::string_view symptom = {};                // empty: the job ended, nothing more is known
    std::array<std::string_view, 3> causes = {};  // likeliest first
    bool (*also)(std::string_view text) = nullptr;
    bool only_last = false;  // means something only among the last lines of a log
};

// Findings: the specific before the general.
std::span<const Phrase> all_phrases();

struct PhraseMatch {
    const Phrase* finding = nullptr;  // the first in the table that a finding follows from
    Topic topic = Topic::none;        // the first topic of any
};

// One pass over the text.
PhraseMatch match_phrases(std::string_view text);

}  // namespace deadrank::results::analysis
