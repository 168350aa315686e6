#include <whywait/report/symbolise.hpp>

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "../../temporary_folder.hpp"

using namespace whywait::base;
using namespace whywait::reports;
namespace fs = std::filesystem;

namespace {

const void* seen_address = nullptr;

/// Stands in for MPI and stores its return address.
[[gnu::noinline]] void seen() { seen_address = __builtin_return_address(0); }

[[gnu::noinline]] int call_from_here() {
  seen();
  __asm__ volatile("");  // prevents a tail call
  return __LINE__ - 2;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

enum class without { nothing, debug_information, all_symbols, sections };

/// A copy of a library without some sections, like after `strip`; the section header table declares them as empty.
void copy_library(const fs::path& from, const fs::path& to, without what) {
  std::string bytes = read(from);
  REQUIRE(bytes.size() > sizeof(Elf64_Ehdr));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto section = [&](std::size_t i) {
    Elf64_Shdr s;
    std::memcpy(&s, bytes.data() + header.e_shoff + i * sizeof s, sizeof s);
    return s;
  };
  const Elf64_Shdr strings = section(header.e_shstrndx);
  for (std::size_t i = 0; i < header.e_shnum && (what == without::debug_information || what == without::all_symbols); ++i) {
    Elf64_Shdr s = section(i);
    const std::string name = bytes.data() + strings.sh_offset + s.sh_name;
    const bool debug = name.compare(0, 7, ".debug_") == 0;
    const bool symbols = name == ".symtab" || name == ".strtab";
    if (!debug && !(symbols && what == without::all_symbols)) continue;
    s.sh_type = SHT_NULL;
    s.sh_size = 0;
    std::memcpy(bytes.data() + header.e_shoff + i * sizeof s, &s, sizeof s);
  }
  if (what == without::sections) {
    header.e_shoff = 0;
    header.e_shnum = header.e_shstrndx = 0;
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  std::ofstream(to, std::ios::binary) << bytes;
}

/// The fixture library, loaded from its own folder under its own name.
class library {
 public:
  explicit library(without what, const char* name = "libplugin.so") {
    const char* const original = std::getenv("WHYWAIT_FIXTURE_SYMBOLS");
    REQUIRE_MESSAGE(original != nullptr, "WHYWAIT_FIXTURE_SYMBOLS must name the library made of fixtures/symbols.cpp");
    const fs::path path = fs::path(folder_.path) / name;
    copy_library(original, path, what);
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(handle_ != nullptr, ::dlerror());
  }
  ~library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  library(const library&) = delete;
  library& operator=(const library&) = delete;

  char* address(const char* name) const { return static_cast<char*>(::dlsym(handle_, name)); }

  /// Calls a function of the library. Returns the line of the call and stores the return address in `seen_address`.
  int call(const char* name) const {
    auto* const function = reinterpret_cast<int (*)(void (*)())>(::dlsym(handle_, name));
    REQUIRE((function != nullptr));
    return function(&seen);
  }

 private:
  temporary_folder folder_;
  void* handle_ = nullptr;
};

std::string base(const std::string& path) { return fs::path(path).filename().string(); }

}  // namespace

TEST_CASE("a call in a loaded library is found with function, file and line") {
  const library plugin(without::nothing);
  symboliser look;
  REQUIRE_MESSAGE(look.has_debug_information(), "libdw.so.1 is missing (Debian: libdw1)");
  const int line = plugin.call("symbols_plain_call");
  const code_place where = look.of_call(seen_address);
  CHECK(where.module == "libplugin.so");
  CHECK(where.function == "symbols_plain_call");
  CHECK(base(where.file) == "symbols.cpp");
  CHECK(where.line == line);
}

TEST_CASE("the calls of inlined functions around a call are listed, innermost first") {
  const library plugin(without::nothing);
  symboliser look;
  const int line = plugin.call("symbols_inlined_call");
  code_place where = look.of_call(seen_address);
  CHECK(where.function == "symbols_inlined_call");
  const auto around = look.callers_of_inlined(seen_address, where);
  CHECK(short_name(where.function) == "inner_wrapper");
  REQUIRE(around.size() == 2);
  CHECK(base(around[0].file) == "symbols.cpp");
  CHECK(short_name(around[0].function) == "outer_wrapper");
  CHECK(around[0].line > where.line);
  CHECK(base(around[1].file) == "symbols.cpp");
  CHECK(around[1].function == "symbols_inlined_call");
  CHECK(around[1].line == line);
  plugin.call("symbols_plain_call");
  where = look.of_call(seen_address);
  CHECK(look.callers_of_inlined(seen_address, where).empty());
  CHECK(where.function == "symbols_plain_call");
  CHECK(where.bytes > 0);
}

TEST_CASE("C++ functions are demangled completely") {
  const library plugin(without::nothing);
  symboliser look;
  const int line = plugin.call("symbols_template_call");
  const code_place where = look.of_call(seen_address);
  CHECK(where.line == line);
  CHECK(where.function.find("symbols::solver<double, std::array<int, 3") == 0);
  CHECK(short_name(where.function) == "symbols::solver<...>::step");
}

TEST_CASE("each function of a library has one of the names that its symbol table gives to that place") {
  const library plugin(without::nothing);
  const std::string bytes = read(std::getenv("WHYWAIT_FIXTURE_SYMBOLS"));
  const auto at = [&bytes](std::size_t offset, auto& value) { std::memcpy(&value, bytes.data() + offset, sizeof value); };
  Elf64_Ehdr header;
  at(0, header);
  std::map<std::uint64_t, std::pair<std::uint64_t, std::set<std::string>>> functions;  // size and names by address
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr table, names;
    at(header.e_shoff + i * sizeof table, table);
    if (table.sh_type != SHT_SYMTAB) continue;
    at(header.e_shoff + table.sh_link * sizeof names, names);
    for (std::size_t n = 0; n != table.sh_size / sizeof(Elf64_Sym); ++n) {
      Elf64_Sym symbol;
      at(table.sh_offset + n * sizeof symbol, symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
      functions[symbol.st_value].first = symbol.st_size;
      functions[symbol.st_value].second.insert(demangle(bytes.data() + names.sh_offset + symbol.st_name));
    }
  }
  REQUIRE(functions.size() >= 3);
  std::uint64_t plain = 0;
  for (const auto& [value, f] : functions)
    if (f.second.count("symbols_plain_call") != 0) plain = value;
  REQUIRE(functions[plain].second.size() == 2);  // with the local name
  char* const base = plugin.address("symbols_plain_call") - plain;
  symboliser look;
  for (const auto& [value, f] : functions) {
    for (const std::uint64_t inside : {value, value + f.first / 2, value + f.first - 1}) {
      const code_place where = look.of_code(base + inside);
      CAPTURE(where.function);
      CHECK(f.second.count(where.function) == 1);
      CHECK(where.offset == inside);
      if (value == plain) CHECK(where.function == "symbols_plain_call");
    }
  }
}

TEST_CASE("code behind a label without a size is found") {
  const library plugin(without::nothing);
  symboliser look;
  CHECK(look.of_code(plugin.address("symbols_label") + 1).function == "symbols_label");
}

TEST_CASE("of the C library only exported names are read, although it has debug information") {
  const library plugin(without::nothing, "libc.so.7");
  symboliser look;
  plugin.call("symbols_plain_call");
  const code_place where = look.of_call(seen_address);
  CHECK(where.module == "libc.so.7");
  CHECK(where.function == "symbols_plain_call");
  CHECK(where.file.empty());
  CHECK(where.line == 0);
}

TEST_CASE("a call in the program itself is found at any load address") {
  symboliser look;
  const int line = call_from_here();
  const code_place where = look.of_call(seen_address);
  CHECK(where.module == std::string(program_invocation_short_name));
  CHECK(where.function.find("call_from_here") != std::string::npos);
  if (!where.file.empty()) {  // tests may lack debug information
    CHECK(base(where.file) == "symbolise.cpp");
    CHECK(where.line == line);
  }
}

TEST_CASE("without debug information the function and the place in the module remain") {
  const library plugin(without::debug_information);
  symboliser look;
  plugin.call("symbols_template_call");
  const code_place where = look.of_call(seen_address);
  CHECK(short_name(where.function) == "symbols::solver<...>::step");
  CHECK(where.file.empty());
  CHECK(where.line == 0);
  CHECK(where.module == "libplugin.so");
  CHECK(where.offset > 0);
}

TEST_CASE("a stripped library still has its exported functions and offsets") {
  for (const without what : {without::all_symbols, without::sections}) {
    const library plugin(what);
    symboliser look;
    plugin.call("symbols_plain_call");
    const code_place where = look.of_call(seen_address);
    CHECK(where.function == "symbols_plain_call");
    CHECK(where.file.empty());
    CHECK(where.module == "libplugin.so");
    CHECK(where.offset > 0);
  }
}

TEST_CASE("without libdw the exported names and offsets remain") {
  const library plugin(without::nothing);
  for (const char* const missing : {static_cast<const char*>(nullptr), "libdw-that-is-not-there.so.1"}) {
    symboliser look(missing);
    CHECK_FALSE(look.has_debug_information());
    plugin.call("symbols_plain_call");
    const code_place where = look.of_call(seen_address);
    CHECK(where.function == "symbols_plain_call");
    CHECK(where.line == 0);
    CHECK(where.module == "libplugin.so");
  }
  symboliser wrong("libm.so.6");  // a library without these functions
  CHECK_FALSE(wrong.has_debug_information());
}

TEST_CASE("the same call has the same module and offset at another address") {
  const library one(without::nothing);
  const library two(without::nothing);  // a second copy at another address, like address randomisation on another rank
  symboliser look;
  one.call("symbols_plain_call");
  const void* const first_address = seen_address;
  const code_place first = look.of_call(seen_address);
  two.call("symbols_plain_call");
  REQUIRE(seen_address != first_address);
  const code_place second = look.of_call(seen_address);
  CHECK(second.module == first.module);
  CHECK(second.offset == first.offset);
  CHECK(second.line == first.line);
}

TEST_CASE("an unloaded library gives no wrong names") {
  {
    const library plugin(without::nothing);
    plugin.call("symbols_plain_call");
  }
  symboliser look;
  const code_place where = look.of_call(seen_address);
  CHECK(where.function.empty());
  CHECK(where.file.empty());
  CHECK(where.module.empty());
}

TEST_CASE("addresses of no code are answered with nothing") {
  symboliser look;
  CHECK(look.of_call(nullptr).module.empty());
  int local = 0;
  CHECK(look.of_call(&local).function.empty());
  CHECK(look.of_code(reinterpret_cast<const void*>(std::uintptr_t(1))).file.empty());
}

TEST_CASE("a call site in the name table keeps all fields") {
  code_place code;
  code.module = "app";
  code.offset = 0x10;
  code.function = "f()";
  code.file = "a.cpp";
  code.line = 3;
  const place p = call_place(code, "MPI_Send", "main/step");
  CHECK(call_text(p) == "MPI_Send in step (a.cpp:3)");
  CHECK(p.function == "f()");
  CHECK(p.offset == 0x10);
}
