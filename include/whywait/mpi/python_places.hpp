#ifndef WHYWAIT_MPI_PYTHON_PLACES_HPP
#define WHYWAIT_MPI_PYTHON_PLACES_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/script_place.hpp>
#include <whywait/core/spin_lock.hpp>

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// File and line of the Python code that calls MPI. Extension modules such as mpi4py release the interpreter's lock around MPI
/// calls, so a wrapper must not ask the interpreter, and must not wait for the lock either: its holder may wait for this MPI
/// call. The place is read just before, where the module calls PyEval_SaveThread to release the lock: bindings.hpp makes that
/// call, and the one of PyEval_RestoreThread after the MPI call, end here. Only public functions of Python 3.9 and later are
/// used, by a thread that holds the lock. A call made without that has no place.
class python_places {
 public:
  /// Finds the functions of the interpreter. False if this process has none.
  __attribute__((cold)) bool find_interpreter() noexcept { return find_functions() && (places_ != nullptr || map_places()); }

  /// The innermost Python code of a thread that holds the lock, as an address (core/script_place.hpp); null: there is none. About
  /// 0.1 us, and some us for a place that is new.
  const void* read() noexcept {
    object* const frame = api_.get_frame();
    if (frame == nullptr) return nullptr;
    object* const code = api_.get_code(frame);
    if (code == nullptr) return nullptr;
    const uint32_t site = find_or_add(code, static_cast<uint32_t>(api_.get_line(frame)));
    api_.decrease(code);
    return site != 0 ? core::address_of_script(site) : nullptr;
  }

  void* save_thread(const void*& place) noexcept {
    place = read();
    return api_.save_thread();
  }
  void restore_thread(void* thread) const { api_.restore_thread(thread); }

 private:
  struct object;  // PyObject
  static constexpr uint32_t capacity = 1u << 12;

  struct known_place {
    const object* code;
    uint32_t line, site;
  };
  struct functions {
    void* (*save_thread)();
    void (*restore_thread)(void*);
    object* (*get_frame)();
    object* (*get_code)(object* frame);
    int (*get_line)(object* frame);
    object* (*get_attribute)(object*, const char* name);
    const char* (*as_text)(object*);
    void (*fetch_error)(object**, object**, object**);
    void (*restore_error)(object*, object*, object*);
    void (*increase)(object*);
    void (*decrease)(object*);
  };

  bool find_functions() noexcept {
    return find("PyEval_SaveThread", api_.save_thread) && find("PyEval_RestoreThread", api_.restore_thread) &&
           find("PyEval_GetFrame", api_.get_frame) && find("PyFrame_GetCode", api_.get_code) &&
           find("PyFrame_GetLineNumber", api_.get_line) && find("PyObject_GetAttrString", api_.get_attribute) &&
           find("PyUnicode_AsUTF8", api_.as_text) && find("PyErr_Fetch", api_.fetch_error) &&
           find("PyErr_Restore", api_.restore_error) && find("Py_IncRef", api_.increase) && find("Py_DecRef", api_.decrease);
  }
  bool map_places() noexcept {
    places_ = static_cast<known_place*>(core::map_pages(sizeof(known_place) * capacity, false));
    return places_ != nullptr;
  }

  template <class Function>
  static bool find(const char* name, Function*& function) noexcept {
    function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
  }

  static uint32_t first_place(const object* code, uint32_t line) noexcept {
    return static_cast<uint32_t>(((reinterpret_cast<uintptr_t>(code) ^ (uint64_t(line) << 48)) * 0x9e3779b97f4a7c15u) >> 40) &
           (capacity - 1);
  }

  uint32_t find_or_add(object* code, uint32_t line) noexcept {
    uint32_t place = first_place(code, line), site = 0;
    lock_.lock();  // the interpreter may have no lock of its own; nothing in here waits
    for (; places_[place].code != nullptr && site == 0; place = (place + 1) & (capacity - 1))
      if (places_[place].code == code && places_[place].line == line) site = places_[place].site;
    const bool full = count_ == capacity / 2;
    lock_.unlock();
    return site != 0 || full ? site : add(code, line);
  }

  // Keeps the code object, so that its address never stands for another one.
  __attribute__((noinline, cold)) uint32_t add(object* code, uint32_t line) noexcept {
    object *error[3] = {nullptr, nullptr, nullptr}, *ignored[3] = {nullptr, nullptr, nullptr};
    api_.fetch_error(&error[0], &error[1], &error[2]);
    object* const file = api_.get_attribute(code, "co_filename");
    object* const name = api_.get_attribute(code, "co_name");
    const char* const file_text = file != nullptr ? api_.as_text(file) : nullptr;
    const char* const name_text = name != nullptr ? api_.as_text(name) : nullptr;
    const uint32_t site = add_site(name_text != nullptr ? name_text : "", file_text, line);
    if (file != nullptr) api_.decrease(file);
    if (name != nullptr) api_.decrease(name);
    api_.fetch_error(&ignored[0], &ignored[1], &ignored[2]);
    for (object* what : ignored)
      if (what != nullptr) api_.decrease(what);
    api_.restore_error(error[0], error[1], error[2]);
    api_.increase(code);
    lock_.lock();
    if (count_ < capacity / 2) {
      uint32_t place = first_place(code, line);
      while (places_[place].code != nullptr) place = (place + 1) & (capacity - 1);
      places_[place] = {code, line, site};
      ++count_;
    }
    lock_.unlock();
    return site;
  }

  // Without the brackets of <module>, <lambda>: reports shorten what is in such brackets.
  static uint32_t add_site(const char* name, const char* file, uint32_t line) noexcept {
    char text[100] = "";
    const size_t length = strlen(name);
    if (*name == '<' && length > 2 && length < sizeof text) {
      memcpy(text, name + 1, length - 2);
      name = text;
    }
    return core::the_registry()->sites.intern(core::site_kind::none, name, file, line);
  }

  functions api_ = {};
  uint32_t count_ = 0;
  core::spin_lock lock_;
  known_place* places_ = nullptr;  // mapped when an interpreter is found
};

/// Those of the process, and the place of the calling thread while it has released the interpreter's lock.
__attribute__((visibility("hidden"))) inline python_places known_python;
__attribute__((visibility("hidden"))) inline thread_local const void* python_caller = nullptr;

/// In place of PyEval_SaveThread and PyEval_RestoreThread, in modules that call MPI.
__attribute__((visibility("hidden"))) inline void* save_python_thread() noexcept {
  return known_python.save_thread(python_caller);
}
__attribute__((visibility("hidden"))) inline void restore_python_thread(void* thread) {
  python_caller = nullptr;
  known_python.restore_thread(thread);
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
