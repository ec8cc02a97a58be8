// For AddressSanitizer builds of the tests: the fakes keep what the main job does not destroy, as a driver does.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}
