# How a test is made.  Every tests/<kind>/*_test.c is one program: exit 0 passed, 77 skipped, anything else failed.
set(LEAT_TEST_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader
    OMPI_MCA_btl_vader_single_copy_mechanism=none LEAT_SOURCE_DIR=${PROJECT_SOURCE_DIR}
    LEAT_BINARY_DIR=${PROJECT_BINARY_DIR})

# leat_add_test(NAME n LABEL l [TIMEOUT s] [PROCESSORS p] COMMAND …)
function(leat_add_test)
  cmake_parse_arguments(T "" "NAME;LABEL;TIMEOUT;PROCESSORS" "COMMAND" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  if(NOT T_PROCESSORS)
    set(T_PROCESSORS 1)
  endif()
  if(LEAT_SANITIZE)
    math(EXPR T_TIMEOUT "3 * ${T_TIMEOUT}") # the sanitizers slow everything down
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_COMMAND})
  set_tests_properties(${T_NAME} PROPERTIES LABELS ${T_LABEL} TIMEOUT ${T_TIMEOUT}
    PROCESSORS ${T_PROCESSORS} SKIP_RETURN_CODE 77 ENVIRONMENT "${LEAT_TEST_ENVIRONMENT}")
endfunction()

# Every tests/<kind>/*_test.c becomes a program and a test named <kind>/<noun>.
function(leat_add_test_programs kind)
  file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${kind}/*_test.c)
  foreach(source ${programs})
    get_filename_component(noun ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" noun ${noun})
    add_executable(${kind}_${noun} ${source})
    target_include_directories(${kind}_${noun} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${kind}_${noun} PRIVATE libleat Threads::Threads)
    leat_add_test(NAME ${kind}/${noun} LABEL ${kind} TIMEOUT 300 COMMAND ${kind}_${noun})
    if(kind MATCHES "^(unit|property|simulation)$")
      set_property(GLOBAL APPEND PROPERTY LEAT_CHECKED_PROGRAMS ${kind}_${noun})
    endif()
  endforeach()
endfunction()

# Every tests/<kind>/*_test.sh and *_test.py becomes a test named <kind>/<noun>; LEAT_BINARY_DIR holds the command.
function(leat_add_test_scripts kind)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${kind}/*_test.sh
       ${CMAKE_CURRENT_SOURCE_DIR}/${kind}/*_test.py)
  foreach(source ${scripts})
    get_filename_component(noun ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" noun ${noun})
    get_filename_component(ending ${source} EXT)
    if(ending STREQUAL ".py")
      set(interpreter python3)
    else()
      set(interpreter bash)
    endif()
    leat_add_test(NAME ${kind}/${noun} LABEL ${kind} TIMEOUT 300 PROCESSORS 2
                  COMMAND ${interpreter} ${source})
    if(kind STREQUAL "slurm")
      set_property(TEST ${kind}/${noun} PROPERTY RESOURCE_LOCK slurm)
    endif()
  endforeach()
endfunction()

# Every tests/mpi/*_test.c becomes a program over libleat_mpi and the tests mpi/<noun>_np<ranks>.  mpirun is wrapped in
# `timeout`, since a killed mpirun leaves its ranks behind only where it has no time to end them itself.
function(leat_add_test_mpi)
  file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/mpi/*_test.c)
  foreach(source ${programs})
    get_filename_component(noun ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" noun ${noun})
    add_executable(mpi_${noun} ${source})
    target_include_directories(mpi_${noun} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(mpi_${noun} PRIVATE libleat_mpi Threads::Threads)
    foreach(ranks 1 2 4 8)
      set(name mpi/${noun}_np${ranks})
      leat_add_test(NAME ${name} LABEL mpi TIMEOUT 120 PROCESSORS 2
                    COMMAND timeout -k 5 110 ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                            $<TARGET_FILE:mpi_${noun}>)
      # Open MPI itself leaks; leaks of ours show in the simulations.
      set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endforeach()
  endforeach()
endfunction()
