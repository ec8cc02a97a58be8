/* Version of Weft and of its formats. The trace format and the fill ABI have versions of their own. */
#ifndef WEFT_VERSION_H
#define WEFT_VERSION_H

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION_STRING WEFT_VERSION_TEXT(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH)
#define WEFT_VERSION_TEXT(major, minor, patch) WEFT_VERSION_JOINED(major, minor, patch)
#define WEFT_VERSION_JOINED(major, minor, patch) #major "." #minor "." #patch
#define WEFT_TRACE_VERSION 2

#endif
