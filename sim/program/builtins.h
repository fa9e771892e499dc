// sim/program/builtins.h — The functions behind the names in scenarios/program/program_words.cpp, and methods
// of values other than tensors.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/interpreter.h"

namespace deadrank::sim::program {

using Arguments = std::vector<Value>;

// Arguments are as the table of words orders them; `unset` where one was left out.
using Builtin = Value (*)(Interpreter& rank, Arguments& arguments);

Builtin builtin(int place);  // in builtin_words(); each has one

struct BuiltinRow {
    std::string_view name;
    Builtin call;
};
std::vector<BuiltinRow> python_builtins();
std::vector<BuiltinRow> value_builtins();
std::vector<BuiltinRow> tensor_builtins();
std::vector<BuiltinRow> group_builtins();
std::vector<BuiltinRow> mesh_builtins();
std::vector<BuiltinRow> comm_builtins();
std::vector<BuiltinRow> message_builtins();
std::vector<BuiltinRow> point_builtins();
std::vector<BuiltinRow> object_builtins();
std::vector<BuiltinRow> file_builtins();
std::vector<BuiltinRow> device_builtins();
std::vector<BuiltinRow> memory_builtins();
std::vector<BuiltinRow> chance_builtins();
std::vector<BuiltinRow> world_builtins();
std::vector<BuiltinRow> process_builtins();
std::vector<BuiltinRow> store_builtins();
std::vector<BuiltinRow> told_builtins();
std::vector<BuiltinRow> training_builtins();
std::vector<BuiltinRow> stream_builtins();

// Methods of what is there already: a generator, a mesh.
Value own_method(Interpreter& rank, const Value& object, const std::string& name,
                 const std::vector<Value>& arguments);
// The part of a mesh that a name stands for, or several of them; and what stands behind its dot.
Value mesh_part(Interpreter& rank, const Value& mesh, const Value& name);
Value mesh_method(Interpreter& rank, const Value& mesh, const std::string& name,
                  const std::vector<Value>& arguments);

// Of TCPStore, FileStore and PrefixStore; the store that such a value stands for, by its name.
Value store_method(Interpreter& rank, const Value& store, const std::string& name,
                   const std::vector<Value>& arguments);
std::pair<Store*, std::string> store_in(Interpreter& rank, const Value& store);

inline bool is_environment(const Value& value) {
    return value.is(Type::object) && value.instance().kind == environment_kind;
}
// os.environ: variables of the process. Without one there is nothing; None takes one away.
Value environment_of(Interpreter& rank);
std::optional<std::string> variable_in(const Value& environment, const Value& name);
void set_variable(const Value& environment, const Value& name, const Value& value);
Value environment_method(const Value& object, const std::string& name, const std::vector<Value>& given);

// … and of a process that the program has started.
Value process_method(Interpreter& rank, const Value& object, const std::string& name,
                     const std::vector<Value>& arguments);
std::int64_t bytes_in(const Value& size);               // "1GiB", or a number
int device_in(Interpreter& rank, const Value& device);  // of the node, as the host counts them
Value stream_method(Interpreter& rank, const Value& object, const std::string& name,
                    const std::vector<Value>& arguments);

Value method_of(Interpreter& rank, const Value& object, const std::string& name,
                const std::vector<Value>& arguments);

// What a for walks over: a list, a dict's keys, a text's letters, a tensor's rows.
std::vector<Value> items_of(const Value& value);

// Arguments by type; raise TypeError.
const std::string& text_in(const Value& value, std::string_view what);
std::shared_ptr<Tensor> tensor_in(const Value& value, std::string_view function, std::string_view parameter);
Time time_in(const Value& value);  // "10ms", or seconds
bool stated(const Value& value);   // neither left out nor None

// Devices. Where a new tensor lies; raises what CUDA does. Of a group, the device that its calls move data
// on.
Place place_for(Interpreter& rank, const Value& stated_device);
Place group_place(Interpreter& rank);
// The rank uses this device meanwhile, and afterwards the one from before.
class OnDevice {
public:
    OnDevice(Interpreter& rank, const Value& device);
    ~OnDevice();
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

private:
    Interpreter& rank_;
    int before_ = -1;
};
// A world that was told no device takes that of its first tensor, and a barrier guesses.
void connect_world(Interpreter& rank, std::string_view call, Place place);
void lay(Interpreter& rank, Tensor& made, const Value& stated_device);  // a new one, there
// What came from a file or another rank lies where it lay, or where `mapped` says.
void settle_places(Interpreter& rank, const Value& value, const Value& mapped, int depth = 0);
// x.to(…), x.cuda() and x.cpu(); x.device, and what stands behind a device's dot.
std::optional<Value> moved(Interpreter& rank, const Value& object, const std::string& name,
                           const std::vector<Value>& given);
std::optional<Value> device_attribute(Interpreter& rank, const Value& object, const std::string& name);

// Chance. A tensor of draws, as a generator's methods and torch's functions make it.
Value generator_method(Interpreter& rank, const Value& object, const std::string& name,
                       const std::vector<Value>& arguments);

// x.normal_() and x.uniform_().
std::optional<Value> draws_in_place(Interpreter& rank, const Value& object, const std::string& name,
                                    const std::vector<Value>& given);

// Makes all of these groups: a list of the own one, or None, and of all.
struct GroupBounds {
    Time timeout{0};
    CommLibrary library = CommLibrary::usual;
};
Value own_and_all(Interpreter& rank, const std::vector<std::vector<Rank>>& lists, const std::string& name,
                  const GroupBounds& bounds = {});

// Groups. Of one, or of the world; nullptr where the rank is no member, which torch passes over with a
// warning.
Comm* comm_of(Interpreter& rank, const Value& group, std::string_view call);
// Likewise, for a call with these tensors. Raises what torch does where the group's library does not move
// what lies there.
Comm* comm_of(Interpreter& rank, const Value& group, std::string_view call,
              const std::vector<std::shared_ptr<Tensor>>& tensors);
// Device memory of a communicator: with its first call, at its end, and at the end of the world. Raises what
// NCCL does where there is too little.
void take_buffers(Interpreter& rank, const Comm& comm, const Value& group);
void free_buffers(Interpreter& rank, std::int64_t& handle);
void free_all_buffers(Interpreter& rank);
void check_places(Interpreter& rank, Comm& comm, const Value& group,
                  const std::vector<std::shared_ptr<Tensor>>& tensors, bool unseen = false);
// The place in the group of a rank of the world, or of one of the group itself (group_src, group_dst).
Rank root_of(const Comm& comm, const Value& global, const Value& local, const Value& group,
             std::string_view what);
Rank place_of(const Comm& comm, const Value& asked, const Value& group, std::string_view what);
// A call under way as a value; finished at once where `work` is none. `stream`: the group whose calls follow
// each other, or nullptr.
Value handle_of(Interpreter& rank, const Comm* stream, std::vector<std::shared_ptr<Tensor>> held,
                std::unique_ptr<Work> work);

// Of a program with streams: the call is queued, and the host waits for it, unless it is async. Nothing where
// there are none, or the library moves the node's memory.
using CallOn = std::function<std::unique_ptr<Work>(const std::vector<std::shared_ptr<Tensor>>& held)>;
std::optional<Value> queued_call(Interpreter& rank, Comm& comm, std::vector<std::shared_ptr<Tensor>> held,
                                 bool async, const CallOn& call);

// Before a call that is made at once.
void wait_for_kernels(Interpreter& rank);

// A text in which a value stands as a format says: "05d", ".3f", ">8".
std::string format_text(const Value& value, std::string_view format);

}  // namespace deadrank::sim::program
