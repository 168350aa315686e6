// Linked into the MPI programs of sanitized builds, so that reports and suppressions can name the library that allocated.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

// Libraries that MPI loads stay loaded: LeakSanitizer looks at the end of the process.
extern "C" int dlclose(void*) { return 0; }

// The C library has no frame pointers, so the caller of its asprintf is lost. Here it is found.
extern "C" int __vasprintf_chk(char** text, int, const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0) return length;
  const std::size_t bytes = static_cast<std::size_t>(length) + 1;
  *text = static_cast<char*>(std::malloc(bytes));
  return *text != nullptr ? std::vsnprintf(*text, bytes, format, arguments) : -1;
}
extern "C" int __asprintf_chk(char** text, int flag, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = __vasprintf_chk(text, flag, format, arguments);
  va_end(arguments);
  return length;
}
