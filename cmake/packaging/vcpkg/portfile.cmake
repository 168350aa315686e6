# The port builds the checkout that contains it, so that it can be used as an overlay: vcpkg install whywait --overlay-ports=cmake/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DWHYWAIT_BUILD_TESTS=OFF -DWHYWAIT_BUILD_EXAMPLES=OFF -DWHYWAIT_BUILD_BENCHMARKS=OFF -DWHYWAIT_TOOLS=OFF
                              -DWHYWAIT_OTF2=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/whywait)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
