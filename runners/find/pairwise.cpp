// runners/find/pairwise.cpp — Each row starts with the first pair that has not met yet; what is free in it
// takes the value that lets most pairs meet.
#include "runners/find/pairwise.h"

#include <algorithm>
#include <cstdint>

#include "scenarios/model/error.h"

namespace deadrank::runners::find {

namespace {

using Row = std::vector<std::size_t>;
constexpr std::size_t open = SIZE_MAX;

class Covering {
public:
    explicit Covering(const std::vector<std::size_t>& levels) : levels_(levels), met_(levels.size()) {
        for (std::size_t a = 0; a < levels.size(); ++a) {
            met_[a].resize(levels.size());
            for (std::size_t b = a + 1; b < levels.size(); ++b)
                met_[a][b].assign(levels[a] * levels[b], false);
        }
    }

    std::vector<Row> rows() {
        std::vector<Row> rows;
        for (std::size_t a = 0; a < levels_.size(); ++a) {
            for (std::size_t b = a + 1; b < levels_.size(); ++b) cover(a, b, rows);
        }
        return rows;
    }

private:
    void cover(std::size_t a, std::size_t b, std::vector<Row>& rows) {
        for (std::size_t x = 0; x < levels_[a]; ++x) {
            for (std::size_t y = 0; y < levels_[b]; ++y) {
                if (met_[a][b][x * levels_[b] + y]) continue;
                Row row(levels_.size(), open);
                row[a] = x;
                row[b] = y;
                fill(row);
                mark(row);
                rows.push_back(std::move(row));
            }
        }
    }

    bool has_met(std::size_t a, std::size_t x, std::size_t b, std::size_t y) const {
        return a < b ? met_[a][b][x * levels_[b] + y] : met_[b][a][y * levels_[a] + x];
    }

    // How many pairs that have not met yet this value would bring together with what stands in the row.
    std::size_t gain(const Row& row, std::size_t factor, std::size_t value) const {
        std::size_t sum = 0;
        for (std::size_t other = 0; other < row.size(); ++other) {
            if (other != factor && row[other] != open && !has_met(factor, value, other, row[other])) ++sum;
        }
        return sum;
    }

    void fill(Row& row) {
        for (std::size_t factor = 0; factor < row.size(); ++factor) {
            if (row[factor] != open) continue;
            // Where nothing is gained, values take turns, so that the free places are spread.
            std::size_t best = turn_++ % levels_[factor];
            std::size_t most = gain(row, factor, best);
            for (std::size_t value = 0; value < levels_[factor]; ++value) {
                const std::size_t here = gain(row, factor, value);
                if (here <= most) continue;
                best = value;
                most = here;
            }
            row[factor] = best;
        }
    }

    void mark(const Row& row) {
        for (std::size_t a = 0; a < row.size(); ++a) {
            for (std::size_t b = a + 1; b < row.size(); ++b) met_[a][b][row[a] * levels_[b] + row[b]] = true;
        }
    }

    const std::vector<std::size_t>& levels_;
    std::vector<std::vector<std::vector<bool>>> met_;  // by two factors, then value × value
    std::size_t turn_ = 0;
};

}  // namespace

std::vector<Row> pairwise(const std::vector<std::size_t>& levels) {
    CHECK(std::find(levels.begin(), levels.end(), std::size_t{0}) == levels.end());
    if (levels.size() == 1) {
        std::vector<Row> rows;
        for (std::size_t value = 0; value < levels.front(); ++value) rows.push_back({value});
        return rows;
    }
    return Covering(levels).rows();
}

}  // namespace deadrank::runners::find
