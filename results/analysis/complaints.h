// results/analysis/complaints.h — What ranks complained of in their own words, and whose complaint came
// first.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/analysis/findings.h"
#include "results/analysis/lives.h"

namespace deadrank::results::analysis {

// ── What ranks said when something went wrong, sorted by topic. The texts are those of NCCL, c10d, gloo,
// torchrun, DeepSpeed and Megatron, as printed; a job need not print anything else.

enum class Trouble {
    none,
    launcher,    // a report on the end of another process
    mismatch,    // ranks issued different calls
    timeout,     // a watchdog, or a bound on one operation
    connection,  // an established connection broke
    setup,       // rendezvous, bootstrap, communicator
    memory,      // of a device
    host,        // host memory, shared memory, descriptors, disk
    build,
    import,
    device,      // hardware or driver
    native,      // illegal access, a signal
    unreadable,  // a checkpoint
    saving,
    reshard,
    loading,  // model, tokenizer, data set
    shape,
    placement,  // tensors on two devices
    exception,  // any other
};

// What the text is about; `none` if it is no complaint.
Trouble classify_trouble(std::string_view text);

// The phrases that decide it, in the order of their topics; some count only where more is said.
struct KnownWords {
    std::string_view words;
    Trouble trouble;
};
std::vector<KnownWords> list_known_phrases();

// The connection to the rendezvous store was closed.
bool is_store_loss(std::string_view text);

// Whether the process began and ended another step after that time, in the same attempt.
bool continued_training(const Evidence& evidence, Rank process, Time time);

struct Complaint {
    Time at{0};
    Rank process = no_rank;
    int attempt = 0;
    Trouble trouble = Trouble::none;
    std::string_view text;
    CommId comm = 0;     // of comm.error; 0 = unknown
    bool final = false;  // the process died of it, or said so in a traceback
};

// What the words are about, of a process that has done and said this before: its set-up may lie behind it.
Trouble classify_complaint(const Evidence& evidence, const Complaint& complaint);

class Complaints {
public:
    explicit Complaints(const Evidence& evidence);

    const std::vector<Complaint>& all() const { return all_; }  // in order of time, without the launcher's
    // The first complaint of each process in that attempt, in order of time.
    std::vector<Complaint> first_of_each(int attempt) const;

private:
    std::vector<Complaint> all_;
};

// The last line of an error that a rank logged in that attempt by that time; empty if there is none.
std::string_view last_error_line(const Evidence& evidence, int attempt, Rank rank, Time by);

// Ranks whose first complaint is about one kind of trouble, at about the same time. A rank that complains of
// something else first is a victim, or a separate case.
struct Outbreak {
    int attempt = 0;
    Time at{0};
    std::vector<Rank> ranks = {};           // ascending; complained within a second of the first
    std::string_view text = {};             // of the first rank
    std::optional<std::int64_t> step = {};  // of the first rank; none before training

    bool includes(Rank rank) const { return std::count(ranks.begin(), ranks.end(), rank) > 0; }
};

// The first outbreak of each attempt.
std::vector<Outbreak> find_outbreaks(const Evidence& evidence, Trouble trouble);

// The step that a rank was in at that time.
std::optional<std::int64_t> step_at(const Evidence& evidence, Rank process, Time time);

// Whether all of these ranks caught the error: each entered another call and was not ended by the error, but
// still waits, was killed, or ran into a time-out.
bool outlived(const Evidence& evidence, const Outbreak& outbreak);

// A finding that says which ranks, how many, and quotes the first one.
Finding finding_of(const Evidence& evidence, const Outbreak& outbreak, std::string_view symptom,
                   std::vector<std::string> causes);

// When each process of an attempt left the rendezvous, `never` where it did not; empty if nobody came there.
std::vector<Time> list_rendezvous_times(const Evidence& evidence, int attempt);

// The exception of a process that had not left the rendezvous yet, about a store, an address, a port or a
// variable that set-up needs. An import or an argument that fails there is no failure of communication.
bool is_rendezvous_failure(const Complaint& complaint, const std::vector<Time>& met);

// "KeyError: 'MASTER_ADDR'": the variable of set-up that the words miss; empty if none.
std::string find_missing_variable(std::string_view words);

}  // namespace deadrank::results::analysis
