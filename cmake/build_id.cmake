# cmake/build_id.cmake — The header behind `deadrank help version` and every token: version, commit, compiler.
set(commit "unknown")
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE answer
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE code)
if(code EQUAL 0)
  set(commit "${answer}")
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit "-modified")
  endif()
endif()
set(text "// deadrank_build_id.h — Written by cmake/build_id.cmake at each build. Include it in one .cpp only.
#pragma once
#define DEADRANK_BUILD_VERSION \"${VERSION}\"
#define DEADRANK_BUILD_COMMIT \"${commit}\"
#define DEADRANK_BUILD_COMPILER \"${COMPILER}\"
#define DEADRANK_BUILD_TYPE \"${BUILD_TYPE}\"
")
set(old "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${HEADER} "${text}")
endif()
