// The blocks runtime. Debian's libBlocksRuntime 0.4.1 does not retain captured objects and GNUstep's own copy counts
// without atomics; this one counts atomically and retains captured objects, as Darwin's does (see clang's Block ABI).
#import <Foundation/Foundation.h>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

enum FieldKind { kFieldObject = 3, kFieldBlock = 7, kFieldByref = 8, kFieldWeak = 16, kFieldByrefCaller = 128 };
enum BlockFlags { kNeedsFree = 1 << 24, kHasCopyDispose = 1 << 25, kIsGlobal = 1 << 28 };

struct Descriptor {
  unsigned long reserved;
  unsigned long size;
  void (*copy)(void* destination, const void* source);
  void (*dispose)(const void* block);
};
struct Block {
  void* isa;
  int flags;
  int references; // the ABI's reserved word
  void (*invoke)(void*, ...);
  Descriptor* descriptor;
};
struct Byref {
  void* isa;
  Byref* forwarding;
  int flags;
  int size;
  void (*keep)(Byref* destination, Byref* source);
  void (*destroy)(Byref* variable);
};

// A __block variable on the heap has its count in a header before it, 16 bytes so that the alignment stays.
constexpr size_t kByrefHeader = 16;

std::atomic<int>& atomic(int& word) {
  return reinterpret_cast<std::atomic<int>&>(word);
}
int& byrefReferences(Byref* variable) {
  return *reinterpret_cast<int*>(reinterpret_cast<char*>(variable) - kByrefHeader);
}

Byref* copyByref(Byref* source) {
  Byref* forwarded = source->forwarding;
  if (forwarded->flags & kNeedsFree) {
    atomic(byrefReferences(forwarded)).fetch_add(1);
    return forwarded;
  }
  char* raw = static_cast<char*>(malloc((size_t)source->size + kByrefHeader));
  Byref* copy = reinterpret_cast<Byref*>(raw + kByrefHeader);
  memcpy((void*)copy, source, source->size);
  byrefReferences(copy) = 2; // the stack frame's, and the caller's
  copy->flags |= kNeedsFree;
  copy->forwarding = copy;
  source->forwarding = copy;
  if (source->flags & kHasCopyDispose) {
    source->keep(copy, source);
  }
  return copy;
}

void releaseByref(Byref* variable) {
  Byref* forwarded = variable->forwarding;
  if (!(forwarded->flags & kNeedsFree) || atomic(byrefReferences(forwarded)).fetch_sub(1) != 1) {
    return;
  }
  if (forwarded->flags & kHasCopyDispose) {
    forwarded->destroy(forwarded);
  }
  free(reinterpret_cast<char*>(forwarded) - kByrefHeader);
}

} // namespace

extern "C" {

void* _NSConcreteStackBlock[32];
void* _NSConcreteGlobalBlock[32];
void* _NSConcreteMallocBlock[32];
void* _NSConcreteAutoBlock[32];
void* _NSConcreteFinalizingBlock[32];
void* _NSConcreteWeakBlockVariable[32];

void* _Block_copy(const void* argument) {
  if (!argument) {
    return nullptr;
  }
  Block* block = (Block*)argument;
  if (block->flags & kIsGlobal) {
    return block;
  }
  if (block->flags & kNeedsFree) {
    atomic(block->references).fetch_add(1);
    return block;
  }
  Block* copy = static_cast<Block*>(malloc(block->descriptor->size));
  memcpy((void*)copy, block, block->descriptor->size);
  copy->isa = _NSConcreteMallocBlock;
  copy->flags |= kNeedsFree;
  copy->references = 1;
  if (copy->flags & kHasCopyDispose) {
    copy->descriptor->copy(copy, block);
  }
  return copy;
}

void _Block_release(const void* argument) {
  Block* block = (Block*)argument;
  if (!block || !(block->flags & kNeedsFree) || atomic(block->references).fetch_sub(1) != 1) {
    return;
  }
  if (block->flags & kHasCopyDispose) {
    block->descriptor->dispose(block);
  }
  free(block);
}

void _Block_object_assign(void* destination, const void* source, const int kind) {
  if (kind & kFieldByrefCaller) {
    *(const void**)destination = source; // an object in a __block variable is not retained without ARC
  } else if (kind & kFieldByref) {
    *(Byref**)destination = copyByref((Byref*)source);
  } else if ((kind & kFieldBlock) == kFieldBlock) {
    *(void**)destination = _Block_copy(source);
  } else if ((kind & kFieldObject) == kFieldObject) {
    *(const void**)destination = [(id)source retain];
  } else {
    *(const void**)destination = source;
  }
}

void _Block_object_dispose(const void* object, const int kind) {
  if (kind & kFieldByrefCaller) {
    return;
  }
  if (kind & kFieldByref) {
    releaseByref((Byref*)object);
  } else if ((kind & kFieldBlock) == kFieldBlock) {
    _Block_release(object);
  } else if ((kind & kFieldObject) == kFieldObject) {
    [(id)object release];
  }
}

} // extern "C"
