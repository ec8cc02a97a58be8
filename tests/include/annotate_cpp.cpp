// The same as C++: an older one than Weft's own, as programs are.
#include "annotate.c"
