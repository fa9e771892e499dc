// results/emitters/files.cpp — Each file is whole or absent.
#include "results/emitters/files.h"

#include "results/reports/text_file.h"

namespace deadrank::results::emitters {

scenarios::Result<void> write_files(const std::vector<EmittedFile>& files,
                                    const std::filesystem::path& directory) {
    for (const EmittedFile& file : files) {
        if (auto written = reports::write_text(file.bytes, directory / file.name); !written) return written;
    }
    return {};
}

}  // namespace deadrank::results::emitters
