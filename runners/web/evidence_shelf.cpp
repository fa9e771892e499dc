// runners/web/evidence_shelf.cpp — The evidence of runs that were played last, for questions about single
// moments.
#include "runners/web/evidence_shelf.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "results/reports/run_view.h"

namespace deadrank::runners::web {

using scenarios::Result;

EvidenceShelf::EvidenceShelf(Read read) : read_(std::move(read)), reader_([this] { work(); }) {}

EvidenceShelf::~EvidenceShelf() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    wake_.notify_all();
    reader_.join();
}

void EvidenceShelf::read_ahead(const std::vector<std::filesystem::path>& files,
                               const std::shared_ptr<const void>& owner) {
    const std::lock_guard lock(mutex_);
    for (const auto& file : files) ahead_.push_back({file, owner});
    // Of many runs in a row only the last ones are worth it: older ones would be pushed off the shelf.
    while (ahead_.size() > kept_most) ahead_.pop_front();
    wake_.notify_one();
}

Result<results::reports::Json> EvidenceShelf::waits(const std::filesystem::path& file, results::Time when) {
    const auto book = book_of(file);
    const std::lock_guard lock(book->mutex);
    const auto& evidence = evidence_of(*book);
    if (!evidence) return tl::unexpected(evidence.error());
    return results::reports::waits_at(*evidence, when);
}

std::shared_ptr<EvidenceShelf::Book> EvidenceShelf::book_of(const std::filesystem::path& file) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(books_.begin(), books_.end(), [&](const auto& book) { return book->file == file; });
    auto book = found == books_.end() ? std::make_shared<Book>() : *found;
    if (found == books_.end())
        book->file = file;
    else
        books_.erase(found);
    books_.push_back(book);
    if (books_.size() > kept_most) books_.pop_front();
    return book;
}

const Result<results::Evidence>& EvidenceShelf::evidence_of(Book& book) const {
    if (!book.evidence) book.evidence.emplace(read_(book.file));
    return *book.evidence;
}

void EvidenceShelf::work() {
    for (;;) {
        Ahead next;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return closing_ || !ahead_.empty(); });
            if (closing_) return;
            next = std::move(ahead_.front());
            ahead_.pop_front();
        }
        const auto book = book_of(next.file);
        const std::lock_guard lock(book->mutex);
        evidence_of(*book);
    }
}

}  // namespace deadrank::runners::web
