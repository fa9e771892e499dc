// runners/backends/releases/pip.h — The package index by pip, and its trouble as sentences.
#pragma once

#include <atomic>
#include <filesystem>

#include "runners/backends/process/python.h"
#include "runners/backends/releases/pins.h"

namespace deadrank::runners::releases {

// "3.11.2"; empty when this Python does not answer.
std::string interpreter_version(const Python& python);

// The one archive that the index has for this Python. Errors: environment.
scenarios::Result<Archive> ask_index(const Python& python, const scenarios::Pin& pin,
                                     const std::atomic<bool>* stop);

// The list of requirements, with hashes, into a directory; nothing that they depend on. Errors: environment.
scenarios::Result<void> install(const Python& python, const std::filesystem::path& list,
                                const std::filesystem::path& target, const std::atomic<bool>* stop);

// What pip said, as one of our sentences. `subject`: what was asked for.
scenarios::Error trouble_of(const std::string& said, const std::string& subject);

}  // namespace deadrank::runners::releases
