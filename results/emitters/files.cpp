// results/emitters/files.cpp — Each file is whole or absent.
#include "results/emitters/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "results/emitters/c10d_names.h"
#include "results/text/text_file.h"

namespace deadrank::results::emitters {

scenarios::Result<void> write_files(const std::vector<EmittedFile>& files,
                                    const std::filesystem::path& directory, Time taken) {
    for (const EmittedFile& file : files) {
        if (auto written = reports::write_text(file.bytes, directory / file.name); !written) return written;
        if (taken == never) continue;
        const std::int64_t at = wall_clock(taken);
        const timespec time{at / 1'000'000'000, at % 1'000'000'000};
        const timespec both[2] = {time, time};
        utimensat(AT_FDCWD, (directory / file.name).c_str(), both, 0);
    }
    return {};
}

}  // namespace deadrank::results::emitters
