# The install tree: find_package(OnnxAMP) gives the libraries and headers.
# ONNX's library comes along, since no distribution's package has it in this
# version; MLIR, LLVM and Protobuf are the system's.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/OnnxAMP)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" "${PROJECT_BINARY_DIR}/include/"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
  PATTERN CMakeFiles EXCLUDE)

get_filename_component(onnx_prefix "${ONNX_DIR}/../../.." ABSOLUTE)
install(DIRECTORY "${onnx_prefix}/include" "${onnx_prefix}/lib"
  DESTINATION ${package_dir}/onnx)

# For editors.
install(FILES "${PROJECT_SOURCE_DIR}/docs/policy.schema.json"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/onnx-amp)

install(EXPORT OnnxAMPTargets NAMESPACE OnnxAMP:: DESTINATION ${package_dir})
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/OnnxAMPConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/OnnxAMPConfig.cmake"
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/OnnxAMPConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/OnnxAMPConfig.cmake"
  "${PROJECT_BINARY_DIR}/OnnxAMPConfigVersion.cmake"
  DESTINATION ${package_dir})
