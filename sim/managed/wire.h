// sim/managed/wire.h — What a managed rank and its proxy send each other: heads of fixed form, little-endian,
// as python/deadrank/channel.py packs them. README.md has the table of messages.
#pragma once

#include <cstdint>

namespace deadrank::sim::managed {

enum class Kind : std::uint8_t {
    collective = 0x10,
    message = 0x11,
    group_start = 0x12,
    group_end = 0x13,
    wait = 0x20,
    poll = 0x21,
    store_open = 0x30,
    store = 0x31,
    store_close = 0x32,
    comm_open = 0x40,
    comm_close = 0x41,
    comm_error = 0x42,
    record = 0x50,
    step = 0x51,
    phase = 0x52,
    seam = 0x53,
    block = 0x54,
    storage = 0x55,
    device = 0x56,
    compute = 0x60,
    keep_signal = 0x61,
    exit = 0x70,
    stack = 0x71,
    forked = 0x72,
    back = 0x73,
    turn = 0x74,
};

constexpr std::uint8_t body_in_arena = 0x80;  // flag: the body is `<qq` offset and size in the arena

constexpr std::uint8_t unanswered = 0x40;  // flag of STEP and PHASE: no fault can act there

constexpr std::uint8_t acknowledged =
    0x20;  // flag of COLLECTIVE and MESSAGE: the rank waits for an empty answer

// fork: four descriptors follow in a message of their own; enter: a JSON body names the process whose files
// the rank is to see; debug: a JSON body, and two descriptors in a message of their own. None is the answer that the rank waits for.
// flag of a post: its process waits for an empty answer, and its clock does not learn of it. So the whole job can be
// copied at any moment.
constexpr std::uint8_t held = 0x10;

enum class Status : std::uint8_t { answer = 0, raise = 1, query = 2, fork = 3, enter = 4, debug = 5 };

struct RequestHead {
    Kind kind;
    std::uint8_t flags;
    std::uint16_t reserved;
    std::uint32_t size;   // bytes of the body
    std::int64_t charge;  // nanoseconds of compute since the rank's last message
};
static_assert(sizeof(RequestHead) == 16);

// flag of a reply: other ranks may run at the same time, so the process asks for its turn (Kind::turn) before it
// uses a file.
constexpr std::uint16_t beside_others = 1;

struct ReplyHead {
    Status status;
    std::uint8_t more;  // 1: the body goes on in the next packet
    std::uint16_t flags;
    std::uint32_t size;
    std::int64_t now;  // the rank's clock in nanoseconds since the job's start
};
static_assert(sizeof(ReplyHead) == 16);

// Offsets and sizes are bytes of the rank's arena. `op`, `reduce` and `dtype` are the numbers of results::Op,
// ReduceOp and Dtype.
struct CollectiveBody {
    std::uint64_t work;
    std::uint32_t comm;
    std::uint8_t op, reduce, dtype, flags;  // flags 1: parts of an all_to_all follow, `<qq` for each member
    std::int32_t root;
    std::uint32_t reserved;
    std::int64_t count, in_offset, in_size, out_offset, out_size;
} __attribute__((packed));
static_assert(sizeof(CollectiveBody) == 64);

struct MessageBody {
    std::uint64_t work;
    std::uint32_t comm;
    std::uint8_t is_send, dtype, reserved[2];
    std::int32_t peer, tag;
    std::int64_t offset, size;
} __attribute__((packed));
static_assert(sizeof(MessageBody) == 40);

struct WaitBody {
    std::uint8_t any;  // 0: all of them
    std::uint8_t reserved8;
    std::uint16_t reserved16;
    std::uint32_t count;
    std::int64_t deadline;  // by the rank's clock; -1: none
} __attribute__((packed));
static_assert(sizeof(WaitBody) == 16);

struct WaitAnswer {
    std::int8_t done;
    std::uint8_t reserved[3];
    std::int32_t source;  // of a message that was received
};
static_assert(sizeof(WaitAnswer) == 8);

constexpr std::size_t message_max = std::size_t{1} << 20;  // of one packet on the channel

}  // namespace deadrank::sim::managed
