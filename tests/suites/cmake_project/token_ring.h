// tests/suites/cmake_project/token_ring.h — The extension: a workload in which a token goes round the ranks,
// and what finds it lost.
#pragma once

#include <deadrank/runners/backend/extension.h>

deadrank::runners::Extension token_ring();
