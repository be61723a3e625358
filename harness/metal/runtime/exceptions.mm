// C++ exceptions through Objective-C++ frames. With the GCC runtime clang gives every function of an Objective-C++ file
// libobjc's personality routine, which cannot catch C++ exceptions: a failed TORCH_CHECK would end the process.
// ATen/mps uses no @try, so our objects take the C++ routine instead. The symbol is hidden: libgnustep-base keeps the
// real one.
asm(".text\n"
    ".globl __gnu_objc_personality_v0\n"
    ".hidden __gnu_objc_personality_v0\n"
    ".type __gnu_objc_personality_v0,@function\n"
    "__gnu_objc_personality_v0:\n"
#if defined(__x86_64__)
    "  jmp __gxx_personality_v0@PLT\n"
#elif defined(__aarch64__)
    "  b __gxx_personality_v0\n"
#else
#error "no trampoline for this processor yet"
#endif
    ".size __gnu_objc_personality_v0,.-__gnu_objc_personality_v0\n");
