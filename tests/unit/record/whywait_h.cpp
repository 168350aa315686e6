#include <whywait/whywait.h>
#include <whywait/core/module.hpp>
#include <whywait/record/marks.hpp>

#include <doctest/doctest.h>

#include <cstddef>

#include "recorded.hpp"

// What whywait.h and whywait.f90 mirror.
using whywait::core::module_card;
using whywait::record::mark_functions;
static_assert(whywait_c_version == whywait::core::packed_version() / 1000);
static_assert(whywait_c_interface == whywait::core::mark_interface);
static_assert(sizeof(whywait_c_card) == sizeof(module_card));
static_assert(offsetof(whywait_c_card, attach) == offsetof(module_card, attach));
static_assert(offsetof(whywait_c_card, here) == offsetof(module_card, here));
static_assert(offsetof(whywait_c_card, functions) == offsetof(module_card, functions));
static_assert(offsetof(whywait_c_functions, plain) == offsetof(mark_functions, plain));
static_assert(sizeof(whywait_c_functions) == sizeof(mark_functions));
static_assert(sizeof(whywait_c_header) == sizeof(ElfW(Phdr)));
static_assert(offsetof(whywait_c_header, memory_size) == offsetof(ElfW(Phdr), p_memsz));
static_assert(offsetof(whywait_c_module, header_count) == offsetof(dl_phdr_info, dlpi_phnum));

TEST_CASE("the marks of C are those of C++") {
  on_new_thread([] {
    for (int i = 0; i < 3; ++i) {
      whywait_begin("c first");
      whywait_block("c block");
      whywait_next("c second");
      whywait_work(7);
      whywait_work(-2.5);
      whywait_end("c second");
    }
    whywait_wait("c waiting");
    whywait_end("c waiting");
    const recorded all;
    CHECK(all.visits("c first") == 3);
    CHECK(all.visits("c block") == 3);
    CHECK(all.kind("c block") == whywait::site_kind::step);
    CHECK(all.visits("c second") == 3);
    CHECK(all.work("c second") == 21);
    CHECK(all.kind("c waiting") == whywait::site_kind::waiting);
    CHECK(all.visits("c waiting") == 1);
    CHECK(all.here().mismatched_ends == 0);
    CHECK(all.here().path.depth() == 0);
  });
}

TEST_CASE("the end of a region of C without a begin is counted") {
  on_new_thread([] {
    whywait_end("c never begun");
    const recorded all;
    CHECK(all.here().mismatched_ends == 1);
  });
}
