// inject/standin/nccl/work.h — The work that a group leaves in a stream: read the buffers, tell the
// coordinator, wait for everybody, and let the values appear.
#pragma once

#include <vector>

#include "inject/standin/nccl/group.h"

namespace deadrank::standin {

// All of one communicator and one stream, with their sequence numbers. False: there is no such stream.
bool put_into_stream(std::vector<Planned> calls);

// How much of a buffer a call reads and writes on this rank, in bytes.
std::size_t bytes_sent(const Call& call, int rank, int size);
std::size_t bytes_received(const Call& call, int rank, int size);

}  // namespace deadrank::standin
