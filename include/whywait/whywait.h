#ifndef WHYWAIT_WHYWAIT_H
#define WHYWAIT_WHYWAIT_H

/* Marks for C99 and later: the functions of <whywait/record.hpp> that need no scope. Nothing is linked. Without a recorder in the
 * process (whywait::observer, a C++ file with <whywait/mpi.hpp>, or `whywait run`) a mark costs a load and a branch. The recorder
 * must be loaded before the first mark of a file, which looks for it. Any thread.
 *
 *     whywait_begin("assemble");            begins a region; about 30 ns with a recorder
 *     whywait_next("solve");                ends the innermost region and begins another one
 *     whywait_block("refine");              counts a visit of a block; about 10 ns
 *     whywait_work(cells);                  adds work units to the innermost region
 *     whywait_wait("disk");                 begins a region that waits for something whywait cannot see
 *     whywait_end("disk");                  ends the innermost region of that name
 *
 * Names need not be literals; they are copied at their first use. With WHYWAIT_DISABLE the marks are nothing. */

#ifdef WHYWAIT_DISABLE

#define whywait_begin(name) ((void)(name))
#define whywait_end(name) ((void)(name))
#define whywait_next(name) ((void)(name))
#define whywait_block(name) ((void)(name))
#define whywait_work(units) ((void)(units))
#define whywait_wait(name) ((void)(name))

#else

#include <stddef.h>
#include <stdint.h>

#define whywait_begin(name) whywait_c_mark(0, (name), __FILE__, __LINE__, 0)
#define whywait_end(name) whywait_c_mark(1, (name), __FILE__, __LINE__, 0)
#define whywait_next(name) whywait_c_mark(2, (name), __FILE__, __LINE__, 0)
#define whywait_block(name) whywait_c_mark(3, (name), __FILE__, __LINE__, 0)
#define whywait_work(units) whywait_c_mark(4, (const char*)0, __FILE__, __LINE__, (units) > 0 ? (uint64_t)(units) : 0)
#define whywait_wait(name) whywait_c_mark(5, (name), __FILE__, __LINE__, 0)

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* What follows mirrors core/module.hpp and record/marks.hpp. A test compares them. */
enum { whywait_c_version = 2, whywait_c_interface = 3 }; /* 1000 * major + minor; core::mark_interface */

typedef void (*whywait_c_function)(uint32_t what, const char* name, size_t size, const char* file, uint32_t line, uint64_t units);

struct whywait_c_functions {
  void (*others[10])(void);
  whywait_c_function plain;
};

struct whywait_c_card {
  uint32_t version;
  uint32_t interface_number;
  void (*attach)(void);
  void* shared;
  intptr_t here;
  const struct whywait_c_functions* functions;
  uint32_t loaded;
};

/* dl_phdr_info and the program header of a 64-bit ELF file. <link.h> declares the function only with _GNU_SOURCE. */
struct whywait_c_header {
  uint32_t type, flags;
  uint64_t offset, address, physical, file_size, memory_size, alignment;
};
struct whywait_c_module {
  uintptr_t address;
  const char* name;
  const struct whywait_c_header* headers;
  uint16_t header_count;
};
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    int
    whywait_c_iterate(int (*visit)(struct whywait_c_module*, size_t, void*), void* data) __asm__("dl_iterate_phdr");

/* Looks for the card of a recorder, to which an ELF note points. */
static inline int whywait_c_visit(struct whywait_c_module* module, size_t size, void* found) {
  (void)size;
  for (int i = 0; i < module->header_count; ++i) {
    const struct whywait_c_header* const header = &module->headers[i];
    const char* note = (const char*)(module->address + header->address);
    const char* const end = note + header->memory_size;
    const size_t align = header->alignment == 8 ? 7 : 3;
    if (header->type != 4) continue; /* PT_NOTE */
    while (note + 12 <= end) {
      uint32_t part[3]; /* sizes of name and content, type */
      __builtin_memcpy(part, note, sizeof part);
      const char* const name = note + sizeof part;
      const char* const content = name + ((part[0] + align) & ~align);
      note = content + ((part[1] + align) & ~align);
      if (part[0] != 8 || part[1] != 4 || part[2] != 2 || __builtin_memcmp(name, "whywait", 8) != 0) continue;
      int32_t distance;
      __builtin_memcpy(&distance, content, sizeof distance);
      const struct whywait_c_card* const card = (const struct whywait_c_card*)((uintptr_t)content + (uintptr_t)(intptr_t)distance);
      if (card->version / 1000 != whywait_c_version || card->interface_number != whywait_c_interface) continue;
      if (__atomic_load_n(&card->attach, __ATOMIC_ACQUIRE) == 0 || __atomic_load_n(&card->here, __ATOMIC_ACQUIRE) == 0) continue;
      *(whywait_c_function*)found = card->functions->plain;
      return 1;
    }
  }
  return 0;
}

static inline void whywait_c_inert(uint32_t what, const char* name, size_t size, const char* file, uint32_t line, uint64_t units) {
  (void)what, (void)name, (void)size, (void)file, (void)line, (void)units;
}

static inline void whywait_c_mark(uint32_t what, const char* name, const char* file, int line, uint64_t units) {
  static whywait_c_function known = 0;
  whywait_c_function mark = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (mark == 0) {
    mark = whywait_c_inert;
    whywait_c_iterate(whywait_c_visit, &mark);
    __atomic_store_n(&known, mark, __ATOMIC_RELAXED);
  }
  if (mark != whywait_c_inert) mark(what, name, ~(size_t)0, file, (uint32_t)line, units);
}

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif

#endif
