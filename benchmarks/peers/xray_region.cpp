// The function that xray.cpp calls. Entry and exit are patched, and the body is empty.
extern "C" [[clang::xray_always_instrument, gnu::noinline]] void whywait_xray_region() { __asm__ volatile("" : : : "memory"); }
