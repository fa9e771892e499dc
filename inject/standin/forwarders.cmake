# inject/standin/forwarders.cmake — The names that a library must export but no file defines, from a list:
# each refuses and says its own name. They are weak, so that a definition anywhere in the library comes first.

# deadrank_names_of(into list…). A list that is edited is read again by the next build.
function(deadrank_names_of into)
  set(all)
  foreach(list IN LISTS ARGN)
    file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${list} names REGEX "^[^#]" ENCODING UTF-8)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${list})
    list(APPEND all ${names})
  endforeach()
  set(${into} "${all}" PARENT_SCOPE)
endfunction()

# deadrank_forwarders(target list…): for runtime, driver and NVML. Per-thread forms are the plain ones.
function(deadrank_forwarders target)
  deadrank_names_of(names ${ARGN})
  set(text "int deadrank_standin_refuses(const char* name);\n")
  foreach(name IN LISTS names)
    string(REGEX REPLACE "_pts[zd]$|_ptds$" "" plain "${name}")
    if(plain STREQUAL name)
      string(APPEND text
        "int __attribute__((weak)) ${name}(void) { return deadrank_standin_refuses(\"${name}\"); }\n")
    else()
      deadrank_weak_name(${name} ${plain} text)
    endif()
  endforeach()
  deadrank_forwarding_source(${target} "${text}")
endfunction()

# For NCCL: pncclX is ours, ncclX is a weak name of it, as in the original. A library in front that defines
# ncclX can still call pncclX.
function(deadrank_nccl_forwarders target list)
  deadrank_names_of(names ${list})
  set(text "int deadrank_standin_refuses(const char* name);\n")
  foreach(name IN LISTS names)
    string(APPEND text
      "int __attribute__((weak)) pnccl${name}(void) { return deadrank_standin_refuses(\"nccl${name}\"); }\n")
    deadrank_weak_name(nccl${name} pnccl${name} text)
  endforeach()
  deadrank_forwarding_source(${target} "${text}")
endfunction()

# A weak name that leads to another function, whatever its arguments are.
function(deadrank_weak_name name target into)
  string(APPEND ${into}
    "__asm__(\".text\\n.weak ${name}\\n.type ${name},%function\\n${name}: jmp ${target}@PLT\\n\");\n")
  set(${into} "${${into}}" PARENT_SCOPE)
endfunction()

function(deadrank_forwarding_source target text)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_names.c)
  file(CONFIGURE OUTPUT ${file} CONTENT "/* Written by inject/standin/forwarders.cmake. */\n${text}" @ONLY)
  target_sources(${target} PRIVATE ${file})
  set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "-w;-fno-builtin;-fno-toplevel-reorder")
endfunction()
