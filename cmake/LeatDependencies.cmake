# Finds what leat is built on.  Each library is reached through one interface target of ours, so that a folder of the
# product names none of them.  cmake/setup.sh installs what is missing on Debian and Ubuntu.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(MPI REQUIRED COMPONENTS C)

# Serial HDF5 is meant: one rank writes kilobytes, and it works on file systems without locks.
set(HDF5_PREFER_PARALLEL FALSE)
find_package(HDF5 REQUIRED COMPONENTS C)
add_library(leat_hdf5 INTERFACE)
target_include_directories(leat_hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(leat_hdf5 INTERFACE ${HDF5_C_LIBRARIES})

# leat_dependency(target header library): an interface target for a library without a package file.
function(leat_dependency target header library)
  find_path(${target}_INCLUDE ${header} REQUIRED)
  find_library(${target}_LIBRARY ${library} REQUIRED)
  mark_as_advanced(${target}_INCLUDE ${target}_LIBRARY)
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE})
  target_link_libraries(${target} INTERFACE ${${target}_LIBRARY})
endfunction()
leat_dependency(leat_yaml yaml.h yaml)
leat_dependency(leat_simdjson simdjson.h simdjson)
leat_dependency(leat_xxhash xxhash.h xxhash)
