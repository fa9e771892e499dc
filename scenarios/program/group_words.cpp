// scenarios/program/group_words.cpp — torch.distributed as a program calls it: groups, collectives, messages
// and the store.
#include "scenarios/program/program_words.h"

namespace deadrank::scenarios::program {

namespace {

constexpr std::string_view gather_words =
    "`ValueError: output tensor size must be equal to world_size times input tensor size`, `TypeError: "
    "output tensor must have the same type as input tensor`";
constexpr std::string_view scatter_words =
    "`ValueError: input tensor must be the same size as output size times world size`, `TypeError: output "
    "tensor must have the same type as input tensor`";
constexpr std::string_view no_group =
    "`ValueError: Default process group has not been initialized, …`; a group that the rank is not in is "
    "passed over with a warning, as torch does";
constexpr std::string_view not_in_group = "`ValueError: Global rank 5 is not part of group tp`";
constexpr std::string_view calls = "collective.enter, collective.leave";
constexpr std::string_view messages = "p2p.enter, p2p.leave";
constexpr std::string_view meetings = "rendezvous.enter, rendezvous.leave, comm.init.enter, comm.init.leave";

constexpr BuiltinWord rows_of_groups[] = {
    {"Groups", "new_group(ranks=None, name=\"\", timeout=None, backend=None)",
     "a communicator among these ranks, or all. As torch has it, every rank of the world calls it for every "
     "group, in one order, and waits for the others; who is no member gets a handle that takes part in "
     "nothing. `timeout`, as \"30s\" or timedelta(seconds=30), is how long the watchdog lets the rank's "
     "calls in "
     "it run; what making it waits for at the store it does not bound. `backend` is nccl or gloo, which "
     "moves "
     "what lies in the node's memory too. Without them both are those of [cluster]",
     "`ValueError: Default process group has not been initialized, …`, `torch.distributed.DistStoreError: "
     "Timed out initializing process group in store based barrier on rank: …`; of `[]`, `TypeError: "
     "__init__(): "
     "incompatible constructor arguments.`",
     meetings},
    {"Groups", "new_subgroups(group_size=None, name=\"\", timeout=None, backend=None, group=None)",
     "cuts the world, or a group of it, into groups of so many ranks, or as many as a node has devices; "
     "gives "
     "[the own one, all of them], which have one name. All ranks of the world call it",
     "`ValueError: The world size (4) must be divisible by 'group_size=3'`", meetings},
    {"Groups", "new_subgroups_by_enumeration(ranks_per_subgroup_list, name=\"\", timeout=None, backend=None)",
     "likewise, of lists of ranks", "`ValueError: Rank 1 has appeared in both subgroup 0 and 1`", meetings},
    {"Groups", "init_device_mesh(device_type, mesh_shape, mesh_dim_names=None)",
     "all ranks in one dimension or more: init_device_mesh(\"cuda\", (2, 4), (\"dp\", \"tp\")) is of rows "
     "and columns, and makes the groups of each dimension, which have its name",
     "`RuntimeError: Mesh should not be bigger than default world size 4, but found 8 ranks!`", meetings},
    {"Groups", "get_rank(group=None)", "the rank's place in it; -1 where it is no member"},
    {"Groups", "get_world_size(group=None)", "how many members it has; -1 where the rank is none"},
    {"Groups", "get_backend(group=None)", "the library of its calls: \"nccl\" or \"gloo\""},
    {"Groups", "get_process_group_ranks(group=None)", "its members, as ranks of the world"},
    {"Groups", "get_global_rank(group, group_rank)", "the rank of the world at that place of it",
     "`ValueError: Group rank 5 is not part of group tp`"},
    {"Groups", "get_group_rank(group, global_rank)", "the place in it of a rank of the world", not_in_group},
    {"Groups",
     "init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, "
     "device_id=None)",
     "with `start = \"own\"`: reads the environment, meets the others at the store and makes the world's "
     "communicator, as other workloads do before their first step. `rank` and `world_size` that are stated "
     "go "
     "before RANK and WORLD_SIZE. `init_method`: env:// is MASTER_ADDR and MASTER_PORT; tcp://node0:29501 is "
     "a "
     "host and a port, where rank 0 listens; file:///shared/meeting is a file that all see, and "
     "file:///node0/meeting one of that node. The last rank that ends well removes the file; one that a "
     "killed "
     "job left, or `earlier`, holds its keys: ranks meet nobody and look for a root that is gone. `backend` "
     "and "
     "`timeout` are those of the world; without them, of [cluster]. Fewer ranks than were started are a "
     "world "
     "of their own where they meet apart, at an address, a file or a `store` of theirs, with `world_size` "
     "stated: `rank` and `world_size`, and ranks in calls, are then those of it, and its communicators show "
     "the processes that it is made of. After destroy_process_group there may be another, of the same ranks "
     "or others. Where torchrun's agent, a service or a file keeps the store it has to be at another address "
     "or prefix: there the key of the first one is found. `device_id`: the "
     "device over which the world's calls go; see [devices](#devices)",
     "all that start-up refuses; `ValueError: Error initializing torch.distributed using tcp:// rendezvous: "
     "rank "
     "parameter missing`, `RuntimeError: No rendezvous handler for …`; a rank beyond the world: `Invalid "
     "rank "
     "requested : 5/4`; twice: `ValueError: trying to initialize the default process group twice!`; `NCCL "
     "error: ncclSystemError … connect to the root of a ncclUniqueId of another round`",
     meetings},
    {"Groups", "_get_default_group()",
     "the default group as a value, for `group=`, `destroy_process_group` and its `abort()`; "
     "`dist.group.WORLD` is the same. None where there is no default group"},
    {"Groups", "is_initialized()", "whether the rank has a default group"},
    {"Groups", "destroy_process_group(group=None)",
     "leaves it, or all groups. Over NCCL it waits, as torch does since 2.6: until the rank's own calls in "
     "the "
     "group have come to their end, and then for the other members on its node to destroy it too, since NCCL "
     "frees together what they share. Who has ended is not waited for. The wait has no bound but the "
     "watchdog's "
     "for calls under way: a rank that destroys its groups in `finally`, while others wait for it in a "
     "collective, hangs. The log has `Starting to destroy process group, flushing operations.` before, and "
     "`Operations flushed, joining watchdog thread.` after it. Over gloo, with an older torch and by "
     "`abort()` it "
     "leaves at once",
     no_group},

    {"Collectives", "all_reduce(tensor, op=\"sum\", group=None, async_op=False)",
     "in place; op is sum, avg, max, min or prod, also as `ReduceOp.SUM`. float16 and bfloat16 are rounded "
     "once, after the sum",
     no_group, calls},
    {"Collectives", "broadcast(tensor, src=None, group=None, async_op=False, group_src=None)",
     "in place, from this rank of the world, or of the group", not_in_group, calls},
    {"Collectives", "reduce(tensor, dst=None, op=\"sum\", group=None, async_op=False, group_dst=None)",
     "as all_reduce, for one rank alone", not_in_group, calls},
    {"Collectives", "all_gather(tensor, input=None, group=None, async_op=False)",
     "all_gather(x) gives a list of the members' tensors, and takes each of them to be of x's shape. "
     "all_gather(tensors, x) fills a list, as torch has it; tensors of different sizes become a broadcast of "
     "each member's",
     no_group, calls},
    {"Collectives", "all_gather_into_tensor(output, input, group=None, async_op=False)",
     "one behind the other, into a tensor that is there; only the number of elements has to fit",
     gather_words, calls},
    {"Collectives", "reduce_scatter_tensor(output, input, op=\"sum\", group=None, async_op=False)",
     "each member's part of the sum", scatter_words, calls},
    {"Collectives", "reduce_scatter(output, input_list, op=\"sum\", group=None, async_op=False)",
     "likewise, of a list with one tensor for each member; different sizes become a reduce to each",
     scatter_words, calls},
    {"Collectives",
     "all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, "
     "async_op=False)",
     "rows for each member: equal parts, or so many as the lists say. With sizes it is what NCCL makes of "
     "it, messages within one call: who expects rows that nobody sends waits for them, with "
     "`async_op=True` in the handle's wait(), and rows that do not fit are truncated",
     "`RuntimeError: Split sizes doesn't match total dim 0 size`, `RuntimeError: Tensor's dim 0 does not "
     "divide "
     "equally across group size`, `RuntimeError: Number of tensor splits not equal to group size`, "
     "`ValueError: "
     "Tensors must be of equal type`",
     "collective.enter, collective.leave; with sizes p2p.enter, p2p.leave"},
    {"Collectives", "all_to_all(output_list, input_list, group=None, async_op=False)",
     "likewise, of lists with one tensor for each member", "`ValueError: Tensors must be of equal type`",
     messages},
    {"Collectives", "gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None)",
     "into a list that dst has; messages, as with NCCL. dst is 0 if it is not stated",
     "`ValueError: Argument ``gather_list`` must be specified on destination rank.`", messages},
    {"Collectives",
     "scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None)",
     "out of a list that src has; likewise",
     "`ValueError: Argument ``scatter_list`` must be specified on source rank.`", messages},
    {"Collectives", "barrier(group=None, async_op=False)",
     "until all members have come; a handle with async_op", no_group, calls},
    {"Collectives", "monitored_barrier(group=None, timeout=\"5m\", wait_all_ranks=False)",
     "a barrier over the store, in which the group's first rank names who did not come",
     "`RuntimeError: [Rank 0]: Rank 3 failed to pass monitoredBarrier in 300000 ms`; on others "
     "`RuntimeError: "
     "Rank 1 successfully reached monitoredBarrier, but received errors while waiting for send/recv from "
     "rank "
     "0. …`"},
    {"Collectives", "all_gather_object(value, input=None, group=None)",
     "a list of the members' values: numbers, texts, lists, dicts, tensors, objects; all_gather_object(list, "
     "value) fills a list. Two calls, as torch makes: their lengths, then as much as the longest needs",
     "`RuntimeError: an object of another kind came`", calls},
    {"Collectives", "gather_object(value, object_gather_list=None, dst=None, group=None, group_dst=None)",
     "into a list that dst has; all take part in the same two calls",
     "`ValueError: Argument ``gather_list`` must be specified on destination rank.`", calls},
    {"Collectives", "broadcast_object(value, src=None, group=None, group_src=None)",
     "the value of that rank; likewise two calls", not_in_group, calls},
    {"Collectives", "broadcast_object_list(object_list, src=None, group=None, group_src=None)",
     "torch's own: the objects of a list, in place", not_in_group, calls},
    {"Collectives", "scatter_object_list(output_list, input_list=None, src=None, group=None, group_src=None)",
     "one object for each member, into output_list[0]",
     "`ValueError: Argument ``scatter_object_input_list`` must be specified on source rank, …`", calls},

    {"Messages", "send(tensor, dst=None, tag=0, group=None, group_dst=None)", "until the other one takes it",
     "`ValueError: Invalid destination rank: destination rank should not be the same as the rank of the "
     "current process.`",
     messages},
    {"Messages", "recv(tensor, src=None, tag=0, group=None, group_src=None)",
     "into a tensor that is there; gives the rank that sent it. Without a src, what was sent first, by "
     "whomever: gloo's groups alone know that",
     "`ValueError: Invalid source rank: …`, `RuntimeError: Backend nccl does not support recvAnysource`",
     messages},
    {"Messages", "isend(tensor, dst=None, tag=0, group=None, group_dst=None)",
     "does not wait: the handle's wait() does", "", messages},
    {"Messages", "irecv(tensor, src=None, tag=0, group=None, group_src=None)", "likewise", "", messages},
    {"Messages", "P2POp(op, tensor, peer, group=None, tag=0, group_peer=None)",
     "a message to be made: P2POp(isend, x, 1)", "`ValueError: Invalid ``op``. …`"},
    {"Messages", "batch_isend_irecv(p2p_op_list)",
     "begins all of them before any is waited for; a list of handles, each of which waits for its own "
     "message. "
     "NCCL makes one kernel of a batch: the next batch of the same group begins when all messages of this "
     "one "
     "are through, so ranks that send in a batch alone, and receive in the next one, wait for each other",
     "`ValueError: p2p_op_list must not be empty`, `ValueError: All ops need to use the same group.`",
     messages},
    {"Messages", "group_start(group=None)", "until group_end, calls wait for each other only at its end"},
    {"Messages", "group_end(group=None)", "waits for all of them together"},

    {"Store", "store_set(key, value)",
     "at the rendezvous store, which all ranks share. torchrun's agent on node 0 keeps it as long as the "
     "ranks of an attempt live. With another launcher, or `store = \"rank\"` in [cluster], it is rank 0's "
     "and goes "
     "with it: who asks for a key in `finish` may come too late",
     "`torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. …` once its host has ended"},
    {"Store", "store_set_once(key, value)", "sets it where it has no value yet; what it holds then"},
    {"Store", "store_get(key, timeout=\"5m\")", "waits for it; a text",
     "`torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /key`"},
    {"Store", "store_add(key, amount)", "the sum after it: a counter"},
    {"Store", "store_check(key)", "whether it is set, without waiting"},
    {"Store",
     "TCPStore(host_name, port, world_size=None, is_master=False, timeout=\"5m\", wait_for_workers=True, "
     "multi_tenant=False, use_libuv=True)",
     "a store of the program's own, which the master hosts as long as it lives: with `world_size` the master "
     "waits for so many, as torch's does. \"localhost\" and 127.0.0.1 are each node's own, here and in "
     "`init_method`",
     "`torch.distributed.DistNetworkError: The client socket has timed out after 300000ms while trying to "
     "connect to (node0, 29600).`, `… EADDRINUSE …`, `torch.distributed.DistStoreError: Timed out after 301 "
     "seconds waiting for clients. 1/4 clients joined.`"},
    {"Store", "FileStore(file_name, world_size=-1)",
     "keys in a file that all see; the last of so many ranks that ends well removes it"},
    {"Store", "PrefixStore(prefix, store)", "the same store, with `prefix/` before each key"},
    {"Store", "_get_default_store()", "the one of the default group, under `default_pg/`"},
};

}  // namespace

std::span<const BuiltinWord> group_words() { return rows_of_groups; }

}  // namespace deadrank::scenarios::program
