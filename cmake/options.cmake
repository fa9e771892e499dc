# cmake/options.cmake — How deadrank is compiled: build types, warnings, sanitizers, quick tools.
# Nothing here needs a GPU or an MPI: AUTO uses them if they are found.
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT multi_config)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "Dev, RelWithDebInfo, Release or Debug" FORCE)
endif()
set_property(CACHE CMAKE_BUILD_TYPE PROPERTY STRINGS Dev RelWithDebInfo Release Debug)

option(DEADRANK_WERROR "Treat warnings as errors" OFF)
option(DEADRANK_TESTS "Build the tests" ON)
option(DEADRANK_FUZZ "Have the target fuzzers: libFuzzer programs of the readers, with clang" OFF)
option(DEADRANK_BENCH "Have the target deadrank_bench, where Google Benchmark is installed" ON)
set(DEADRANK_SANITIZE "" CACHE STRING "address, undefined, thread, or empty")
set_property(CACHE DEADRANK_SANITIZE PROPERTY STRINGS "" address undefined thread)
foreach(backend MPI GPU)
  set(DEADRANK_${backend} AUTO CACHE STRING "AUTO, ON or OFF: the ${backend} runner")
  set_property(CACHE DEADRANK_${backend} PROPERTY STRINGS AUTO ON OFF)
endforeach()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1" CACHE STRING "Flags of a quick build: line tables, and every check alive")
set(CMAKE_C_FLAGS_DEV "-O1 -g1" CACHE STRING "Flags of a quick build")
# The product reads files of strangers: smashed stacks and indices out of range end it. The modules have
# _FORTIFY_SOURCE as well (modules.cmake); libraries that stand before libc's own functions cannot.
set(hardened "-fstack-protector-strong -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 ${hardened}" CACHE STRING "Flags of the product; asserts stay on"
    FORCE)
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 ${hardened}" CACHE STRING "Flags of the product" FORCE)

# The same numbers from every compiler: no fused multiply-add, which only some of them would emit.
add_compile_options(-Wall -Wextra -Wpedantic -ffp-contract=off)
# Designated initializers name what matters and leave the rest to its default; this is intended.
add_compile_options(-Wno-missing-field-initializers)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wshadow> $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms at -O2 on std::string (GCC bug 105651) and on std::optional (GCC bug 80635).
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
endif()
if(DEADRANK_WERROR)
  add_compile_options(-Werror)
endif()
# Paths in messages are those of the repository, so that a report reveals nothing about the machine.
# Build directories are named alike too. The last match wins.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
add_link_options(-Wl,-z,now)

if(DEADRANK_SANITIZE)
  if(NOT DEADRANK_SANITIZE MATCHES "^(address|undefined|thread)$")
    message(FATAL_ERROR "DEADRANK_SANITIZE is '${DEADRANK_SANITIZE}'; use address, undefined or thread.")
  endif()
  add_compile_options(-fsanitize=${DEADRANK_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DEADRANK_SANITIZE})
  if(DEADRANK_SANITIZE STREQUAL "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  elseif(DEADRANK_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Exceptions inside fibers raise a false stack-buffer-overflow with Boost as distributions build it
    # (boostorg/context #70).
    add_compile_options("SHELL:--param asan-stack=0")
  endif()
endif()

if(DEADRANK_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "DEADRANK_FUZZ needs clang, which has libFuzzer: cmake --preset fuzz.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)  # counts what each input reaches
endif()

find_program(DEADRANK_CCACHE ccache)
if(DEADRANK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # One cache serves each clone and each build directory of one preset: ccache tells gcc relative paths.
  file(RELATIVE_PATH to_sources ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  add_compile_options(-ffile-prefix-map=${to_sources}=)
  set(with_cache ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${DEADRANK_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${with_cache})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${with_cache})
endif()
find_program(DEADRANK_MOLD mold)
find_program(DEADRANK_LLD ld.lld)
if(DEADRANK_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(DEADRANK_LLD)
  add_link_options(-fuse-ld=lld)
endif()

add_compile_definitions(BOOST_ASIO_NO_DEPRECATED BOOST_ERROR_CODE_HEADER_ONLY)
