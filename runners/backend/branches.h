// runners/backend/branches.h — The faults of one plan as alternatives: the run becomes two processes at each
// fault's moment, so that what comes before is played once.
#pragma once

#include <cstddef>
#include <string_view>
#include <sys/types.h>

#include "results/record/record.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

class Branches {
public:
    virtual ~Branches() = default;

    // Each run is copied before it begins, not at the fault's moment: for ranks that cannot be copied.
    virtual bool from_start() const = 0;

    // The moment of this fault of the plan has come: forks this process. Returns 0 in the copy, in which that
    // fault alone acts. May wait until earlier copies have ended. -1: it cannot be done.
    virtual pid_t fork(std::size_t fault) = 0;

    // The run cannot be copied at the moment of this fault, which is passed over.
    virtual void leave_out(std::size_t fault, std::string_view why) = 0;

    // The run that was copied is over, and its files are about to be given back: copies that still run see them below
    // their own. Returns when there is none.
    virtual void await_copies() = 0;

    // In a copy whose run is over: ends the process.
    [[noreturn]] virtual void finish(scenarios::Result<results::Record> record) = 0;
};

}  // namespace deadrank::runners
