// results/text/numbers_in.cpp — Whatever stands between the digits parts them.
#include "results/text/numbers_in.h"

#include <cstdlib>
#include <string>

namespace deadrank::results {

std::vector<Rank> numbers_in(std::string_view text) {
    const std::string whole(text);
    std::vector<Rank> numbers;
    for (std::size_t at = 0; at < whole.size();) {
        if (whole[at] < '0' || whole[at] > '9') {
            ++at;
            continue;
        }
        char* end = nullptr;
        numbers.push_back(static_cast<Rank>(std::strtol(whole.c_str() + at, &end, 10)));
        at = static_cast<std::size_t>(end - whole.c_str());
    }
    return numbers;
}

}  // namespace deadrank::results
