// Serial queues of libdispatch, with blocks only; see runtime/dispatch.mm for what is modelled.
#pragma once
#include <Block.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct sm_dispatch_queue* dispatch_queue_t;
typedef struct sm_dispatch_data* dispatch_data_t;
typedef struct sm_dispatch_attributes* dispatch_queue_attr_t;
typedef void (^dispatch_block_t)(void);
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)0)
dispatch_queue_t dispatch_queue_create(const char* label, dispatch_queue_attr_t attributes);
void dispatch_release(dispatch_queue_t queue);
void dispatch_retain(dispatch_queue_t queue);
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block);
dispatch_queue_t dispatch_get_main_queue(void);
dispatch_data_t dispatch_data_create(const void* bytes,
                                     size_t size,
                                     dispatch_queue_t queue,
                                     dispatch_block_t destructor);
#ifdef __cplusplus
}
#endif
