#include <whywait/coverage/counters/callbacks.hpp>
#include <whywait/coverage/counters/clang_counters.hpp>
#include <whywait/coverage/counters/source.hpp>

#include <doctest/doctest.h>

#include <link.h>

#include <cstdint>

using namespace whywait;

namespace {

constexpr std::uintptr_t module_size = 0x4000;

/// What the search for the module of this code finds in a module whose code begins at `begin`.
int visit(std::uintptr_t begin, unsigned flags, coverage::detail::code_span& found) {
  ElfW(Phdr) segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = flags;
  segment.p_vaddr = 0x1000;
  segment.p_memsz = module_size;
  dl_phdr_info module{};
  module.dlpi_addr = static_cast<ElfW(Addr)>(begin - segment.p_vaddr);
  module.dlpi_phdr = &segment;
  module.dlpi_phnum = 1;
  return coverage::detail::code_span::visit(&module, sizeof module, &found);
}

}  // namespace

TEST_CASE("the module of this code is found among others") {
  const auto inside = reinterpret_cast<std::uintptr_t>(&coverage::detail::collect_addresses);
  coverage::detail::code_span found;
  CHECK(visit(inside + 16, PF_R | PF_X, found) == 0);           // behind this code
  CHECK(visit(inside - module_size, PF_R | PF_X, found) == 0);  // ends where it begins
  CHECK(visit(inside - 16, PF_R | PF_W, found) == 0);           // data
  CHECK(found.end == 0);
  CHECK(visit(inside - 16, PF_R | PF_X, found) == 1);
  CHECK(found.begin == ((inside - 16) & ~std::uintptr_t(3)));
  CHECK(found.end == inside - 16 + module_size);
}

TEST_CASE("code has no source while recording is off, or if there is none of it") {
  core::registry& registry = *core::the_registry();
  REQUIRE(registry.config.enable);
  CHECK(coverage::make_source(core::code_source::kind::addresses, 0) == nullptr);
  registry.config.enable = false;
  CHECK(coverage::make_source(core::code_source::kind::addresses, 4) == nullptr);
  registry.config.enable = true;
  const core::code_source* const first = coverage::make_source(core::code_source::kind::addresses, 4);
  const core::code_source* const second = coverage::make_source(core::code_source::kind::guards, 2);
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(first->count == 4);
  CHECK(second->first == first->first + 4);
  CHECK(second->what == core::code_source::kind::guards);
}

#if defined(__clang__)
namespace {

std::uint64_t counters[2][3] = {{1, 2, 3}, {4, 5, 6}};
int requests = 0;

/// What clang calls in each object file.
void write_counters() {
  ++requests;
  llvm_gcda_start_file("some.gcda", 0, 77);
  for (std::uint32_t f = 0; f != 2; ++f) {
    llvm_gcda_emit_function(10 + f, 20 + f, 0);
    llvm_gcda_emit_arcs(3 - f, counters[f]);
  }
  llvm_gcda_summary_info();
  llvm_gcda_end_file();
}

}  // namespace

TEST_CASE("the counters of an object file of clang are a source") {
  llvm_gcov_init(&write_counters, nullptr);
  CHECK(requests == 2);
  const core::code_source* const made = core::the_registry()->sources;
  REQUIRE(made != nullptr);
  CHECK(std::uint32_t(made->stamp) == 77);
  CHECK(made->count == 5);
  REQUIRE(made->function_count == 2);
  for (std::uint32_t f = 0; f != 2; ++f) {
    CAPTURE(f);
    CHECK(made->functions[f].ident == 10 + f);
    CHECK(made->functions[f].checksum == 20 + f);
    CHECK(made->functions[f].count == 3 - f);
    CHECK(made->functions[f].counters == counters[f]);
  }
}
#endif
