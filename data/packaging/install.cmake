# What `cmake --install` puts into the prefix, and the package that CPack makes of it. The program finds share/voltpile
# relative to itself, so an installed tree can be moved.
install(TARGETS voltpile voltpile-probe voltpile-keeper RUNTIME DESTINATION bin)
install(DIRECTORY jobs slurm DESTINATION share/voltpile USE_SOURCE_PERMISSIONS)
install(DIRECTORY data/clusters DESTINATION share/voltpile/data)
install(FILES data/tiny_model/tiny-q8_0.gguf data/tiny_model/README.md DESTINATION share/voltpile/data/tiny_model)
install(FILES data/packaging/modulefile.lua DESTINATION share/voltpile/modulefiles/voltpile
  RENAME ${PROJECT_VERSION}.lua)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/voltpile)
install(FILES LICENSE DESTINATION share/doc/voltpile RENAME copyright)

# The program writes its manual pages and completions itself, from the options that it parses.
install(CODE [[
  set(program "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/voltpile")
  set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")
  message(STATUS "Generating: ${share}/man, bash-completion, zsh")
  file(MAKE_DIRECTORY ${share}/man ${share}/bash-completion/completions ${share}/zsh/site-functions)
  execute_process(COMMAND ${program} manual --write ${share}/man COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${program} completion bash
    OUTPUT_FILE ${share}/bash-completion/completions/voltpile COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${program} completion zsh
    OUTPUT_FILE ${share}/zsh/site-functions/_voltpile COMMAND_ERROR_IS_FATAL ANY)
  find_program(GZIP gzip)
  file(GLOB pages ${share}/man/man1/voltpile*.1 ${share}/man/man5/voltpile-job-*.5)
  if(GZIP)
    execute_process(COMMAND ${GZIP} -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
]])

# Installing and packaging need the program only, not the tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

# ---- make deb --------------------------------------------------------------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME voltpile)
set(CPACK_PACKAGE_VENDOR "Voltpile developers")
set(CPACK_PACKAGE_CONTACT "Voltpile developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Runs one job file on every processor and GPU of one or several machines,
over MPI: alone, with mpirun, or under Slurm. Computes parameter sweeps in
double precision and runs language models from GGUF files and Hugging Face
folders.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries, from the program itself
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)  # mpirun; Open MPI 4 needs its orted even for a single rank
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openssh-client)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "slurm-client, python3-h5py")
if(VOLTPILE_CUDA)  # loaded when they are needed; NVRTC compiles the equations of app "ode"
  set(version ${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR})
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", cuda-nvrtc-${version} | libnvrtc${CUDAToolkit_VERSION_MAJOR}"
    ", libcublas-${version} | libcublas${CUDAToolkit_VERSION_MAJOR}, libnccl2")
endif()
include(CPack)
