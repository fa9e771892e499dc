// runners/backends/process/kept_files.h — Files of others that a job's hooks damaged: each was copied first
// and is listed with how it was left, in KEPT/*.jsonl. One that somebody wrote since then is not ours any
// more.
#pragma once

#include <filesystem>

#include "runners/backends/process/journal.h"

namespace deadrank::runners {

// Lines of a list: {"path": …, "backup": …} before the damage, and the same with "size" and "written" of what
// it left, -1 where that is nothing.
Undone restore_kept(const Deed& deed);

}  // namespace deadrank::runners
