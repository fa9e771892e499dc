# runners/suites/cmake/deadrank_list_scenarios.cmake — Run by ctest: asks the program for the scenarios, and
# adds a test for each. If the program fails, a single test fails with its message.
execute_process(COMMAND ${program} list --json ${scenarios} OUTPUT_VARIABLE listing ERROR_VARIABLE complaint
                RESULT_VARIABLE code)
set(count 0)
if(code EQUAL 0)
  string(JSON count ERROR_VARIABLE ignored LENGTH "${listing}")
endif()
if(NOT code EQUAL 0 OR NOT count GREATER 0)
  add_test("${prefix}scenarios" ${program} list ${scenarios})
  set_tests_properties("${prefix}scenarios" PROPERTIES
    FAIL_REGULAR_EXPRESSION "." LABELS "${labels}" TIMEOUT ${timeout})
else()
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    string(JSON id GET "${listing}" ${index} id)
    string(JSON file GET "${listing}" ${index} file)
    add_test("${prefix}${id}" ${program} run ${file} --runner ${runner} --seeds ${seeds} ${arguments})
    set_tests_properties("${prefix}${id}" PROPERTIES LABELS "${labels}" TIMEOUT ${timeout})
  endforeach()
endif()
