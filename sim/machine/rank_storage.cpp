// sim/machine/rank_storage.cpp — A rank's calls to the file system, each of which somebody outside may look
// at first.
#include <algorithm>

#include "sim/machine/files.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

// True: the call is over already, with `answer`.
bool RankStorage::ask(CallKind kind, std::string_view path, std::int64_t count, Code& answer,
                      std::int64_t* flip) {
    answer = Code::ok;
    Call call{.kind = kind, .name = path, .count = count};
    machine_.gate.pass(process_, call);
    answer = call.answer;
    if (flip) *flip = call.flip_bit;
    if (call.never_completes) machine_.wait(process_, {.kind = WaitKind::other}, [] { return false; });
    return call.skip || answer != Code::ok;
}

Code RankStorage::write(std::string_view path, std::span<const Number> content) {
    Code answer;
    std::int64_t bit = -1;
    if (ask(CallKind::storage_write, path, static_cast<std::int64_t>(content.size()), answer, &bit))
        return answer;
    if (bit < 0 || bit / 64 >= static_cast<std::int64_t>(content.size()))
        return machine_.files.write(process_, path, content);
    std::vector<Number> flipped(content.begin(), content.end());
    Number& value = flipped[static_cast<std::size_t>(bit / 64)];
    value = static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << bit % 64);
    return machine_.files.write(process_, path, flipped);
}

Code RankStorage::read(std::string_view path, std::vector<Number>& content) {
    Code answer;
    std::int64_t bit = -1;
    if (ask(CallKind::storage_read, path, 0, answer, &bit)) return answer;
    const Code code = machine_.files.read(process_, path, content);
    if (bit >= 0 && bit / 64 < static_cast<std::int64_t>(content.size())) {
        Number& value = content[static_cast<std::size_t>(bit / 64)];
        value = static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << bit % 64);
    }
    return code;
}

// Only reading and writing of data are calls that a fault may aim at; these follow them.
Code RankStorage::sync(std::string_view path) { return machine_.files.sync(process_, path); }
Code RankStorage::rename(std::string_view from, std::string_view to) {
    return machine_.files.rename(process_, from, to);
}
Code RankStorage::remove(std::string_view path) { return machine_.files.remove(process_, path); }
Code RankStorage::leave_open(std::string_view) {
    return machine_.hosts.open_files(process_.node, 1) ? Code::ok : Code::system_error;
}
std::vector<std::string> RankStorage::list(std::string_view prefix) const {
    return machine_.files.list(prefix);
}

}  // namespace deadrank::sim
