// runners/backends/local/taken_port.h — Somebody else has the port where the job wants to meet, for the
// length of a run.
#pragma once

namespace deadrank::runners {

class TakenPort {
public:
    // A mute one listens and never answers; the other only keeps the port from being bound.
    TakenPort(int port, bool mute);
    ~TakenPort();
    TakenPort(const TakenPort&) = delete;
    TakenPort& operator=(const TakenPort&) = delete;
    bool taken() const { return taken_; }

    static int any_free();  // a port that was free a moment ago

private:
    int descriptor_;
    bool taken_ = false;
};

}  // namespace deadrank::runners
