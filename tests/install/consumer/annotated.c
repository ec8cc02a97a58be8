// A program that says where it is. Without Weft this does nothing.
#include "weft/annotate.h"

int main(void) {
  weft_begin_iteration(0);
  weft_end_iteration(0);
  return weft_is_preloaded();
}
