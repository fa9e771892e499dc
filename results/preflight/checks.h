// results/preflight/checks.h — One function per rule; examine.cpp has the table.
#pragma once

#include "results/preflight/examine.h"

namespace deadrank::results::preflight {

using Remarks = std::vector<Remark>;

void check_launch_variables(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_rank_order(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_values(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_names(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_drift(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_endless_waits(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_interfaces(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_master(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_devices(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_limits(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_version_skew(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_version_needs(const Job& job, const Knowledge& knowledge, Remarks& remarks);
void check_nightlies(const Job& job, const Knowledge& knowledge, Remarks& remarks);

// Whether these processes were started as ranks of a job at all.
bool is_distributed(const Job& job);
// The whole text as a number.
std::optional<std::int64_t> integer_in(std::string_view text);
// The processes for which `of` is true.
template <class Of>
std::vector<std::size_t> processes_where(const Job& job, const Of& of) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < job.size(); ++i) {
        if (of(job[i])) found.push_back(i);
    }
    return found;
}

// The processes that differ from the others in one quantity, with a value of theirs and that of the majority.
struct Split {
    std::vector<std::size_t> odd;
    std::string odd_value, usual_value;
};
// In a tie, those that set it where others did not, else those unlike the first. Nothing when all agree.
std::optional<Split> split_of(const Job& job, std::string_view name,
                              std::map<std::string, std::string, std::less<>> Snapshot::*table);

}  // namespace deadrank::results::preflight
