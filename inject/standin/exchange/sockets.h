// inject/standin/exchange/sockets.h — Unix sockets in the abstract namespace: they have no file that could be
// left behind, and nothing outside this machine reaches them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace deadrank::standin {

// A file descriptor that is closed once.
class Socket {
public:
    explicit Socket(int handle = -1) : handle_(handle) {}
    Socket(Socket&& other) noexcept : handle_(other.release()) {}
    Socket& operator=(Socket&& other) noexcept;
    ~Socket();

    int handle() const { return handle_; }
    explicit operator bool() const { return handle_ >= 0; }
    int release();
    void shut();  // wakes whoever reads

    bool write(std::string_view bytes);       // all of it, or false: nobody is there any more
    bool read(void* into, std::size_t size);  // likewise

private:
    int handle_;
};

Socket listen_at(const std::string& address);
Socket connect_to(const std::string& address);

}  // namespace deadrank::standin
