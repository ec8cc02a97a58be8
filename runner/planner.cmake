# Target weft_planner: the pure rules that say when a slice may be launched, and what that may cost. Included by runner/CMakeLists.txt.
add_library(weft_planner STATIC ${PROJECT_SOURCE_DIR}/runner/budget.cpp ${PROJECT_SOURCE_DIR}/runner/planner.cpp)
set_target_properties(weft_planner PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(weft_planner PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(weft_planner PRIVATE weft_warnings)
