// runners/backends/ranks/rank_files.cpp — A number is eight bytes of the file. Damage that is due before its
// file exists waits for it, as in the simulator.
#include "runners/backends/ranks/rank_files.h"

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace deadrank::runners {

namespace fs = std::filesystem;
using inject::StorageTrouble;
using sim::Code;
using sim::Number;

namespace {

bool lasts(StorageTrouble what) {
    return what == StorageTrouble::slow || what == StorageTrouble::full || what == StorageTrouble::read_only;
}
bool waits(StorageTrouble what) { return what == StorageTrouble::tear || what == StorageTrouble::lose; }
bool covers(const inject::StorageChange& change, std::string_view path) {
    return change.path.empty() || path.find(change.path) != std::string_view::npos;
}

void flip(std::vector<Number>& content, std::int64_t bit) {
    if (bit < 0 || bit / 64 >= static_cast<std::int64_t>(content.size())) return;
    Number& value = content[static_cast<std::size_t>(bit / 64)];
    value = static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << bit % 64);
}

void cut(std::vector<Number>& content, std::int64_t kept) {
    if (kept >= 0 && kept < static_cast<std::int64_t>(content.size()))
        content.resize(static_cast<std::size_t>(kept));
}

}  // namespace

RealStorage::RealStorage(fs::path directory, Gate& gate, MeetingPlace once)
    : directory_(std::move(directory)), gate_(gate), once_(std::move(once)) {}

fs::path RealStorage::file(std::string_view path) const {
    return directory_ / fs::path(path).lexically_normal().relative_path();
}

// True if a fault has already ended the call.
bool RealStorage::intercept_call(sim::CallKind kind, std::string_view path, std::int64_t count,
                                 sim::Call& call) {
    call.kind = kind;
    call.name = path;
    call.count = count;
    gate_.pass(call);
    if (call.never_completes) gate_.wait([] { return false; });
    take_changes();
    if (const auto* slow = standing(StorageTrouble::slow, path))
        gate_.sleep(sim::Time(1'000'000) * slow->amount / 1000);
    return call.skip || call.answer != Code::ok;
}

void RealStorage::take_changes() {
    for (const inject::StorageChange& change : std::exchange(gate_.levers().state().storage, {})) {
        if (!lasts(change.what)) {
            pending_.push_back(change);
            continue;
        }
        std::erase_if(standing_,
                      [&](const auto& one) { return one.what == change.what && one.path == change.path; });
        if (!change.end) standing_.push_back(change);
    }
    for (const std::string& path : list("")) spoil(path);
}

// Only the first rank does it: a bit that is flipped twice is whole again.
void RealStorage::spoil(std::string_view path) {
    for (std::size_t i = 0; i < pending_.size();) {
        const inject::StorageChange change = pending_[i];
        if (waits(change.what) || !covers(change, path) || !fs::exists(file(path))) {
            ++i;
            continue;
        }
        pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
        if (!once_.claim(fmt::format("{} {}", name_of(change.what), path), "")) continue;
        std::error_code ignored;
        if (change.what == StorageTrouble::remove) {
            fs::remove(file(path), ignored);
            continue;
        }
        std::vector<Number> content;
        const fs::path spoiled = file(path);
        std::ifstream in(spoiled, std::ios::binary);
        content.resize(fs::file_size(spoiled, ignored) / sizeof(Number));
        in.read(reinterpret_cast<char*>(content.data()),
                static_cast<std::streamsize>(content.size() * sizeof(Number)));
        if (change.what == StorageTrouble::flip) flip(content, change.amount);
        if (change.what == StorageTrouble::truncate) cut(content, change.amount);
        (void)put(path, content);
    }
}

const inject::StorageChange* RealStorage::standing(StorageTrouble what, std::string_view path) const {
    for (const auto& change : standing_) {
        if (change.what == what && covers(change, path)) return &change;
    }
    return nullptr;
}

bool RealStorage::take_pending(StorageTrouble what, std::string_view path, std::int64_t& amount) {
    for (auto at = pending_.begin(); at != pending_.end(); ++at) {
        if (at->what != what || !covers(*at, path)) continue;
        amount = at->amount;
        pending_.erase(at);
        return true;
    }
    return false;
}

bool RealStorage::put(std::string_view path, std::span<const Number> content) const {
    std::error_code ignored;
    fs::create_directories(file(path).parent_path(), ignored);
    std::ofstream out(file(path), std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(content.data()),
              static_cast<std::streamsize>(content.size_bytes()));
    return static_cast<bool>(out.flush());
}

Code RealStorage::write(std::string_view path, std::span<const Number> content, sim::WriteMode mode) {
    sim::Call call;
    if (intercept_call(sim::CallKind::storage_write, path, static_cast<std::int64_t>(content.size()), call))
        return call.answer;
    if (mode == sim::WriteMode::create && std::filesystem::exists(file(path))) return Code::invalid_usage;
    if (standing(StorageTrouble::read_only, path)) return Code::system_error;
    if (const auto* full = standing(StorageTrouble::full, path);
        full && static_cast<std::int64_t>(content.size()) > full->amount)
        return Code::no_space;
    std::int64_t amount = 0;
    if (take_pending(StorageTrouble::lose, path, amount)) return Code::ok;
    std::vector<Number> written;
    if (mode == sim::WriteMode::append) (void)read(path, written);
    written.insert(written.end(), content.begin(), content.end());
    flip(written, call.flip_bit);
    if (take_pending(StorageTrouble::tear, path, amount)) cut(written, amount);
    if (!put(path, written)) return Code::system_error;
    spoil(path);
    return Code::ok;
}

Code RealStorage::sync(std::string_view path) {
    const int descriptor = ::open(file(path).c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return Code::ok;  // syncing a lost write succeeds, too
    ::fsync(descriptor);
    ::close(descriptor);
    return Code::ok;
}

Code RealStorage::rename(std::string_view from, std::string_view to) {
    if (standing(StorageTrouble::read_only, to)) return Code::system_error;
    std::error_code trouble;
    fs::create_directories(file(to).parent_path(), trouble);
    fs::rename(file(from), file(to), trouble);
    if (trouble) return Code::not_found;
    spoil(to);
    return Code::ok;
}

Code RealStorage::remove(std::string_view path) {
    std::error_code trouble;
    return fs::remove(file(path), trouble) ? Code::ok : Code::not_found;
}

Code RealStorage::read(std::string_view path, std::vector<Number>& content) {
    sim::Call call;
    if (intercept_call(sim::CallKind::storage_read, path, 0, call)) return call.answer;
    std::ifstream in(file(path), std::ios::binary);
    if (!in) return Code::not_found;
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    content.resize(bytes.size() / sizeof(Number));
    std::copy_n(bytes.data(), content.size() * sizeof(Number), reinterpret_cast<char*>(content.data()));
    flip(content, call.flip_bit);
    return Code::ok;
}

std::vector<std::string> RealStorage::list(std::string_view prefix) const {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(directory_, ignored)) {
        if (!entry.is_regular_file(ignored)) continue;
        std::string name = fs::relative(entry.path(), directory_, ignored).string();
        if (prefix.starts_with('/')) name = "/" + name;
        if (name.starts_with(prefix)) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace deadrank::runners
