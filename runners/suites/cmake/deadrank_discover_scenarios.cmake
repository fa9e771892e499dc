# runners/suites/cmake/deadrank_discover_scenarios.cmake — Each scenario a CTest test, found when ctest
# runs: a new file needs no configuring.
#
#   deadrank_discover_scenarios(SCENARIOS <file|directory|id> …   what `deadrank list` takes
#                               [PROGRAM <target or path>]        yours [deadrank::program]
#                               [SEEDS 1..5] [RUNNER sim] [PREFIX name] [LABELS …] [TIMEOUT seconds]
#                               [ARGUMENTS …])                    further arguments of `deadrank run`
#
# A test passes when deadrank says pass; fail and unknown both fail, since unknown proves nothing.
set(DEADRANK_LIST_SCENARIOS ${CMAKE_CURRENT_LIST_DIR}/deadrank_list_scenarios.cmake)

function(deadrank_discover_scenarios)
  cmake_parse_arguments(arg "" "PROGRAM;SEEDS;RUNNER;PREFIX;TIMEOUT" "SCENARIOS;LABELS;ARGUMENTS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "deadrank_discover_scenarios: '${arg_UNPARSED_ARGUMENTS}' is not understood; "
                        "name scenarios after SCENARIOS.")
  endif()
  if(NOT arg_SCENARIOS)
    message(FATAL_ERROR "deadrank_discover_scenarios: name a file, directory or id after SCENARIOS.")
  endif()
  foreach(pair "PROGRAM;deadrank::program" "SEEDS;1..1" "RUNNER;sim" "PREFIX;deadrank." "TIMEOUT;300")
    list(GET pair 0 name)
    list(GET pair 1 otherwise)
    if(NOT DEFINED arg_${name})
      set(arg_${name} ${otherwise})
    endif()
  endforeach()
  if(TARGET ${arg_PROGRAM})
    set(program $<TARGET_FILE:${arg_PROGRAM}>)
  else()
    set(program ${arg_PROGRAM})
  endif()

  # Relative to the CMakeLists.txt that names them, whatever directory ctest runs in.
  set(scenarios)
  foreach(one IN LISTS arg_SCENARIOS)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${one})
      set(one ${CMAKE_CURRENT_SOURCE_DIR}/${one})
    endif()
    list(APPEND scenarios ${one})
  endforeach()

  get_property(count DIRECTORY PROPERTY DEADRANK_SUITES)
  math(EXPR count "0${count} + 1")
  set_property(DIRECTORY PROPERTY DEADRANK_SUITES ${count})
  set(script ${CMAKE_CURRENT_BINARY_DIR}/deadrank_scenarios_${count})
  # The configuration is part of the name, as several may be generated at once.
  file(GENERATE OUTPUT ${script}_$<CONFIG>.cmake CONTENT
"set(program [==[${program}]==])
set(scenarios [==[${scenarios}]==])
set(runner [==[${arg_RUNNER}]==])
set(seeds [==[${arg_SEEDS}]==])
set(prefix [==[${arg_PREFIX}]==])
set(labels [==[${arg_LABELS}]==])
set(timeout [==[${arg_TIMEOUT}]==])
set(arguments [==[${arg_ARGUMENTS}]==])
include([==[${DEADRANK_LIST_SCENARIOS}]==])
")
  file(WRITE ${script}.cmake
"if(EXISTS \"${script}_\${CTEST_CONFIGURATION_TYPE}.cmake\")
  include(\"${script}_\${CTEST_CONFIGURATION_TYPE}.cmake\")
else()
  include(\"${script}_${CMAKE_BUILD_TYPE}.cmake\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script}.cmake)
endfunction()
