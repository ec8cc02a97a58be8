// A library that the test of loaded_code unloads while it is looked at.
extern "C" [[gnu::visibility("default")]] int a_function_that_goes() {
  return 1;
}
