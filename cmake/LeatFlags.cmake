# Compiler flags of all our targets, through the interface target leat_flags.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g")

set(LEAT_SANITIZE "" CACHE STRING "Sanitizers for every target: address;undefined or thread")
option(LEAT_WERROR "Warnings are errors" ON)

add_library(leat_flags INTERFACE)
target_compile_definitions(leat_flags INTERFACE _GNU_SOURCE LEAT_VERSION="${PROJECT_VERSION}")
target_compile_options(leat_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wswitch-enum
  -Wformat=2 $<$<COMPILE_LANGUAGE:C>:-Wvla> $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> -fvisibility=hidden
  $<$<BOOL:${LEAT_WERROR}>:-Werror>)
find_program(LEAT_CCACHE ccache)
mark_as_advanced(LEAT_CCACHE)
if(LEAT_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${LEAT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LEAT_CCACHE})
endif()
if(LEAT_SANITIZE)
  list(JOIN LEAT_SANITIZE "," sanitizers)
  target_compile_options(leat_flags INTERFACE -fsanitize=${sanitizers} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all -O1)
  target_link_options(leat_flags INTERFACE -fsanitize=${sanitizers})
endif()
