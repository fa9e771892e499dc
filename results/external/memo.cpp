// results/external/memo.cpp — The key is a hash of the files' names and bytes.
#include "results/external/memo.h"

#include <xxhash.h>

namespace deadrank::results::external {

Memo::Key Memo::key_of(const std::vector<emitters::EmittedFile>& files) {
    XXH3_state_t* state = XXH3_createState();
    XXH3_128bits_reset(state);
    const auto take = [&](const std::string& text) {
        const std::uint64_t length = text.size();
        XXH3_128bits_update(state, &length, sizeof length);
        XXH3_128bits_update(state, text.data(), text.size());
    };
    for (const emitters::EmittedFile& file : files) take(file.name), take(file.bytes);
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    return {hash.high64, hash.low64};
}

Memo::Answer Memo::query(const std::vector<emitters::EmittedFile>& files,
                         const std::function<Answer()>& tool) {
    const Key key = key_of(files);
    {
        const std::lock_guard lock(inside_->mutex);
        const auto known = inside_->answers.find(key);
        if (known != inside_->answers.end()) return known->second;
    }
    Answer answer = tool();
    if (answer && answer->ending == processes::Ending::by_itself) {
        const std::lock_guard lock(inside_->mutex);
        inside_->answers.emplace(key, *answer);
    }
    return answer;
}

}  // namespace deadrank::results::external
