// sim/program/builtins_mesh.cpp — Meshes of ranks, as torch makes them: all ranks make all groups of each
// dimension, one dimension after the other, the last one varying fastest. Texts: torch.distributed 2.11.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

// What a mesh holds. `dims` are those of the mesh that it is a part of, whose shape is `whole`; `flat` are
// the dimensions that somebody made out of several of that mesh, by name.
constexpr std::string_view shape_field = "shape", names_field = "mesh_dim_names", groups_field = "groups",
                           place_field = "coordinate", dims_field = "dims", whole_field = "whole",
                           flat_field = "flat";

// A file whose bits are wrong may give a mesh that lacks them.
const Value& field_of(const Value& mesh, std::string_view name, Type type) {
    const Value* found = find_field(mesh.instance().fields, name);
    if (found && found->is(type)) return *found;
    raise("AttributeError", fmt::format("'DeviceMesh' object has no attribute '{}'", name));
}
const std::vector<Value>& list_of(const Value& mesh, std::string_view name) {
    return field_of(mesh, name, Type::list).list().items;
}
std::vector<Value> names_of(const Value& mesh) {
    const Value* names = find_field(mesh.instance().fields, names_field);
    return names && names->is(Type::list) ? names->list().items : std::vector<Value>{};
}

std::vector<Value> values_of(const std::vector<std::int64_t>& from) {
    std::vector<Value> values;
    for (const std::int64_t number : from) values.push_back(Value::whole(number));
    return values;
}
std::vector<std::int64_t> numbers_of(const std::vector<Value>& from) {
    std::vector<std::int64_t> numbers;
    for (const Value& value : from) numbers.push_back(value.number());
    return numbers;
}

struct Parts {
    std::vector<Value> shape, names, groups, place, dims;
};

Value mesh_of(Parts parts, const Value& whole, const Value& flat) {
    auto mesh = std::make_shared<Instance>();
    mesh->kind = mesh_kind;
    mesh->name = "DeviceMesh";
    Fields& fields = mesh->fields;
    set_field(fields, "ndim", Value::whole(std::ssize(parts.shape)));
    set_field(fields, shape_field, Value::new_list(std::move(parts.shape)));
    set_field(fields, names_field,
              parts.names.empty() ? Value::none() : Value::new_list(std::move(parts.names)));
    set_field(fields, groups_field, Value::new_list(std::move(parts.groups)));
    set_field(fields, place_field, Value::new_list(std::move(parts.place)));
    set_field(fields, dims_field, Value::new_list(std::move(parts.dims)));
    set_field(fields, whole_field, whole);
    set_field(fields, flat_field, flat);
    return Value::of(std::move(mesh));
}

// The groups of these dimensions: ranks that differ in no other coordinate.
std::vector<std::vector<Rank>> lists_along(const Shape& shape, const std::vector<std::int64_t>& dims,
                                           Rank world) {
    std::vector<std::pair<std::int64_t, std::vector<Rank>>> lists;  // by what the other coordinates are
    for (Rank member = 0; member < world; ++member) {
        std::int64_t rest = member, others = 0, stride = 1;
        for (std::size_t dim = shape.size(); dim-- > 0;) {
            const bool along = std::find(dims.begin(), dims.end(), std::int64_t(dim)) != dims.end();
            others += along ? 0 : rest % shape[dim] * stride;
            rest /= shape[dim];
            stride *= shape[dim];
        }
        const auto found =
            std::find_if(lists.begin(), lists.end(), [&](const auto& list) { return list.first == others; });
        if (found == lists.end())
            lists.push_back({others, {member}});
        else
            found->second.push_back(member);
    }
    std::vector<std::vector<Rank>> made;
    for (auto& list : lists) made.push_back(std::move(list.second));
    return made;
}

Value place_in_group(const Value& group) {
    return Value::whole(group.is(Type::group) && group.group().own ? group.group().own->rank() : -1);
}

Value init_device_mesh(Interpreter& rank, Arguments& given) {
    const Shape shape = shape_from(Value::new_list({given[1]}));
    Parts parts;
    if (stated(given[2])) parts.names = items_of(given[2]);
    if (stated(given[2]) && parts.names.size() != shape.size())
        raise("RuntimeError", fmt::format("mesh_shape and mesh_dim_names should have same length! Found "
                                          "len(mesh_dim_names): {} and len(mesh_shape):{}.",
                                          parts.names.size(), shape.size()));
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
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const std::string name =
            parts.names.empty() ? "" : text_in(parts.names[dim], "a name of a dimension");
        const auto place = static_cast<std::int64_t>(dim);
        const Value own = own_and_all(rank, lists_along(shape, {place}, world), name).list().items[0];
        parts.groups.push_back(own);
        parts.place.push_back(place_in_group(own));
        parts.dims.push_back(Value::whole(place));
    }
    parts.shape = values_of(shape);
    return mesh_of(std::move(parts), Value::new_list(values_of(shape)), Value::new_dict());
}

[[noreturn]] void refuse_name(const Value& mesh, const Value& asked) {
    raise("KeyError", fmt::format("Invalid mesh_dim_names {} specified. Valid mesh_dim_names are {}.",
                                  repr(asked), repr(Value::new_list(names_of(mesh)))));
}

std::size_t mesh_dim(const Value& mesh, const std::vector<Value>& arguments) {
    const std::size_t dims = list_of(mesh, shape_field).size();
    if (!is_stated(arguments, 0)) {
        if (dims != 1)
            raise("RuntimeError",
                  fmt::format("Found the DeviceMesh have {} dimensions. Optional kwarg `mesh_dim` "
                              "needs to be specified when device_mesh.ndim > 1.",
                              dims));
        return 0;
    }
    if (!arguments[0].is(Type::text)) return dimension(as_whole(arguments[0], "mesh_dim"), dims);
    const auto names = names_of(mesh);
    for (std::size_t dim = 0; dim < names.size(); ++dim)
        if (equal(names[dim], arguments[0])) return dim;
    refuse_name(mesh, arguments[0]);
}

// One dimension of all those of this mesh, which all ranks make together.
Value flattened(Interpreter& rank, const Value& mesh, const std::vector<Value>& arguments) {
    const auto& dims = list_of(mesh, dims_field);
    if (dims.size() == 1) return mesh;
    std::string name;
    if (is_stated(arguments, 0)) name = text_in(arguments[0], "mesh_dim_name");
    for (const Value& one : is_stated(arguments, 0) ? std::vector<Value>{} : names_of(mesh))
        name += (name.empty() ? "" : "_") + text_in(one, "a name");
    const Value& flat = field_of(mesh, flat_field, Type::dict);
    if (const Value* known = flat.dict().find(Value::new_text(name)); known && !name.empty()) return *known;
    const Shape whole = numbers_of(list_of(mesh, whole_field));
    const auto lists = lists_along(whole, numbers_of(dims), rank.host().size());
    const Value own = own_and_all(rank, lists, name).list().items[0];
    Parts parts;
    parts.shape = {Value::whole(std::ssize(lists.front()))};
    if (!name.empty()) parts.names = {Value::new_text(name)};
    parts.groups = {own};
    parts.place = {place_in_group(own)};
    parts.dims = {Value::whole(0)};
    const Value made = mesh_of(std::move(parts), field_of(mesh, whole_field, Type::list), Value::new_dict());
    if (!name.empty()) flat.dict().set(Value::new_text(name), made);
    return made;
}

}  // namespace

// mesh["tp"], or mesh["dp", "tp"]: dimensions in the order in which the mesh has them.
Value mesh_part(Interpreter&, const Value& mesh, const Value& name) {
    if (name.is(Type::text))
        if (const Value* flat = field_of(mesh, flat_field, Type::dict).dict().find(name)) return *flat;
    Parts parts;
    std::int64_t last = -1;
    for (const Value& one : name.is(Type::list) ? name.list().items : std::vector<Value>{name}) {
        if (!one.is(Type::text)) refuse_name(mesh, name);
        const std::size_t dim = mesh_dim(mesh, {one});
        if (static_cast<std::int64_t>(dim) <= last) refuse_name(mesh, name);
        last = static_cast<std::int64_t>(dim);
        parts.shape.push_back(list_of(mesh, shape_field)[dim]);
        parts.names.push_back(one);
        parts.groups.push_back(list_of(mesh, groups_field)[dim]);
        parts.place.push_back(list_of(mesh, place_field)[dim]);
        parts.dims.push_back(list_of(mesh, dims_field)[dim]);
    }
    return mesh_of(std::move(parts), field_of(mesh, whole_field, Type::list),
                   field_of(mesh, flat_field, Type::dict));
}

Value mesh_method(Interpreter& rank, const Value& mesh, const std::string& name,
                  const std::vector<Value>& arguments) {
    if (name == "get_group") return list_of(mesh, groups_field)[mesh_dim(mesh, arguments)];
    if (name == "get_all_groups") return Value::new_list(list_of(mesh, groups_field));
    if (name == "get_local_rank") return list_of(mesh, place_field)[mesh_dim(mesh, arguments)];
    if (name == "get_coordinate") return Value::new_list(list_of(mesh, place_field));
    if (name == "_flatten" || name == "flatten") return flattened(rank, mesh, arguments);
    if (name == "size" && is_stated(arguments, 0))
        return list_of(mesh, shape_field)[mesh_dim(mesh, arguments)];
    if (name == "size") {
        std::int64_t all = 1;
        for (const Value& size : list_of(mesh, shape_field)) all *= size.number();
        return Value::whole(all);
    }
    raise("AttributeError", fmt::format("'DeviceMesh' object has no attribute '{}'", name));
}

std::vector<BuiltinRow> mesh_builtins() { return {{"init_device_mesh", init_device_mesh}}; }

}  // namespace deadrank::sim::program
