/* Version of Weft and of its formats. The trace format and the fill ABI have versions of their own. */
#ifndef WEFT_VERSION_H
#define WEFT_VERSION_H

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION_STRING "0.1.0"
#define WEFT_TRACE_VERSION 2

#endif
