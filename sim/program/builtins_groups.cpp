// sim/program/builtins_groups.cpp — Process groups, their ranks, and meshes of them, as torch makes them.
// Texts: torch.distributed 2.11.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

bool stated(const Value& value) { return !value.is(Type::unset) && !value.is(Type::none); }

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

Value made_group(Interpreter& rank, std::string name, std::vector<Rank> ranks) {
    auto group = std::make_shared<Group>();
    group->ranks = std::move(ranks);
    const std::string number = std::to_string(++rank.groups_made);
    group->name = name.empty() ? number : std::move(name);
    group->own = rank.host().new_group(group->name, group->ranks);
    return Value::of(std::move(group));
}

Value new_group(Interpreter& rank, Arguments& given) {
    std::vector<Rank> ranks = stated(given[0]) ? members_in(rank, given[0]) : all_ranks(rank);
    return made_group(rank, stated(given[1]) ? text_in(given[1], "name") : "", std::move(ranks));
}

// The own group, and all of them.
Value own_and_all(Interpreter& rank, const std::vector<std::vector<Rank>>& lists, const std::string& name) {
    std::vector<Value> all;
    Value own = Value::none();
    for (const auto& list : lists) {
        all.push_back(made_group(rank, name, list));
        if (all.back().group().own) own = all.back();
    }
    return Value::new_list({own, Value::new_list(std::move(all))});
}

Value new_subgroups(Interpreter& rank, Arguments& given) {
    const std::int64_t size = as_whole(given[0], "group_size"), world = rank.host().size();
    if (size < 1) raise("ValueError", fmt::format("The arg 'group_size' ({}) must be positive", size));
    if (size > world)
        raise("ValueError",
              fmt::format("The arg 'group_size' ({}) must not exceed the world size ({})", size, world));
    if (world % size != 0)
        raise("ValueError",
              fmt::format("The world size ({}) must be divisible by 'group_size={}'", world, size));
    std::vector<std::vector<Rank>> lists(static_cast<std::size_t>(world / size));
    for (const Rank member : all_ranks(rank))
        lists[static_cast<std::size_t>(member / size)].push_back(member);
    return own_and_all(rank, lists, stated(given[1]) ? text_in(given[1], "name") : "");
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
    return own_and_all(rank, lists, stated(given[1]) ? text_in(given[1], "name") : "");
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

Value init_process_group(Interpreter& rank, Arguments&) {
    rank.host().start();
    return Value::none();
}

Value is_initialized(Interpreter& rank, Arguments&) { return Value::boolean(rank.host().started()); }

Value destroy_process_group(Interpreter& rank, Arguments& given) {
    if (stated(given[0]))
        group_in(given[0], "destroy_process_group").own.reset();
    else
        rank.host().leave();
    return Value::none();
}

// Meshes: all groups of each dimension are made by all ranks, one dimension after the other, the last one
// varying fastest.

std::vector<Value> numbers(const std::vector<std::int64_t>& from) {
    std::vector<Value> values;
    for (const std::int64_t number : from) values.push_back(Value::whole(number));
    return values;
}

// The groups of one dimension: ranks that differ in that coordinate alone.
std::vector<std::vector<Rank>> lists_along(const Shape& shape, std::size_t dim, Rank world) {
    const Blocks blocks = blocks_of(shape, dim);
    std::vector<std::vector<Rank>> lists(static_cast<std::size_t>(blocks.outer * blocks.inner));
    for (Rank member = 0; member < world; ++member) {
        const std::int64_t outer = member / (blocks.size * blocks.inner), inner = member % blocks.inner;
        lists[static_cast<std::size_t>(outer * blocks.inner + inner)].push_back(member);
    }
    return lists;
}

Value init_device_mesh(Interpreter& rank, Arguments& given) {
    const Shape shape = shape_from(Value::new_list({given[1]}));
    std::vector<Value> names;
    if (stated(given[2])) names = items_of(given[2]);
    if (stated(given[2]) && names.size() != shape.size())
        raise("RuntimeError", fmt::format("mesh_shape and mesh_dim_names should have same length! Found "
                                          "len(mesh_dim_names): {} and len(mesh_shape):{}.",
                                          names.size(), shape.size()));
    std::int64_t all = 1;
    for (const std::int64_t size : shape) all = size < 1 || all > INT32_MAX ? 0 : all * size;
    const Rank world = rank.host().size();
    if (all > world)
        raise("RuntimeError",
              fmt::format("Mesh should not be bigger than default world size {}, but found {} ranks!", world,
                          all));
    if (all != world)
        raise("ValueError",
              fmt::format("a mesh of {} ranks for {}: here a mesh is of all ranks", all, world));
    auto mesh = std::make_shared<Instance>();
    mesh->kind = mesh_kind;
    mesh->name = "DeviceMesh";
    std::vector<Value> groups, place;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const std::string name = names.empty() ? "" : text_in(names[dim], "a name of a dimension");
        const Value own = own_and_all(rank, lists_along(shape, dim, world), name).list().items[0];
        groups.push_back(own);
        place.push_back(Value::whole(own.group().own ? own.group().own->rank() : -1));
    }
    set_field(mesh->fields, "mesh_dim_names", Value::new_list(names));
    set_field(mesh->fields, "shape", Value::new_list(numbers(shape)));
    set_field(mesh->fields, "groups", Value::new_list(std::move(groups)));
    set_field(mesh->fields, "coordinate", Value::new_list(std::move(place)));
    return Value::of(std::move(mesh));
}

const std::vector<Value>& mesh_list(const Value& mesh, std::string_view name) {
    return find_field(mesh.instance().fields, name)->list().items;
}

std::size_t mesh_dim(const Value& mesh, const std::vector<Value>& arguments) {
    const auto& names = mesh_list(mesh, "mesh_dim_names");
    const std::size_t dims = mesh_list(mesh, "shape").size();
    if (!is_stated(arguments, 0)) {
        if (dims != 1)
            raise("RuntimeError",
                  fmt::format("Found the DeviceMesh have {} dimensions. Optional kwarg `mesh_dim` "
                              "needs to be specified when device_mesh.ndim > 1.",
                              dims));
        return 0;
    }
    if (!arguments[0].is(Type::text)) return dimension(as_whole(arguments[0], "mesh_dim"), dims);
    for (std::size_t dim = 0; dim < names.size(); ++dim)
        if (names[dim].text() == arguments[0].text()) return dim;
    raise("KeyError", fmt::format("Invalid mesh_dim_names {} specified. Valid mesh_dim_names are {}.",
                                  repr(arguments[0]), repr(Value::new_list(names))));
}

}  // namespace

Value mesh_part(Interpreter&, const Value& mesh, const Value& name) {
    const std::size_t dim = mesh_dim(mesh, {name});
    auto part = std::make_shared<Instance>();
    part->kind = mesh_kind;
    part->name = "DeviceMesh";
    for (const auto& [field, value] : mesh.instance().fields) {
        const auto& all = value.list().items;
        set_field(part->fields, field,
                  Value::new_list(dim < all.size() ? std::vector<Value>{all[dim]} : all));
    }
    return Value::of(std::move(part));
}

Value mesh_method(const Value& mesh, const std::string& name, const std::vector<Value>& arguments) {
    if (name == "get_group") return mesh_list(mesh, "groups")[mesh_dim(mesh, arguments)];
    if (name == "get_local_rank") return mesh_list(mesh, "coordinate")[mesh_dim(mesh, arguments)];
    if (name == "get_coordinate") return Value::new_list(mesh_list(mesh, "coordinate"));
    if (name == "size" && is_stated(arguments, 0)) return mesh_list(mesh, "shape")[mesh_dim(mesh, arguments)];
    if (name == "size") {
        std::int64_t all = 1;
        for (const Value& size : mesh_list(mesh, "shape")) all *= size.number();
        return Value::whole(all);
    }
    raise("AttributeError", fmt::format("'DeviceMesh' object has no attribute '{}'", name));
}

std::vector<BuiltinRow> group_builtins() {
    return {{"new_group", new_group},
            {"new_subgroups", new_subgroups},
            {"new_subgroups_by_enumeration", new_subgroups_by_enumeration},
            {"init_device_mesh", init_device_mesh},
            {"get_rank", get_rank},
            {"get_world_size", get_world_size},
            {"get_process_group_ranks", get_process_group_ranks},
            {"get_global_rank", get_global_rank},
            {"get_group_rank", get_group_rank},
            {"init_process_group", init_process_group},
            {"is_initialized", is_initialized},
            {"destroy_process_group", destroy_process_group}};
}

}  // namespace deadrank::sim::program
