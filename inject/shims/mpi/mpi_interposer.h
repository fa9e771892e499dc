// inject/shims/mpi/mpi_interposer.h — Around each MPI call: it is recorded, altered, passed on.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "inject/shims/core/call_lines.h"
#include "inject/shims/core/session.h"
#include "inject/shims/mpi/mpi_below.h"
#include "inject/shims/mpi/mpi_call.h"

namespace deadrank::inject::shims {

class Interposer {
public:
    // Lives as long as the process: MPI may still be called when destructors have run.
    static Interposer& here();

    // A collective or a message.
    int move(const Call& asked);

    // A call that waits for requests, or looks at them: what was over by then is written down.
    int complete(Function which, int count, MPI_Request* requests, const std::function<int()>& call);

    int begin(Function which, const std::function<int()>& make);
    int end(const std::function<int()>& finalize);
    int abort(MPI_Comm comm, const std::function<int()>& leave);

    // A call that makes a communicator out of `parent`.
    int derive(Function which, MPI_Comm parent, MPI_Comm* made, bool same_members,
               const std::function<int()>& make);
    int free(MPI_Comm* comm, const std::function<int()>& release);
    void name(MPI_Comm comm, const char* name) { communicators_.name(comm, name); }

private:
    struct Pending {  // a call whose request the program waits for
        Communicator* comm;
        SeenCall seen;
        Altered altered;
    };
    struct Held {
        Communicator* comm;
        Altered altered;
    };

    Interposer();

    // Delays, then: nothing, or the code to answer with.
    std::optional<int> apply_fault(Communicator& comm, MPI_Comm handle, const Decision& decision);
    int carry_out(Communicator& comm, const Altered& altered, bool never);
    void left(Communicator& comm, const SeenCall& call, int code);
    void over(Pending& pending, int code);
    void issue_held();
    void failed(Communicator& comm, int code);
    void joining(const Communicator& comm);
    void joined(Communicator& comm, int code);

    Session session_;
    Communicators communicators_;
    std::mutex guard_;
    std::multimap<MPI_Request, Pending> pending_;  // small messages share one request
    std::vector<Held> held_;
};

}  // namespace deadrank::inject::shims
