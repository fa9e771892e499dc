// sim/program/builtins_groups.cpp — Process groups and their ranks, as torch makes them.
// Texts: torch.distributed 2.11.
#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "sim/framework_parts/release_breaks.h"
#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"
#include "sim/program/queues.h"

namespace deadrank::sim::program {

// The default group is what a call takes that names none.
bool stated(const Value& value) {
    return !value.is(Type::unset) && !value.is(Type::none) &&
           !(value.is(Type::group) && value.group().is_world);
}

namespace {

Group& group_in(const Value& value, std::string_view call) {
    if (!value.is(Type::group)) raise("TypeError", fmt::format("{}() takes a group", call));
    return value.group();
}

std::vector<Rank> all_ranks(Interpreter& rank) {
    std::vector<Rank> all;
    for (Rank member = 0; member < rank.host().size(); ++member) all.push_back(member);
    return all;
}

std::vector<Rank> members_in(Interpreter& rank, const Value& list) {
    std::vector<Rank> ranks;
    for (const Value& member : items_of(list)) {
        const std::int64_t number = as_whole(member, "a rank");
        if (number < 0 || number >= rank.host().size())
            raise("RuntimeError",
                  "The new group's rank should be within the world_size set by init_process_group");
        ranks.push_back(static_cast<Rank>(number));
    }
    std::sort(ranks.begin(), ranks.end());
    if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end())
        raise("ValueError", "The new group's ranks must be unique");
    return ranks;
}

// timeout= and backend=
GroupBounds bounds_in(const Value& timeout, const Value& backend) {
    GroupBounds bounds;
    if (stated(timeout)) {
        bounds.timeout = time_in(timeout);
        if (bounds.timeout <= Time{0}) raise("ValueError", "a group's timeout must be positive");
    }
    if (!stated(backend)) return bounds;
    const std::string& name = text_in(backend, "backend");
    if (name != "nccl" && name != "gloo") raise("ValueError", fmt::format("Invalid backend: '{}'", name));
    bounds.library = name == "gloo" ? CommLibrary::gloo : CommLibrary::nccl;
    return bounds;
}

Value made_group(Interpreter& rank, std::string name, std::vector<Rank> ranks, const GroupBounds& bounds) {
    auto group = std::make_shared<Group>();
    group->ranks = std::move(ranks);
    const std::string number = std::to_string(++rank.groups_made);
    group->name = name.empty() ? number : std::move(name);
    connect_world(rank, "new_group", anywhere);
    group->own = rank.host().new_group(group->name, group->ranks, bounds.timeout, bounds.library);
    group->place = group_place(rank);
    if (group->own) rank.seldom().groups.push_back(group);
    return Value::of(std::move(group));
}

Value new_group(Interpreter& rank, Arguments& given) {
    std::vector<Rank> ranks = stated(given[0]) ? members_in(rank, given[0]) : all_ranks(rank);
    // torch takes an empty list for the default group, and its constructor then refuses a rank of None.
    if (ranks.empty()) raise("TypeError", "__init__(): incompatible constructor arguments.");
    return made_group(rank, stated(given[1]) ? text_in(given[1], "name") : "", std::move(ranks),
                      bounds_in(given[2], given[3]));
}

}  // namespace

Value own_and_all(Interpreter& rank, const std::vector<std::vector<Rank>>& lists, const std::string& name,
                  const GroupBounds& bounds) {
    std::vector<Value> all;
    Value own = Value::none();
    for (const auto& list : lists) {
        all.push_back(made_group(rank, name, list, bounds));
        if (all.back().group().own) own = all.back();
    }
    return Value::new_list({own, Value::new_list(std::move(all))});
}

namespace {

Value new_subgroups(Interpreter& rank, Arguments& given) {
    const std::vector<Rank> ranks =
        stated(given[4]) ? group_in(given[4], "new_subgroups").ranks : all_ranks(rank);
    const std::int64_t world = std::ssize(ranks);
    const std::int64_t size =
        stated(given[0]) ? as_whole(given[0], "group_size") : rank.world().device().visible();
    if (size < 1) raise("ValueError", fmt::format("The arg 'group_size' ({}) must be positive", size));
    if (size > world)
        raise("ValueError",
              fmt::format("The arg 'group_size' ({}) must not exceed the world size ({})", size, world));
    if (world % size != 0)
        raise("ValueError",
              fmt::format("The world size ({}) must be divisible by 'group_size={}'", world, size));
    std::vector<std::vector<Rank>> lists(static_cast<std::size_t>(world / size));
    for (std::int64_t place = 0; place < world; ++place)
        lists[static_cast<std::size_t>(place / size)].push_back(ranks[static_cast<std::size_t>(place)]);
    return own_and_all(rank, lists, stated(given[1]) ? text_in(given[1], "name") : "",
                       bounds_in(given[2], given[3]));
}

Value new_subgroups_by_enumeration(Interpreter& rank, Arguments& given) {
    std::vector<std::vector<Rank>> lists;
    std::vector<Rank> seen;
    for (const Value& list : items_of(given[0])) {
        lists.push_back(members_in(rank, list));
        for (const Rank member : lists.back()) {
            if (std::find(seen.begin(), seen.end(), member) != seen.end())
                raise("ValueError", fmt::format("Rank {} has appeared in both subgroup {} and {}", member,
                                                lists.size() - 2, lists.size() - 1));
            seen.push_back(member);
        }
    }
    return own_and_all(rank, lists, stated(given[1]) ? text_in(given[1], "name") : "",
                       bounds_in(given[2], given[3]));
}

Value get_rank(Interpreter& rank, Arguments& given) {
    if (!stated(given[0])) return Value::whole(rank.host().rank());
    const Comm* own = group_in(given[0], "get_rank").own.get();
    return Value::whole(own ? own->rank() : -1);
}

Value get_world_size(Interpreter& rank, Arguments& given) {
    if (!stated(given[0])) return Value::whole(rank.host().size());
    const Comm* own = group_in(given[0], "get_world_size").own.get();
    return Value::whole(own ? own->size() : -1);
}

Value get_backend(Interpreter& rank, Arguments& given) {
    const Comm* own = stated(given[0]) ? group_in(given[0], "get_backend").own.get() : &rank.host().comm();
    if (!own) raise("ValueError", "Invalid process group specified");
    return Value::new_text(own->moves_host_memory() ? "gloo" : "nccl");
}

Value get_process_group_ranks(Interpreter& rank, Arguments& given) {
    std::vector<Value> ranks;
    for (const Rank member :
         stated(given[0]) ? group_in(given[0], "get_process_group_ranks").ranks : all_ranks(rank))
        ranks.push_back(Value::whole(member));
    return Value::new_list(std::move(ranks));
}

Value get_global_rank(Interpreter& rank, Arguments& given) {
    const std::int64_t asked = as_whole(given[1], "group_rank");
    const auto ranks = stated(given[0]) ? group_in(given[0], "get_global_rank").ranks : all_ranks(rank);
    if (asked < 0 || asked >= std::ssize(ranks))
        raise("ValueError", fmt::format("Group rank {} is not part of group {}", asked, repr(given[0])));
    return Value::whole(ranks[static_cast<std::size_t>(asked)]);
}

Value get_group_rank(Interpreter& rank, Arguments& given) {
    const std::int64_t asked = as_whole(given[1], "global_rank");
    const auto ranks = stated(given[0]) ? group_in(given[0], "get_group_rank").ranks : all_ranks(rank);
    const auto found = std::find(ranks.begin(), ranks.end(), asked);
    if (found == ranks.end())
        raise("ValueError", fmt::format("Global rank {} is not part of group {}", asked, repr(given[0])));
    return Value::whole(found - ranks.begin());
}

std::optional<Rank> stated_rank(const Value& value, std::string_view what) {
    const std::int64_t number = stated(value) ? as_whole(value, what) : -1;
    if (number < 0) return std::nullopt;
    if (number > INT32_MAX) raise("ValueError", fmt::format("{} = {} is out of all bounds", what, number));
    return static_cast<Rank>(number);
}

Value init_process_group(Interpreter& rank, Arguments& given) {
    const GroupBounds bounds = bounds_in(given[2], given[0]);
    StartRequest request{.rank = stated_rank(given[4], "rank"),
                         .size = stated_rank(given[3], "world_size"),
                         .timeout = bounds.timeout,
                         .library = bounds.library};
    if (stated(given[1])) request.method = text_in(given[1], "init_method");
    if (stated(given[5])) {
        if (stated(given[1])) raise("AssertionError", "Cannot specify both init_method and store.");
        if (!request.size) raise("AssertionError", "world_size must be positive if using store");
        if (!request.rank) raise("AssertionError", "rank must be non-negative if using store");
        std::tie(request.store, request.method) = store_in(rank, given[5]);
    }
    // A process that has not chosen its device yet may still do so before the first call.
    const bool places = rank.program().places_tensors || rank.program().chooses_device;
    request.with_first_call = places && !rank.device_chosen && !stated(given[6]);
    rank.world_bound = !request.with_first_call;
    const OnDevice on(rank, given[6]);
    rank.host().start(request);
    rank.bound_device = rank.world().device().index();
    rank.groups_made = 0;
    rank.world_place = group_place(rank);
    return Value::none();
}

// dist.group.WORLD: None where there is no default group.
Value default_group(Interpreter& rank, Arguments&) {
    if (!rank.host().started()) return Value::none();
    if (!rank.whole) {
        rank.whole = std::make_shared<Group>();
        rank.whole->is_world = true;
        rank.whole->name = "default_pg";
        rank.whole->ranks = all_ranks(rank);
    }
    return Value::of(rank.whole);
}

Value is_initialized(Interpreter& rank, Arguments&) { return Value::boolean(rank.host().started()); }

// torch before 2.6 aborts its communicators; since then it lets NCCL come to their end.
bool waits_for_the_library(Interpreter& rank) {
    return release_of(rank.world().env().version("torch")) >= Release{2, 6};
}

void destroy_all_groups(Interpreter& rank) {
    auto& groups = rank.seldom().groups;
    for (; !groups.empty(); groups.pop_back())
        if (const auto group = groups.back().lock(); group && group->own) group->own->destroy();
}

// Of the default group: all groups, the last one first.
Value destroy_process_group(Interpreter& rank, Arguments& given) {
    const bool waits = waits_for_the_library(rank);
    if (waits && rank.queues()) rank.queues()->streams().wait_for_all();
    if (stated(given[0])) {
        Group& group = group_in(given[0], "destroy_process_group");
        if (waits && group.own) group.own->destroy();
        group.own.reset();
        free_buffers(rank, group.buffers);
    } else {
        if (waits && rank.host().started()) destroy_all_groups(rank);
        free_all_buffers(rank);
        rank.host().leave(waits);
        rank.whole = nullptr;
    }
    return Value::none();
}

}  // namespace

// Ranks in calls are those of the world.
Rank place_of(const Comm& comm, const Value& asked, const Value& group, std::string_view what) {
    const std::int64_t global = as_whole(asked, what);
    if (!stated(group)) {
        if (global < 0 || global >= comm.size())
            raise("ValueError", fmt::format("Invalid {} rank {}: the group has ranks 0 to {}", what, global,
                                            comm.size() - 1));
        return static_cast<Rank>(global);
    }
    const auto& ranks = group.group().ranks;
    const auto found = std::find(ranks.begin(), ranks.end(), global);
    if (found == ranks.end())
        raise("ValueError",
              fmt::format("Global rank {} is not part of group {}", global, group.group().name));
    return static_cast<Rank>(found - ranks.begin());
}

Rank root_of(const Comm& comm, const Value& global, const Value& local, const Value& group,
             std::string_view what) {
    if (!stated(local)) {
        if (!stated(global)) raise("ValueError", "Must specify global_rank or group_rank");
        return place_of(comm, global, group, what);
    }
    if (stated(global)) raise("ValueError", "Can't specify both group_rank and global_rank");
    const std::int64_t place = as_whole(local, what);
    if (place < 0 || place >= comm.size())
        raise("ValueError", fmt::format("Group rank {} is not part of group {}", place,
                                        stated(group) ? group.group().name : "default_pg"));
    return static_cast<Rank>(place);
}

std::vector<BuiltinRow> group_builtins() {
    return {{"new_group", new_group},
            {"new_subgroups", new_subgroups},
            {"new_subgroups_by_enumeration", new_subgroups_by_enumeration},
            {"get_rank", get_rank},
            {"get_world_size", get_world_size},
            {"get_backend", get_backend},
            {"get_process_group_ranks", get_process_group_ranks},
            {"get_global_rank", get_global_rank},
            {"get_group_rank", get_group_rank},
            {"init_process_group", init_process_group},
            {"is_initialized", is_initialized},
            {"_get_default_group", default_group},
            {"destroy_process_group", destroy_process_group}};
}

}  // namespace deadrank::sim::program
