# cmake/embed.cmake — Writes a .cpp that holds text files: -DOUT=… -DNAMES=a,b -DHEADER=… -DFROM=directory.
# The header's directory is the namespace of asset().
# Run by the build whenever one of the files has changed.
cmake_path(GET HEADER PARENT_PATH namespace)
string(REPLACE "/" "::" namespace "deadrank::${namespace}")
set(text "// Written by cmake/embed.cmake for ${HEADER}.\n#include \"${HEADER}\"\n\n"
         "namespace ${namespace} {\n\n"
         "std::string_view asset(std::string_view name) {\n")
string(REPLACE "," ";" names "${NAMES}")
file(WRITE ${OUT}.part "")
foreach(piece IN LISTS text)
  file(APPEND ${OUT}.part "${piece}")
endforeach()
foreach(name IN LISTS names)
  file(READ ${FROM}/${name} content)
  file(APPEND ${OUT}.part "    if (name == \"${name}\") return R\"==asset==(")
  file(APPEND ${OUT}.part "${content}")
  file(APPEND ${OUT}.part ")==asset==\";\n")
endforeach()
file(APPEND ${OUT}.part "    return {};\n}\n\n}  // namespace ${namespace}\n")
file(RENAME ${OUT}.part ${OUT})
