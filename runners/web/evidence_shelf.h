// runners/web/evidence_shelf.h — The evidence of runs that were played last, for questions about single
// moments.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "results/record/evidence.h"
#include "results/reports/json_files.h"

namespace deadrank::runners::web {

// Reads each file once, however many ask for it. A file that is being read delays only those who ask for that
// file. Safe to use from several threads.
class EvidenceShelf {
public:
    using Read = std::function<scenarios::Result<results::Evidence>(const std::filesystem::path&)>;

    explicit EvidenceShelf(Read read = results::read_evidence);
    ~EvidenceShelf();
    EvidenceShelf(const EvidenceShelf&) = delete;
    EvidenceShelf& operator=(const EvidenceShelf&) = delete;

    // Reads files in the background, one after the other. `owner` keeps them on the disk until then.
    void read_ahead(const std::vector<std::filesystem::path>& files,
                    const std::shared_ptr<const void>& owner);

    // Who waits for whom at a moment. Errors: io, bad_input.
    scenarios::Result<results::reports::Json> waits(const std::filesystem::path& file, results::Time when);

private:
    // Evidence files its events by kind on first use, so its readers need the lock too.
    struct Book {
        std::filesystem::path file;
        std::mutex mutex;
        std::optional<scenarios::Result<results::Evidence>> evidence;
    };
    struct Ahead {
        std::filesystem::path file;
        std::shared_ptr<const void> owner;
    };
    static constexpr std::size_t kept_most = 6;  // fault, control and healed run of the last two trials

    std::shared_ptr<Book> book_of(const std::filesystem::path& file);
    const scenarios::Result<results::Evidence>& evidence_of(Book& book) const;
    void work();

    const Read read_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::shared_ptr<Book>> books_;  // the one used last is at the end
    std::deque<Ahead> ahead_;
    bool closing_ = false;
    std::thread reader_;
};

}  // namespace deadrank::runners::web
