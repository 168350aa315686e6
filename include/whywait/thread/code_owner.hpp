#ifndef WHYWAIT_THREAD_CODE_OWNER_HPP
#define WHYWAIT_THREAD_CODE_OWNER_HPP

#include <whywait/thread/gomp_runtime.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

/// Whose code an address belongs to.
enum class code_owner : uint64_t {
  program,
  run_time,  ///< MPI, OpenMP and what they are made of: waits of their threads are not those of the program
  cxx_library,  ///< a shared library: its caller is of interest
  cxx_function,  ///< of the C++ library or of whywait, compiled into the program. Functions of that may be inlined into it
  c_library,  ///< a shared library
  whywait  ///< the same
};
inline bool is_of_library(code_owner owner) noexcept {
  return owner == code_owner::cxx_library || owner == code_owner::cxx_function;
}
/// Whether the callers of such a caller are of interest: std::call_once calls through the C library, and whywait's function there.
inline bool is_between(code_owner owner) noexcept {
  return owner == code_owner::cxx_function || owner == code_owner::c_library || owner == code_owner::whywait;
}

inline code_owner owner_of_module(const char* path) noexcept {
  if (path == nullptr) return code_owner::program;
  const char* const slash = strrchr(path, '/');
  const char* const name = slash != nullptr ? slash + 1 : path;
  static constexpr const char* run_time[] = {"libmpi", "libopen-rte", "libopen-pal", "libprrte", "libpmi",  "libmca_",
                                             "mca_",   "libucp",      "libucs",      "libuct",   "libucm",  "libfabric",
                                             "libpsm", "libibverbs",  "libomp.",     "libomp5",  "libiomp", "libgomp"};
  const auto begins = [name](const char* known) { return strncmp(name, known, strlen(known)) == 0; };
  for (const char* const known : run_time)
    if (begins(known)) return code_owner::run_time;
  if (begins("libstdc++") || begins("libc++")) return code_owner::cxx_library;
  return begins("libc.so") ? code_owner::c_library : begins("libwhywait") ? code_owner::whywait : code_owner::program;
}

/// Whether a symbol is a function of the C++ library or of whywait. Names as in the C++ ABI of Itanium.
inline bool is_library_symbol(const char* symbol) noexcept {
  if (strncmp(symbol, "_Z", 2) != 0) return false;
  symbol += 2;
  symbol += strspn(symbol, "ZNKVLRO");
  const char* const name = symbol + strspn(symbol, "0123456789");
  if (name == symbol) return symbol[0] == 'S' && symbol[1] != '\0' && strchr("tabsiod", symbol[1]) != nullptr;
  static constexpr const char* library[] = {"__gthread", "__gnu_cxx", "whywait"};
  for (const char* const known : library)
    if (strncmp(name, known, strlen(known)) == 0) return true;
  return false;
}

/// Whether the file's symbol table has such a name for the function at `address`, as the file counts addresses.
inline bool is_library_function(const char* file, size_t bytes, uint64_t address) noexcept {
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(file);
  const auto fits = [bytes](uint64_t at, uint64_t size) { return at <= bytes && size <= bytes - at; };
  if (bytes < sizeof *header || memcmp(file, ELFMAG, SELFMAG) != 0) return false;
  if (!fits(header->e_shoff, uint64_t(header->e_shnum) * sizeof(ElfW(Shdr)))) return false;
  const auto* const sections = reinterpret_cast<const ElfW(Shdr)*>(file + header->e_shoff);
  for (uint32_t i = 0; i != header->e_shnum; ++i) {
    const ElfW(Shdr)& table = sections[i];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header->e_shnum || !fits(table.sh_offset, table.sh_size)) continue;
    const ElfW(Shdr)& names = sections[table.sh_link];
    if (!fits(names.sh_offset, names.sh_size) || names.sh_size == 0 || file[names.sh_offset + names.sh_size - 1] != '\0')
      continue;
    const auto* const symbols = reinterpret_cast<const ElfW(Sym)*>(file + table.sh_offset);
    for (uint64_t s = 0; s != table.sh_size / sizeof *symbols; ++s)
      if (address - symbols[s].st_value < symbols[s].st_size && (symbols[s].st_info & 15) == STT_FUNC &&
          symbols[s].st_name < names.sh_size)
        return is_library_symbol(file + names.sh_offset + symbols[s].st_name);
  }
  return false;
}

/// Reads the file of a module, of a stripped one nothing. About 0.1 ms, and 1 ms for each million of symbols.
__attribute__((noinline, cold)) inline bool is_library_function(const link_map& module, const void* address) noexcept {
  int cancellable = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);  // open and close are cancellation points
  const int file = open(module.l_name[0] != '\0' ? module.l_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat facts;
  void* data = MAP_FAILED;
  if (file >= 0 && fstat(file, &facts) == 0 && facts.st_size > 0)
    data = mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  if (file >= 0) close(file);
  pthread_setcancelstate(cancellable, nullptr);
  if (data == MAP_FAILED) return false;
  const auto bytes = static_cast<size_t>(facts.st_size);
  const bool found =
      is_library_function(static_cast<const char*>(data), bytes, reinterpret_cast<uintptr_t>(address) - module.l_addr);
  munmap(data, bytes);
  return found;
}

/// Addresses * 8 + code_owner, after that of the first place at which an address may be. One table per module.
struct known_owners {
  static constexpr uint32_t room = 1u << 10, places = 8;
  uint64_t of[room + places];
};
__attribute__((visibility("hidden"))) inline known_owners owners;

__attribute__((noinline, cold)) inline code_owner find_owner(const void* address, uint64_t wanted, uint64_t* place) noexcept {
  uint32_t i = 0;
  for (; i != known_owners::places; ++i) {
    const uint64_t known = __atomic_load_n(&place[i], __ATOMIC_RELAXED);
    if ((known & ~uint64_t(7)) == wanted) return static_cast<code_owner>(known & 7);
    if (known == 0) break;
  }
  Dl_info info;
  link_map* module = nullptr;
  code_owner owner = code_owner::program;
  if (!gomp::is_member_code(address) && dladdr1(address, &info, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) != 0)
    owner = owner_of_module(info.dli_fname);
  if (owner == code_owner::program && module != nullptr && i != known_owners::places &&
      (info.dli_sname != nullptr ? is_library_symbol(info.dli_sname) : is_library_function(*module, address)))
    owner = code_owner::cxx_function;
  __atomic_store_n(&place[i % known_owners::places], wanted | static_cast<uint64_t>(owner), __ATOMIC_RELAXED);
  return owner;
}
/// About 1 ns; 0.1 ms for a new address. If there are too many addresses, functions are not looked up.
inline code_owner owner_of(const void* address) noexcept {
  const uint64_t wanted = reinterpret_cast<uintptr_t>(address) << 3;
  uint64_t* const place = &owners.of[(wanted * 0x9e3779b97f4a7c15u) >> 54];
  const uint64_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
  return __builtin_expect((known & ~uint64_t(7)) == wanted, 1) ? static_cast<code_owner>(known & 7)
                                                               : find_owner(address, wanted, place);
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
