// runners/manual/meanings.cpp — What a word of a scenario file or of the environment means, for `deadrank
// explain` and the manual: tables, keys, settings, environment variables, and the words of closed lists.
#include "runners/manual/meanings.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runners/manual/markdown.h"
#include "runners/manual/output_words.h"
#include "scenarios/format/file_words.h"
#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::manual {

// ── Looks up one word in the manual's tables.

namespace {

using scenarios::Kind;
using scenarios::Parameter;

std::string plain_default(const Parameter& parameter) {
    if (!parameter.fallback.empty()) return parameter.fallback;
    return parameter.optional ? "" : "required";
}

void add(Meaning& meaning, const char* label, std::string text) {
    if (!text.empty()) meaning.rows.emplace_back(label, std::move(text));
}

Meaning of_parameter(std::string what, const Parameter& parameter) {
    Meaning meaning{std::move(what), parameter.name, parameter.what};
    add(meaning, "type", type_text(parameter));
    add(meaning, "default", plain_default(parameter));
    return meaning;
}

// The meaning of a whole table, made of its parameters.
Meaning of_table(std::string id, std::string says, const std::vector<Parameter>& parameters) {
    Meaning meaning{"table", std::move(id), std::move(says)};
    for (const Parameter& parameter : parameters) {
        const std::string usual = plain_default(parameter);
        meaning.rows.emplace_back(
            parameter.name, fmt::format("{}{} — {}", type_text(parameter),
                                        usual.empty() ? "" : fmt::format(" [{}]", usual), parameter.what));
    }
    return meaning;
}

struct Table {
    const char *name, *header, *says;
    const std::vector<Parameter>& (*parameters)();
};
constexpr Table plan_tables[] = {
    {"cluster", "[cluster]", "The machines, and what keeps an eye on the job.",
     scenarios::cluster_parameters},
    {"when", "when",
     "On each of the fault's ranks, in logical time: the moment at which the fault acts. What is "
     "left out matches everything.",
     scenarios::trigger_parameters},
};

// "heal.change" of "[[heal.change]]".
std::string bare(const std::string& header) {
    const auto from = header.find_first_not_of('[');
    return from == std::string::npos ? "" : header.substr(from, header.find(']') - from);
}

void explain_tables(const Library& library, const std::string& word, std::vector<Meaning>& found) {
    for (const Table& table : plan_tables) {
        if (word == table.name) found.push_back(of_table(word, table.says, table.parameters()));
        for (const Parameter& parameter : table.parameters()) {
            const std::size_t dot = parameter.name.find('.');
            if (parameter.name == word || parameter.name.substr(0, dot) == word)
                found.push_back(of_parameter(fmt::format("key of {}", table.header), parameter));
        }
    }
    for (const scenarios::FileTable& table : scenarios::file_tables(library.taxonomy)) {
        if (!word.empty() && bare(table.name) == word) {
            Meaning meaning{"table", word, table.what};
            for (const auto& key : table.keys) meaning.rows.emplace_back(key.name, key.what);
            found.push_back(std::move(meaning));
        }
        for (const auto& key : table.keys) {
            if (key.name != word) continue;
            Meaning meaning{table.name.empty() ? "key of a scenario" : "key of " + table.name, word,
                            key.what};
            add(meaning, "type", std::string(scenarios::form_name(key.form)));
            if (key.list.empty()) add(meaning, "words", fmt::format("{}", fmt::join(key.words, ", ")));
            add(meaning, "words", key.list);
            found.push_back(std::move(meaning));
        }
    }
    const auto kinds = [&](const char* table, const char* says, const std::vector<Kind>& all) {
        if (word != table) return;
        Meaning meaning{"table", word, says};
        for (const Kind& kind : all) meaning.rows.emplace_back(kind.name, std::string(unstopped(kind.what)));
        found.push_back(std::move(meaning));
    };
    kinds("workload", "The job that runs: `kind` names one of these, and the other keys are its settings.",
          library.vocabulary.workloads);
    kinds("fault", "What is done to the job: `kind` names one of these, and `when` the moment.",
          library.vocabulary.faults);
}

// Settings of workloads and parameters of faults: kinds that describe it in the same words share one meaning.
void explain_settings(const char* what, const std::vector<Kind>& kinds, const std::string& word,
                      std::vector<Meaning>& found) {
    std::vector<std::pair<const Parameter*, std::vector<std::string>>> ways;
    for (const Kind& kind : kinds) {
        for (const Parameter& parameter : kind.parameters) {
            if (parameter.name != word) continue;
            const auto known = std::find_if(ways.begin(), ways.end(), [&](const auto& way) {
                return way.first->what == parameter.what && way.first->fallback == parameter.fallback;
            });
            if (known == ways.end()) {
                ways.push_back({&parameter, {kind.name}});
            } else {
                known->second.push_back(kind.name);
            }
        }
    }
    for (const auto& [parameter, of] : ways) {
        found.push_back(of_parameter(what, *parameter));
        add(found.back(), "of", fmt::format("{}", fmt::join(of, ", ")));
    }
}

void explain_listed(const std::string& word, std::vector<Meaning>& found) {
    for (const scenarios::ListedWord& one : scenarios::listed_words()) {
        if (one.word == word) found.push_back({std::string(one.list), word, std::string(one.says)});
    }
    for (const OutputWord& one : output_words()) {
        if (is_same_word(one.word, word))
            found.push_back({std::string(one.where), std::string(one.word), std::string(one.says)});
    }
    const auto& calls = scenarios::call_words();
    const bool is_call = std::find(calls.begin(), calls.end(), word) != calls.end();
    const bool told =
        std::any_of(found.begin(), found.end(), [](const Meaning& one) { return one.what == "call"; });
    if (is_call && !told)
        found.push_back({"call", word,
                         "An operation of a communicator; `before` in a fault's `when` waits for it, "
                         "and `comm` says of which communicator."});
    for (const EnvironmentWord& one : environment_words()) {
        if (one.name == word)
            found.push_back(
                {fmt::format("environment variable, read by {}", one.reader), word, std::string(one.says)});
    }
}

}  // namespace

std::vector<Meaning> meanings_of(const Library& library, const std::string& word) {
    std::vector<Meaning> found;
    explain_tables(library, word, found);
    explain_settings("setting of workloads", library.vocabulary.workloads, word, found);
    explain_settings("parameter of faults", library.vocabulary.faults, word, found);
    explain_listed(word, found);
    return found;
}

std::vector<std::string> words_with_meaning(const Library& library) {
    std::vector<std::string> words = {"workload", "fault"};
    for (const Table& table : plan_tables) {
        words.emplace_back(table.name);
        for (const Parameter& parameter : table.parameters()) words.push_back(parameter.name);
    }
    for (const scenarios::FileTable& table : scenarios::file_tables(library.taxonomy)) {
        if (!table.name.empty()) words.push_back(bare(table.name));
        for (const auto& key : table.keys) words.push_back(key.name);
    }
    for (const auto* kinds : {&library.vocabulary.workloads, &library.vocabulary.faults}) {
        for (const Kind& kind : *kinds) {
            for (const Parameter& parameter : kind.parameters) words.push_back(parameter.name);
        }
    }
    for (const scenarios::ListedWord& one : scenarios::listed_words()) words.emplace_back(one.word);
    for (const std::string& call : scenarios::call_words()) words.push_back(call);
    for (const OutputWord& one : output_words()) words.emplace_back(one.word);
    for (const EnvironmentWord& one : environment_words()) words.emplace_back(one.name);
    return words;
}

// ── One line per variable; a scenario sets the first ones in [cluster.environment] or with the fault
// set_env.

namespace {

constexpr std::string_view simulated = "a simulated job";

const EnvironmentWord words_of_a_job[] = {
    {simulated, "RANK", "which rank a process believes to be"},
    {simulated, "WORLD_SIZE", "how many ranks it waits for"},
    {simulated, "LOCAL_RANK", "which device it takes"},
    {simulated, "LOCAL_WORLD_SIZE", "how many ranks its host has; without it no process begins"},
    {simulated, "MASTER_ADDR", "where the store is looked for"},
    {simulated, "MASTER_PORT", "and at which port"},
    {simulated, "CUDA_VISIBLE_DEVICES", "which devices a process sees, in which order"},
    {simulated, "PYTHONHASHSEED",
     "what hash() of a text is in a program: without it each process has another one"},
    {simulated, "LD_LIBRARY_PATH",
     "where libraries are looked for first: a system's own may hide the bundled one"},
    {simulated, "TORCHELASTIC_RESTART_COUNT",
     "set by torchrun: how often the job was started again. It stands before each key of a store that is "
     "kept "
     "(`store` of [cluster]), so ranks that have another count do not meet; a store in rank 0 does not ask "
     "for it"},
    {simulated, "TORCHELASTIC_RUN_ID",
     "name of the job, which stands before each key of a store that is kept; `run_id` of [cluster] sets it"},
    {simulated, "OMP_NUM_THREADS",
     "threads of a rank that share its `host_work`; 1 unless set, as torchrun does it"},
    {simulated, "PET_NNODES", "set by torchrun with `nodes_min`: the least and the most nodes of the job"},
    {simulated, "TORCH_DISTRIBUTED_DEBUG", "DETAIL compares fingerprints before each collective"},
    {simulated, "NCCL_ALGO", "Ring or Tree; a word that is neither ends the start"},
    {simulated, "NCCL_BUFFSIZE", "bytes that a message between nodes is cut into; ranks that differ break"},
    {simulated, "NCCL_COMM_ID", "host:port of the bootstrap root; one without a port is never reached"},
    {simulated, "NCCL_DEBUG", "WARN prints warnings, INFO and TRACE also what was chosen"},
    {simulated, "NCCL_IB_DISABLE",
     "1 = plain sockets between nodes, at two fifths of the bandwidth where nodes have RDMA cards (`rdma`)"},
    {simulated, "NCCL_IB_GID_INDEX",
     "where [cluster] states a `gid_index`: another number keeps ranks of different nodes from connecting"},
    {simulated, "NCCL_IB_HCA",
     "network cards that a rank may use: prefixes, =exact, ^not, of mlx5_0 to as many as `nics` says; "
     "devices "
     "whose own card is not among them share those that are; where none is left, sockets are taken"},
    {simulated, "NCCL_IB_RETRY_CNT", "how often a transfer is sent again before it is given up (7)"},
    {simulated, "NCCL_IB_TIMEOUT", "how long each try takes, as a power of two (20)"},
    {simulated, "NCCL_MAX_NCHANNELS", "channels at most; each is a share of a link's bandwidth"},
    {simulated, "NCCL_NET", "Socket or IB; another word ends the start, and so does IB without RDMA cards"},
    {simulated, "NCCL_NET_GDR_LEVEL",
     "LOC or 0 = no GPUDirect: data between nodes is copied through host memory, at half the bandwidth"},
    {simulated, "NCCL_NET_GDR_READ",
     "0 = what a rank sends is copied so, what it receives is not: seven tenths of the bandwidth"},
    {simulated, "NCCL_P2P_DISABLE",
     "1 = devices of a node reach each other through shared memory, at a tenth of NVLink's bandwidth"},
    {simulated, "NCCL_P2P_LEVEL", "LOC = the same; other levels change nothing here"},
    {simulated, "NCCL_SOCKET_IFNAME",
     "interfaces that the bootstrap, and sockets, may use: prefixes, =exact, ^not. Where none is left a rank "
     "fails, on one node as well; the loopback lo counts as one, and reaches no other node"},
    {simulated, "GLOO_SOCKET_IFNAME",
     "with library = \"gloo\", and for a program's groups with backend=\"gloo\": the interface, by its whole "
     "name; a rank whose node has none of it fails"},
};

}  // namespace

const std::vector<EnvironmentWord>& environment_words() {
    static constexpr std::string_view us = "deadrank", standin = "the stand-in", shims = "the shims";
    static const std::vector<EnvironmentWord> words = [] {
        std::vector<EnvironmentWord> all(std::begin(words_of_a_job), std::end(words_of_a_job));
        all.insert(
            all.end(),
            {
                {us, "DEADRANK_CATALOG", "directory of scenarios, as --catalog"},
                {us, "DEADRANK_HOME",
                 "directory that holds runners/backends/local, when it is not near the program"},
                {us, "DEADRANK_PROGRESS",
                 "file that gets the newest line of progress, for a program that shows it"},
                {us, "DEADRANK_PYTHON", "the Python whose torch plays real jobs"},
                {us, "DEADRANK_TOOLS", "environment with other people's detection tools"},
                {us, "DEADRANK_STANDIN", "1 or a directory: --runner gpu plays on our own NCCL and CUDA"},
                {us, "DEADRANK_NCCL_PATH", "directories of NCCL releases, for skewed versions on GPUs"},
                {us, "XDG_CACHE_HOME", "where ./dev keeps its environments, else ~/.cache"},
                {us, "NO_COLOR", "no colours on a terminal"},
                {us, "COLUMNS", "the width of a terminal"},

                {shims, "DEADRANK_NET_ADDRESS", "address that the NCCL network plugin listens at"},
                {standin, "DEADRANK_STANDIN_DEVICES", "how many devices a machine has"},
                {standin, "DEADRANK_STANDIN_GPU", "their model: h100, a100 or b200"},
                {standin, "DEADRANK_STANDIN_MEMORY", "memory of each device in MiB, instead of the model's"},
                {standin, "DEADRANK_STANDIN_LENIENT",
                 "set: a kernel without a host version does nothing, instead of raising an error"},
                {standin, "DEADRANK_OPERATORS",
                 "how operators of cuda tensors are computed: compiled, dispatch (needs no compiler) or off"},
                {standin, "DEADRANK_OPERATORS_RNG",
                 "cpu: random operators of cuda tensors continue the CPU generator's sequence"},
                {standin, "DEADRANK_STANDIN_KERNELS", "library with kernels of a program of yours"},
                {standin, "DEADRANK_STANDIN_LOG", "set: every call that is not played is printed"},
                {standin, "NCCL_DEBUG", "as NCCL's own"},
                {standin, "NCCL_DEBUG_FILE", "as NCCL's own"},
                {standin, "NCCL_HOSTID", "as NCCL's own: processes that have the same are on one host"},
            });
        return all;
    }();
    return words;
}

}  // namespace deadrank::runners::manual
