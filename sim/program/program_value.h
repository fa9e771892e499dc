// sim/program/program_value.h — What a name of a rank's program may hold: Python's values, with whole numbers
// of 64 bits and decimals in 65536ths, so that every machine computes the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/world/numbers.h"
#include "sim/world/world.h"

namespace deadrank::sim {
struct StreamEntry;
class StorageMemory;
}  // namespace deadrank::sim

namespace deadrank::sim::program {

enum class Type : std::uint8_t {
    unset,
    none,
    boolean,
    whole,
    decimal,
    text,
    list,
    dict,
    tensor,
    group,
    handle,
    object,    // of a class, or a namespace
    kind,      // a class
    function,  // a function as a value
    range      // from:to:step between the brackets of an index
};

struct Object {
    virtual ~Object() = default;
};

struct Text;
struct List;
struct Dict;
struct Tensor;
struct Group;
struct Handle;
struct Instance;
struct Callable;

class Value {
public:
    Value() = default;
    static Value none() { return {Type::none, 0}; }
    static Value boolean(bool value) { return {Type::boolean, value}; }
    static Value whole(std::int64_t value) { return {Type::whole, value}; }
    static Value decimal(Number value) { return {Type::decimal, value}; }
    static Value new_text(std::string value);
    static Value new_list(std::vector<Value> items);
    static Value new_tuple(std::vector<Value> items);  // a list that nothing changes
    static Value new_dict();
    static Value of(std::shared_ptr<Tensor> tensor);
    static Value of(std::shared_ptr<Group> group);
    static Value of(std::shared_ptr<Handle> handle);
    static Value of(std::shared_ptr<Instance> instance);
    static Value of(std::shared_ptr<Callable> callable);
    static Value kind(int place) { return {Type::kind, place}; }
    static Value range(Value from, Value to, Value by);

    Type type() const { return type_; }
    bool is(Type type) const { return type_ == type; }
    bool is_number() const { return is(Type::whole) || is(Type::decimal) || is(Type::boolean); }
    std::int64_t number() const { return number_; }
    const std::string& text() const;
    List& list() const;
    Dict& dict() const;
    Tensor& tensor() const;
    std::shared_ptr<Tensor> shared_tensor() const;
    Group& group() const;
    Handle& handle() const;
    Instance& instance() const;
    Callable& callable() const;
    const std::shared_ptr<Object>& object() const { return object_; }
    bool same_object(const Value& other) const { return object_ && object_ == other.object_; }
    bool held_once() const { return object_.use_count() == 1; }

private:
    Value(Type type, std::int64_t number) : type_(type), number_(number) {}
    Value(Type type, std::shared_ptr<Object> object) : type_(type), object_(std::move(object)) {}

    Type type_ = Type::unset;
    std::int64_t number_ = 0;
    std::shared_ptr<Object> object_;
};

struct Text final : Object {
    std::string text;
};

// Lists and dicts may be nested as deep as a program likes: their ends are not.
struct List final : Object {
    std::vector<Value> items;
    bool fixed = false;  // a tuple
    ~List() override;
};

struct Dict final : Object {
    std::vector<std::pair<Value, Value>> items;  // in the order in which keys came in
    ~Dict() override;
    Value* find(const Value& key);
    void set(const Value& key, Value value);
};

// Names behind a dot, in the order in which they were set.
using Fields = std::vector<std::pair<std::string, Value>>;
Value* find_field(Fields& fields, std::string_view name);
void set_field(Fields& fields, std::string_view name, Value value);

// Types of one byte that only a program has: a library moves them as bytes, and reduces none here.
inline constexpr auto float8_e4m3fn = static_cast<Dtype>(14), float8_e5m2 = static_cast<Dtype>(15);
inline bool is_float8(Dtype dtype) { return dtype == float8_e4m3fn || dtype == float8_e5m2; }
inline Dtype as_moved(Dtype dtype) { return is_float8(dtype) ? Dtype::i8 : dtype; }

// Where a tensor lies: on the device of that number as the process sees devices, in the node's own memory, or
// wherever it is used, as all tensors of a program that speaks of no device.
using Place = std::int16_t;
inline constexpr Place on_host = -1, anywhere = -2;

// Where the elements of a view lie that do not follow each other: those of a column, of a transposed matrix.
struct Strided {
    std::shared_ptr<std::vector<Number>> of;
    std::size_t first = 0;
    std::vector<std::int64_t> strides;
};

// Which of them an index out of range has stopped on a device.
enum class Kernel : std::uint8_t { none, nll_loss, index_select, gather, index };

// Elements in row order. Parts of a tensor share its memory, as views do.
struct Tensor final : Object {
    std::shared_ptr<std::vector<Number>> memory;
    std::size_t first = 0;
    std::vector<std::int64_t> shape;
    Dtype dtype = Dtype::f32;
    Place place = anywhere;
    Kernel stopped = Kernel::none;  // that should have made it
    std::uint8_t made_part = 0;     // the text, and its line, where it was made without a device …
    std::uint16_t made_line = 0;    // … if that is why it lies in the node's memory; 0: it is not
    // Of a view that is not contiguous; `memory` then holds its elements as they were last looked at, and
    // whoever changes them calls flush().
    std::shared_ptr<const Strided> strided = nullptr;
    Fields attributes = {};  // of this tensor alone: neither views nor copies have them
    ~Tensor() override;

    std::int64_t count() const;
    std::span<Number> data() const {
        if (strided) gather();
        return std::span(*memory).subspan(first, static_cast<std::size_t>(count()));
    }
    bool whole() const { return dtype == Dtype::i64 || dtype == Dtype::i32 || dtype == Dtype::i8; }
    Value element(std::int64_t at) const;
    void gather() const;                    // from where the elements lie
    void flush() const;                     // to there; raises where several of them lie in one place
    std::shared_ptr<Tensor> dense() const;  // itself as a tensor of its own memory
    std::shared_ptr<Tensor> part(std::int64_t from, std::vector<std::int64_t> of_shape) const;
};

struct Group final : Object {
    std::string name;
    std::vector<Rank> ranks;
    std::unique_ptr<Comm> own;  // nullptr where the rank is no member
    Place place = 0;            // the device that its calls move data on
    bool is_world = false;      // the default group, whose calls the host makes
    std::int64_t buffers = 0;   // the handle of its communicator's device memory
};

// A call under way. It holds the memory that it reads and writes, and gives that up after the call.
struct Handle final : Object {
    std::vector<std::shared_ptr<Tensor>> held;
    std::unique_ptr<Work> work;
    // Of a program with streams: where it is queued, and what it holds until somebody waits for it.
    std::shared_ptr<StreamEntry> entry = nullptr;
    std::shared_ptr<std::vector<std::shared_ptr<Tensor>>> kept = nullptr;
    const Comm* stream = nullptr;  // of a collective: the group whose calls follow each other; else nullptr
};

// The names that a def around other defs has while those may still read them.
struct Env final : Object {
    std::vector<Value> slots;
    std::shared_ptr<Env> outer;
};

inline constexpr int bound_method = INT32_MIN;

struct Callable final : Object {
    int function = 0;  // of the program, -1 - the place among the built-ins, or a built-in method of `self`
    std::string name;
    std::shared_ptr<Env> around;
    std::vector<Value> usual;  // of its last parameters
    Value self;                // of a method that was taken from its object
};

inline constexpr int namespace_kind = -1, generator_kind = -2, mesh_kind = -3, context_kind = -4,
                     environment_kind = -5, stream_kind = -6, event_kind = -7, process_kind = -8,
                     device_kind = -9, store_kind = -16, iterator_kind = -17;
class Interpreter;

struct Instance final : Object {
    int kind = namespace_kind;  // the class's place in the program, or one of those above
    std::string name;           // of the class
    Fields fields;
    Interpreter* rank = nullptr;             // that runs its methods
    std::shared_ptr<Object> held = nullptr;  // of a stream, an event and a process
    ~Instance() override;
};

// "TypeError: …", as an exception of the program.
[[noreturn]] void raise(std::string_view kind, std::string_view says);

// What a method such as __eq__ of a class of the program answers; nothing where it has none.
std::optional<Value> own_answer(const Value& object, const char* method, std::vector<Value> given = {});

std::string type_word(const Value& value);  // "'int'" is what Python calls it
std::string type_name(const Value& value);  // without quotes
inline constexpr int deepest_value = 16;    // of what is printed, compared or sent
[[noreturn]] void too_deep();
std::string repr(const Value& value);        // as Python prints it; a text in quotes
std::string shown_text(const Value& value);  // as str() gives it
std::string decimal_text(Number value);
bool truth(const Value& value);
bool is_nan(const Value& value);
bool equal(const Value& a, const Value& b);
bool holds(const Value& container, const Value& sought);  // at any depth, the very object

// Numbers as one kind: what is whole becomes a decimal.
Number as_decimal(const Value& value);
std::int64_t as_whole(const Value& value, std::string_view what);

// A value as numbers, and back: what a file or an object on its way to other ranks holds, also where its
// tensors lie, if that is asked for.
void encode_value(const Value& value, std::vector<Number>& into, bool places = true);
// Throws what torch does where the numbers are none.
Value decode_value(std::span<const Number> from);

}  // namespace deadrank::sim::program
