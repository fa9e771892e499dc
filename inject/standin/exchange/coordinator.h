// inject/standin/exchange/coordinator.h — Where all calls of a job meet: one thread, one loop over all
// sockets. A rank that is killed or stopped is seen from here as its peers' machines would see it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inject/standin/exchange/member.h"
#include "inject/standin/exchange/served_communicator.h"

namespace deadrank::inject::standin {

class Coordinator {
public:
    Coordinator(Socket listener, std::uint64_t seed) : listener_(std::move(listener)), seed_(seed) {}

    // Until the last connection is closed; the process that started us holds one.
    void serve();

private:
    struct Line {
        Socket socket;
        std::string in, out;
        std::size_t sent = 0;
        ServedCommunicator* communicator = nullptr;
        int member = -1;
        bool broken = false;
    };

    void accept();
    void receive(Line& line);
    void take(Line& line, Kind kind, std::string_view content);
    void enter(Line& line, const Hello& hello);
    void flush(Line& line);
    void close_broken();

    Socket listener_;
    std::uint64_t seed_;
    std::vector<char> chunk_ = std::vector<char>(std::size_t{1} << 20);
    std::map<int, std::unique_ptr<Line>> lines_;  // by file descriptor
    std::map<std::string, std::unique_ptr<ServedCommunicator>> communicators_;
    std::map<std::pair<std::string, int>, Line*> seats_;  // communicator and member
};

}  // namespace deadrank::inject::standin
