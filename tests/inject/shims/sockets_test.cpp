// tests/inject/shims/sockets_test.cpp — Goal: one bit of what a process sends to a peer turns on the way, in
// the content alone, once; its own memory, its headers and the store stay as they are.
#include <fstream>
#include <gtest/gtest.h>

#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

const std::string script = R"(
import ctypes, os, socket, sys
flip = ctypes.CDLL(None).deadrank_link_flip
flip.restype, flip.argtypes = ctypes.c_longlong, [ctypes.c_longlong]
server = socket.create_server(('127.0.0.1', 0))
caller = socket.create_connection(server.getsockname())
peer = server.accept()[0]
content = bytearray(b'abcdefgh')

def sends(*parts):
    os.writev(caller.fileno(), parts)
    return peer.recv(100)

if sys.argv[1] == 'store':
    os.environ['MASTER_PORT'] = str(server.getsockname()[1])
    flip(0)
    assert sends(b'head', content) == b'headabcdefgh'
    assert flip(-1) == 0
    sys.exit()
assert flip(72) == -1
assert sends(b'head', content) == b'headabcdefgh'  # has no such bit
assert flip(17) == 72
assert sends(b'a header, and nothing behind it') == b'a header, and nothing behind it'
assert sends(b'head', b'ab') == b'headab'
assert sends(b'head', b'ab', content) == b'headabcbcdefgh'
assert content == b'abcdefgh'
assert flip(-1) == -1
assert sends(b'head', content) == b'headabcdefgh'
)";

TEST(DeviceSocketShim, TurnsOneBitOfTheContentOnce) {
    if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
    for (const char* to : {"peer", "store"}) {
        ShimRun run;
        run.environment["LD_PRELOAD"] = shim_directory + "/libdeadrank-sockets.so";
        std::ofstream(run.directory / "script.py") << script;
        const Answer answer = run.start("python3 " + (run.directory / "script.py").string() + " " + to);
        EXPECT_EQ(answer.code, 0) << to << ": " << answer.out;
    }
}

}  // namespace
}  // namespace deadrank::tests
