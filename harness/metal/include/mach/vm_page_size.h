// The page size as mach's kernel headers declare it; Apple Silicon has 16 KiB pages.
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
extern size_t vm_page_size;
#ifdef __cplusplus
}
#endif
