// inject/shims/mpi/communicators.h — The communicators of this process. Their numbers are equal on all
// members and on nobody else: the world is 1, another one's comes from its parent's, the how-many-eth of it
// that it is, and its first member.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "inject/shims/core/session.h"
#include "inject/shims/mpi/library.h"

namespace deadrank::inject::shims {

struct Communicator {
    RankSession* rank = nullptr;
    results::CommId number = 0;
    std::string name;     // world, group1, group2, … until the program names it
    std::string members;  // ranks of the world
    int size = 0, place = -1;
    std::int64_t collectives = 0, messages = 0;  // calls so far
    int children = 0;
};

class Communicators {
public:
    explicit Communicators(Session& session) : session_(session) {}

    Communicator& world();
    Communicator& of(MPI_Comm handle);  // one that nobody announced is met here for the first time

    // What the members of `parent` now make together; its number is theirs, all of them.
    Communicator& making(Communicator& parent);
    // What came of it for this rank.
    Communicator& made(const Communicator& making, MPI_Comm handle, bool same_members);

    void name(MPI_Comm handle, const char* name);
    void forget(MPI_Comm handle);

private:
    void know_members(Communicator& one, MPI_Comm handle);

    Session& session_;
    std::mutex guard_;
    std::deque<Communicator> all_;  // places stay
    std::map<MPI_Comm, Communicator*> known_;
    int groups_ = 0, strangers_ = 0;
};

}  // namespace deadrank::inject::shims
