// scenarios/model/error.h — Two of the three channels for errors: CHECK for a bug of ours, Result<T> for bad
// input or a missing resource.
#pragma once

#include <exception>
#include <string>
#include <tl/expected.hpp>

namespace deadrank::scenarios {

// CHECK guards against our own mistakes: always on, prints where and what, aborts. Never for user input and
// never for failures of the simulated job.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace deadrank::scenarios

#define CHECK(condition) \
    ((condition) ? void(0) : ::deadrank::scenarios::check_failed(#condition, __FILE__, __LINE__))

namespace deadrank::scenarios {

// ── What may go wrong at our interfaces: a bad file, a missing backend, a refused lever. Failures inside
// the training job are not errors; they are exceptions in a rank and events in the evidence.

enum class ErrorCode {
    usage,        // the command line asks for something that does not exist
    bad_input,    // a file says something that makes no sense
    unsupported,  // this backend cannot do it; the run is `unknown`, never `pass`
    environment,  // a tool, library or permission is missing on this machine
    io,           // the disk or the network failed
    internal,     // a bound of our own was reached
};

// Where it went wrong. Line and column count from 1; 0 means that there is none.
struct Place {
    std::string file;
    int line = 0;
    int column = 0;

    bool operator==(const Place&) const = default;
};

// One sentence with the value that was refused, and one that says what to do instead.
struct Error {
    ErrorCode code = ErrorCode::bad_input;
    std::string what;
    std::string remedy = {};
    Place place = {};

    // "file:12:3: unknown key 'stpe' — did you mean 'step'?"
    std::string text() const;

    bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> refuse(ErrorCode code, std::string what, std::string remedy = {},
                                    Place place = {}) {
    return tl::unexpected<Error>(Error{code, std::move(what), std::move(remedy), std::move(place)});
}

// ── A failure of this machine in the middle of a run is no evidence about the job: the run is `unknown`.

// Whether the exception means that this machine lacks memory, threads, descriptors or room on its disk.
bool is_host_failure(const std::exception& thrown);

// The same as an error: environment.
Error host_error(const std::exception& thrown);

}  // namespace deadrank::scenarios
