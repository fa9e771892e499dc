// sim/machine/files.cpp — Reading, writing and what spoils both.
#include "sim/machine/files.h"

#include <algorithm>
#include <utility>

#include "sim/machine/machine.h"

namespace deadrank::sim {

namespace {

constexpr std::int64_t element_bytes = sizeof(Number);

bool covers_path(const StorageChange& change, std::string_view path) {
    return path.find(change.path) != std::string_view::npos;
}

bool lasts(StorageTrouble what) {
    return what == StorageTrouble::slow || what == StorageTrouble::full ||
           what == StorageTrouble::read_only || what == StorageTrouble::stale;
}

void flip(std::vector<Number>& content, std::int64_t bit) {
    if (content.empty()) return;
    const auto bits = static_cast<std::int64_t>(content.size()) * 64;
    bit = (bit % bits + bits) % bits;
    Number& value = content[static_cast<std::size_t>(bit / 64)];
    value = static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << bit % 64);
}

void cut_content(std::vector<Number>& content, std::int64_t kept) {
    const std::size_t half = content.size() / 2;
    content.resize(kept > 0 ? std::min(content.size(), static_cast<std::size_t>(kept)) : half);
}

}  // namespace

const StorageChange* Files::standing(StorageTrouble what, std::string_view path) const {
    for (const StorageChange& change : standing_) {
        if (change.what == what && covers_path(change, path)) return &change;
    }
    return nullptr;
}

bool Files::take_pending(StorageTrouble what, std::string_view path, std::int64_t& amount) {
    const auto found = std::find_if(pending_.begin(), pending_.end(), [&](const StorageChange& c) {
        return c.what == what && covers_path(c, path);
    });
    if (found == pending_.end()) return false;
    amount = found->amount;
    pending_.erase(found);
    return true;
}

void Files::pass_time(Process& process, std::string_view path, std::size_t elements) {
    const ClusterSettings& settings = machine_.settings;
    Time time = settings.storage_latency +
                time_of(static_cast<std::int64_t>(elements) * element_bytes, settings.storage_bandwidth);
    if (const StorageChange* slow = standing(StorageTrouble::slow, path))
        time = time * std::max<std::int64_t>(slow->amount, 1) / 1000;
    machine_.engine.sleep(time);
    machine_.processes.settle(process);
}

std::int64_t Files::free_bytes() const {
    std::int64_t free = machine_.settings.disk - used_ * element_bytes;
    for (const StorageChange& change : standing_) {
        if (change.what == StorageTrouble::full) free = std::min(free, change.amount * element_bytes);
    }
    return std::max<std::int64_t>(0, free);
}

Code Files::write(Process& process, std::string_view path, std::span<const Number> content, WriteMode mode) {
    pass_time(process, path, content.size());
    if (mode == WriteMode::create && files_.contains(path)) return Code::invalid_usage;
    if (standing(StorageTrouble::read_only, path)) return Code::system_error;
    const auto size = static_cast<std::int64_t>(content.size());
    const StorageChange* full = standing(StorageTrouble::full, path);
    if ((full && size > full->amount) || (used_ + size) * element_bytes > machine_.settings.disk)
        return Code::no_space;
    if (path.ends_with('/')) {  // a folder: there is nothing to lose or to tear
        files_[std::string(path)].synced = true;
        return Code::ok;
    }
    std::int64_t amount = 0;
    if (take_pending(StorageTrouble::lose, path, amount)) return Code::ok;
    const auto [entry, fresh] = files_.try_emplace(std::string(path));
    File& file = entry->second;
    std::vector<Number> written;
    if (mode == WriteMode::append) written = file.content;
    written.insert(written.end(), content.begin(), content.end());
    used_ += static_cast<std::int64_t>(written.size()) - static_cast<std::int64_t>(file.content.size());
    file.before = std::exchange(file.content, std::move(written));
    file.has_before = !fresh;
    file.synced = false;
    file.writer_node = process.node;
    if (take_pending(StorageTrouble::tear, path, amount)) cut_content(file.content, amount);
    spoil_later(path);
    return Code::ok;
}

const std::vector<Number>* Files::content(std::string_view path) const {
    const auto found = files_.find(path);
    return found == files_.end() ? nullptr : &found->second.content;
}

void Files::drop(std::string_view path) {
    const auto found = files_.find(path);
    if (found == files_.end()) return;
    used_ -= static_cast<std::int64_t>(found->second.content.size());
    files_.erase(found);
}

Code Files::sync(Process& process, std::string_view path) {
    pass_time(process, path, 0);
    const auto found = files_.find(path);
    if (found != files_.end()) found->second.synced = true;  // a lost write syncs well, too
    return Code::ok;
}

Code Files::rename(Process& process, std::string_view from, std::string_view to) {
    pass_time(process, to, 0);
    if (standing(StorageTrouble::read_only, to)) return Code::system_error;
    const auto found = files_.find(from);
    if (found == files_.end()) return Code::not_found;
    File moved = std::move(found->second);
    files_.erase(found);
    const auto [entry, fresh] = files_.try_emplace(std::string(to));
    moved.has_before = !fresh;
    moved.before = std::move(entry->second.content);
    used_ -= static_cast<std::int64_t>(moved.before.size());
    entry->second = std::move(moved);
    spoil_later(to);
    return Code::ok;
}

Code Files::remove(Process& process, std::string_view path) {
    pass_time(process, path, 0);
    const auto found = files_.find(path);
    if (found == files_.end()) return Code::not_found;
    used_ -= static_cast<std::int64_t>(found->second.content.size());
    files_.erase(found);
    return Code::ok;
}

Code Files::read(Process& process, std::string_view path, std::vector<Number>& content) {
    const auto size = files_.find(path);
    pass_time(process, path, size == files_.end() ? 0 : size->second.content.size());
    const auto found = files_.find(path);
    if (found == files_.end()) return Code::not_found;
    const File& file = found->second;
    if (!standing(StorageTrouble::stale, path)) {
        content = file.content;
        return Code::ok;
    }
    if (!file.has_before) return Code::not_found;
    content = file.before;
    return Code::ok;
}

std::vector<std::string> Files::list(std::string_view prefix) const {
    std::vector<std::string> names;
    for (auto entry = files_.lower_bound(prefix); entry != files_.end() && entry->first.starts_with(prefix);
         ++entry) {
        names.push_back(entry->first);
    }
    return names;
}

void Files::change(const StorageChange& change) {
    if (lasts(change.what)) {
        std::erase_if(standing_,
                      [&](const StorageChange& c) { return c.what == change.what && c.path == change.path; });
        if (!change.end) standing_.push_back(change);
        return;
    }
    const bool waits = change.what == StorageTrouble::tear || change.what == StorageTrouble::lose;
    if (change.what != StorageTrouble::none && (waits || !spoil(change))) pending_.push_back(change);
}

bool Files::spoil(const StorageChange& change) {
    std::vector<std::string> hit;
    for (const auto& [path, file] : files_) {
        if (covers_path(change, path) && !path.ends_with('/')) hit.push_back(path);
    }
    if (change.what == StorageTrouble::swap) {
        if (hit.size() < 2) return false;
        std::swap(files_[hit[0]].content, files_[hit[1]].content);
        return true;
    }
    for (const std::string& path : hit) {
        File& file = files_[path];
        if (change.what == StorageTrouble::flip) flip(file.content, change.amount);
        const std::size_t size = file.content.size();
        if (change.what == StorageTrouble::truncate) cut_content(file.content, change.amount);
        if (change.what == StorageTrouble::remove) file.content.clear();
        used_ -= static_cast<std::int64_t>(size - file.content.size());
        if (change.what == StorageTrouble::remove) files_.erase(path);
    }
    return !hit.empty();
}

// A change that found no file acts once there is one.
void Files::spoil_later(std::string_view path) {
    for (std::size_t i = 0; i < pending_.size();) {
        const StorageChange change = pending_[i];
        const bool waits = change.what == StorageTrouble::tear || change.what == StorageTrouble::lose;
        if (!waits && covers_path(change, path) && spoil(change)) {
            pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            ++i;
        }
    }
}

// What lay on the node's own disk is gone with it; what it wrote elsewhere, unless it was synced.
void Files::local_lost(int node) {
    const std::string own = "node" + std::to_string(node) + "/";
    std::erase_if(files_, [&](const auto& entry) {
        if (!entry.first.starts_with(own)) return false;
        used_ -= static_cast<std::int64_t>(entry.second.content.size());
        return true;
    });
}

void Files::node_lost(int node) {
    local_lost(node);
    for (auto& [path, file] : files_) {
        if (file.writer_node != node || file.synced) continue;
        used_ -= static_cast<std::int64_t>(file.content.size());
        file.content.clear();  // the name got there, the data did not
    }
}

}  // namespace deadrank::sim
