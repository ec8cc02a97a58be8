# The options: in the core and in the weft command.
add_library(weft_options STATIC ${CMAKE_CURRENT_LIST_DIR}/options.cpp)
target_include_directories(weft_options PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(weft_options PRIVATE weft_warnings)
