// Signposts that are never enabled; ids are unique, as MPSProfiler relies on that.
#pragma once
#include <os/log.h>
#include <stdint.h>
typedef uint64_t os_signpost_id_t;
typedef uint8_t os_signpost_type_t;
#define OS_SIGNPOST_EVENT ((os_signpost_type_t)0)
#define OS_SIGNPOST_INTERVAL_BEGIN ((os_signpost_type_t)1)
#define OS_SIGNPOST_INTERVAL_END ((os_signpost_type_t)2)
#define os_signpost_enabled(log) ((void)(log), false)
#define os_signpost_event_emit(log, id, name, format, message) \
  ((void)(log), (void)(id), (void)(name), (void)(format), (void)(message))
#define os_signpost_interval_begin(log, id, name, format, message) \
  ((void)(log), (void)(id), (void)(name), (void)(format), (void)(message))
#define os_signpost_interval_end(log, id, name) ((void)(log), (void)(id), (void)(name))
static inline os_signpost_id_t os_signpost_id_make_with_pointer(os_log_t, const void* pointer) {
  return (os_signpost_id_t)(uintptr_t)pointer;
}
static inline os_signpost_id_t os_signpost_id_generate(os_log_t) {
  static os_signpost_id_t next;
  return ++next;
}
