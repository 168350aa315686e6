// The function that xray.cpp calls: entry and exit are patched, the body is nothing.
extern "C" [[clang::xray_always_instrument, gnu::noinline]] void whywait_xray_region() {
  __asm__ volatile("" : : : "memory");
}
