// inject/faults/startup_faults.cpp — Faults that a job meets before it starts: environment, versions,
// packages, ranks, ports and names.
#include <fmt/format.h>
#include <numeric>

#include "inject/core/fault.h"
#include "scenarios/model/enum_words.h"

namespace deadrank::inject {

// A rank starts with the wrong environment: a stale launch script, one node's own profile.
extern const FaultRow set_env_row{
    {.name = "set_env",
     .what = "An environment variable of the process has another value.",
     .parameters = {rank_parameter(),
                    {"name", ValueType::text, "", "the variable"},
                    {"value", ValueType::text, "", "its value; absent = empty", {}, true}},
     .levers = {SetEnv::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string name = spec.text("name");
        const std::string value = spec.text("value");
        return make_simple_fault(spec, {.apply =
                                            [name, value](Levers& levers, Rank rank) {
                                                return levers.pull(SetEnv{rank, name, value});
                                            },
                                        .blame = aimed(spec, {.variable = name})});
    }};

// A variable that the launcher, the container or the scheduler should have passed on is not there.
extern const FaultRow unset_env_row{
    {.name = "unset_env",
     .what = "An environment variable of the process is missing.",
     .parameters = {rank_parameter(), {"name", ValueType::text, "", "the variable"}},
     .levers = {UnsetEnv::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string name = spec.text("name");
        return make_simple_fault(spec, {.apply =
                                            [name](Levers& levers, Rank rank) {
                                                return levers.pull(UnsetEnv{rank, name});
                                            },
                                        .blame = aimed(spec, {.variable = name})});
    }};

// Two processes got each other's rank: a host file in another order, ranks derived from host names.
extern const FaultRow swap_ranks_row{
    {.name = "swap_ranks",
     .what = "RANK of two processes is exchanged.",
     .parameters = {{"rank", ValueType::ranks, "", "the two: [1, 2], \"any 2\", …"}},
     .levers = {SwapRanks::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::vector<std::int64_t> pair = spec.ranks();
        const auto swap = [pair](Levers& levers, Rank rank) -> Result<Done> {
            if (pair.size() != 2) {
                return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                         "swap_ranks needs two ranks, not " + std::to_string(pair.size()),
                                         "`rank = \"any 2\"` draws two");
            }
            if (rank == pair.back()) return Done{};  // both have their occasion, and one exchange is enough
            return levers.pull(SwapRanks{static_cast<Rank>(pair.front()), static_cast<Rank>(pair.back())});
        };
        return make_simple_fault(spec, {.apply = swap, .blame = aimed(spec, {.variable = "RANK"})});
    }};

// A rank runs another version of a package than its peers: one image was rebuilt, one node was not.
extern const FaultRow skew_version_row{
    {.name = "skew_version",
     .what = "A package has another version on these ranks.",
     .parameters = {rank_parameter(),
                    {"package", ValueType::text, "", "nccl, torch, cuda, driver, python, …"},
                    {"version", ValueType::text, "", "the version they see"}},
     .levers = {SetVersion::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string package = spec.text("package");
        const std::string version = spec.text("version");
        return make_simple_fault(spec, {.apply =
                                            [package, version](Levers& levers, Rank rank) {
                                                return levers.pull(SetVersion{rank, package, version});
                                            },
                                        .blame = aimed(spec, {.component = package})});
    }};

// The program has the bug of a report: what its fix changed, the other way round.
extern const FaultRow patch_program_row{
    {.name = "patch_program",
     .what = "The program is another one: a patch puts the bug into it. For the workload python.",
     .parameters = {{"rank",
                     ValueType::ranks,
                     "",
                     "the ranks that run it, which are then to blame; absent = all, and none is to blame",
                     {},
                     true},
                    {"patch", ValueType::text, "",
                     "what it changes, as a unified diff whose hunks may begin with @@ alone"}},
     .levers = {PatchProgram::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string patch = spec.text("patch");
        return make_simple_fault(spec, {.apply =
                                            [patch](Levers& levers, Rank rank) {
                                                std::vector<Rank> ranks = {rank};
                                                if (rank == results::no_rank) {
                                                    ranks.resize(static_cast<std::size_t>(levers.ranks()));
                                                    std::iota(ranks.begin(), ranks.end(), 0);
                                                }
                                                return for_each(ranks, [&](Rank one) {
                                                    return levers.pull(PatchProgram{one, patch});
                                                });
                                            },
                                        .blame = aimed(spec)});
    }};

// The last line of the traceback, as the public reports of each problem have it.
namespace {

enum class PackageProblem {
    not_installed,
    missing_symbol,
    wrong_found_first,
    abi_skew,
    missing_header,
    missing_compiler,
    other_cuda_major,
};
constexpr auto enum_words(PackageProblem) {
    return std::to_array<std::string_view>({"not_installed", "missing_symbol", "wrong_found_first",
                                            "abi_skew", "missing_header", "missing_compiler",
                                            "other_cuda_major"});
}

std::string last_line_of(const std::string& package, PackageProblem problem, const std::string& symbol) {
    const auto not_built = [&](std::string_view why) {
        return fmt::format("RuntimeError: Error building extension '{}': {}", package, why);
    };
    switch (problem) {
        case PackageProblem::not_installed:
            return fmt::format("ModuleNotFoundError: No module named '{}'", package);
        case PackageProblem::missing_symbol:
            return fmt::format("ImportError: cannot import name '{}' from '{}'", symbol, package);
        case PackageProblem::wrong_found_first:
            return fmt::format(
                "ImportError: /usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so: undefined "
                "symbol: {}CommRegister",
                package);
        case PackageProblem::abi_skew:
            return fmt::format(
                "ImportError: /usr/lib/python3/site-packages/{}_cuda.cpython-311-x86_64-linux-gnu.so: "
                "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcEE",
                package);
        case PackageProblem::missing_header:
            return not_built("fatal error: Python.h: No such file or directory");
        case PackageProblem::missing_compiler:
            return not_built("/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found");
        case PackageProblem::other_cuda_major:
            return "deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: "
                   "Installed "
                   "CUDA "
                   "version 12.2 does not match the version torch was compiled with 11.7, unable to compile "
                   "cuda/cpp "
                   "extensions without a matching cuda version.";
    }
    return {};
}

}  // namespace

// A package cannot be built, found or imported on some ranks, or another one is found first.
extern const FaultRow break_package_row{
    {.name = "break_package",
     .what = "A package fails when the rank builds or loads it.",
     .parameters = {rank_parameter(),
                    {"package", ValueType::text, "", "nccl, torch, cuda, …"},
                    {"problem", ValueType::choice, "not_installed", "what is wrong with it",
                     scenarios::list_words<PackageProblem>()},
                    {"symbol", ValueType::text, "log", "missing_symbol: the name that cannot be imported"},
                    {"built_for",
                     ValueType::text,
                     "",
                     "package and release that it was built for, as \"torch 2.4\": where a rank has these, "
                     "nothing fails; absent = none fits",
                     {},
                     true}},
     .levers = {BreakPackage::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string package = spec.text("package");
        const auto problem = scenarios::read_word<PackageProblem>(spec.text("problem"))
                                 .value_or(PackageProblem::not_installed);
        const std::string says = last_line_of(package, problem, spec.text("symbol"));
        const auto apply = [package, says, shadowed = problem == PackageProblem::wrong_found_first,
                            built_for = spec.text("built_for")](Levers& levers, Rank rank) {
            return levers.pull(BreakPackage{rank, package, says, shadowed, built_for});
        };
        return make_simple_fault(spec, {.apply = apply, .blame = aimed(spec, {.component = package})});
    }};

// Another process listens on the rendezvous port: another job, or an orphan of the last one.
extern const FaultRow take_port_row{
    {.name = "take_port",
     .what = "A port of the node is taken before the job comes.",
     .parameters = {node_parameter(),
                    {"port", ValueType::text, "29500", "the number of the port"},
                    {"mute", ValueType::boolean, "false",
                     "accepts connections and never answers, so that nobody is told"}},
     .levers = {TakePort::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const auto take = [nodes = nodes_of(spec), port = spec.text("port"), mute = spec.number("mute") != 0](
                              Levers& levers, Rank) {
            return for_each(nodes, [&](int node) { return levers.pull(TakePort{node, port, mute}); });
        };
        return make_simple_fault(spec, {.apply = take, .blame = aimed(spec, {.variable = "MASTER_PORT"})});
    }};

// Some ranks cannot use the published address: their resolver does not know the name, or cannot reach it.
extern const FaultRow break_name_row{
    {.name = "break_name",
     .what = "A host name does not lead to its host for these ranks.",
     .parameters =
         {rank_parameter(),
          {"host", ValueType::text, "node0",
           "the name; own = that of the host that the rank is on. Gloo without GLOO_SOCKET_IFNAME "
           "gives its peers the address that its own host's name leads to"},
          {"how",
           ValueType::choice,
           "unresolvable",
           "unknown to the resolver; known and out of reach; or leading to the loopback, 127.0.1.1, "
           "as /etc/hosts of Debian has a host's own name. Of its own host's name each of them "
           "leaves gloo the loopback (of the first two torch warns), and its peers on other nodes "
           "are refused at once",
           {"unresolvable", "unroutable", "loopback"}}},
     .levers = {BreakName::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string host = spec.text("host");
        const NameTrouble how = results::name_trouble_named(spec.text("how"));
        return make_simple_fault(spec,
                                 {.apply =
                                      [host, how](Levers& levers, Rank rank) {
                                          return levers.pull(BreakName{rank, host, how});
                                      },
                                  .blame = aimed(spec, {.variable = host == "own" ? "" : "MASTER_ADDR"})});
    }};

// Two jobs, or a job and what an earlier one left behind, have one name in a store that outlives both.
extern const FaultRow share_store_row{
    {.name = "share_store",
     .what = "Another job meets in the same store: its ranks have come, and its keys are there.",
     .parameters = {{"run_id", ValueType::text, "none",
                     "that job's name; it is met where [cluster] run_id is the same"},
                    {"ranks",
                     ValueType::integer,
                     "",
                     "how many of its ranks have come; absent = as many as this job has",
                     {},
                     true,
                     0}},
     .levers = {ShareStore::lever},
     .at_start = true,
     .kept_store = true},
    [](const FaultSpec& spec) {
        const std::string run_id = spec.text("run_id");
        const auto share = [run_id, ranks = spec.number("ranks", -1)](Levers& levers, Rank) {
            return levers.pull(ShareStore{run_id, ranks});
        };
        return make_simple_fault(
            spec, {.apply = share,
                   .blame = aimed(spec, {.variable = "TORCHELASTIC_RUN_ID", .component = "store"})});
    }};

// A node has one more network interface than expected: a container bridge, a management network.
extern const FaultRow add_interface_row{
    {.name = "add_interface",
     .what = "The node has a further network interface, which NCCL may choose wrongly; gloo, where "
             "GLOO_SOCKET_IFNAME names it.",
     .parameters = {node_parameter(),
                    {"name", ValueType::text, "veth0", "the interface"},
                    {"routable", ValueType::boolean, "false", "can peers be reached through it?"},
                    {"sorts_first", ValueType::boolean, "true", "is it listed before the right one?"},
                    {"bandwidth",
                     ValueType::rate,
                     "",
                     "that sockets over it reach; absent = the link's own",
                     {},
                     true,
                     1}},
     .levers = {AddInterface::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string name = spec.text("name");
        const auto add = [nodes = nodes_of(spec), name, routable = spec.number("routable") != 0,
                          first = spec.number("sorts_first") != 0,
                          bandwidth = spec.number("bandwidth")](Levers& levers, Rank) {
            return for_each(nodes, [&](int node) {
                return levers.pull(AddInterface{node, name, routable, first, bandwidth});
            });
        };
        return make_simple_fault(spec, {.apply = add, .blame = aimed(spec, {.component = name})});
    }};

// A node lacks an interface that all others have, or knows it by another name: another slot, driver or image.
extern const FaultRow remove_interface_row{
    {.name = "remove_interface",
     .what = "A network interface of the node is not there, or has another name.",
     .parameters =
         {node_parameter(),
          {"name", ValueType::text, "eth0", "the interface, as [cluster] interfaces has it"},
          {"new_name", ValueType::text, "", "what it is called instead; absent = it is gone", {}, true}},
     .levers = {RenameInterface::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string name = spec.text("name"), new_name = spec.text("new_name");
        const auto remove = [nodes = nodes_of(spec), name, new_name](Levers& levers, Rank) {
            return for_each(nodes, [&](int node) {
                return levers.pull(RenameInterface{node, name, new_name});
            });
        };
        return make_simple_fault(spec, {.apply = remove, .blame = aimed(spec, {.component = name})});
    }};

}  // namespace deadrank::inject
