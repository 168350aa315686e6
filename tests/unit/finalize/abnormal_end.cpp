#include <whywait/postmortem/abnormal_end.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using whywait::core::mpi_call;
using whywait::postmortem::detail::executable;

TEST_CASE("the caller of a call is named by its offset in the executable; code of libraries keeps its address") {
  executable program;
  program.begin = 0x1000;
  program.end = 0x2000;
  program.origin.module = "app";
  program.origin.offset = 0x40;
  const auto call_from = [&program](std::uintptr_t address) {
    return program.call(mpi_call::Send, reinterpret_cast<const void*>(address));
  };
  for (const std::uintptr_t inside : {std::uintptr_t(0x1000), std::uintptr_t(0x1234), std::uintptr_t(0x1fff)}) {
    CAPTURE(inside);
    CHECK(std::string(call_from(inside).name) == "MPI_Send");
    CHECK(std::string(call_from(inside).module) == "app");
    CHECK(call_from(inside).offset == inside - 0x1000 + 0x40);
  }
  for (const std::uintptr_t outside :
       {std::uintptr_t(0x10), std::uintptr_t(0xfff), std::uintptr_t(0x2000), std::uintptr_t(0x7fffffff)}) {
    CAPTURE(outside);
    CHECK(std::string(call_from(outside).name) == "MPI_Send");
    CHECK(std::string(call_from(outside).module) != "app");
    CHECK(call_from(outside).offset == outside);
  }
}
