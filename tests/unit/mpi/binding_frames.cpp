#include <whywait/mpi/binding_frames.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

using namespace whywait::mpi;

TEST_CASE("calls from the code of a Python module have the place in Python, all others their own") {
  binding_frames frames;
  CHECK_FALSE(frames.may_contain(reinterpret_cast<const void*>(0x5000)));
  CHECK(frames.add(0x5000, 0x6000, true));
  CHECK(frames.add(0x9000, 0x9800, true));
  CHECK_FALSE(frames.add(0x5000, 0x6000, true));  // known
  int place = 0, frame = 0;
  const void* const before = python_caller;
  python_caller = &place;
  for (std::uintptr_t address = 0x4000; address != 0xb000; address += 0x80)
    for (const std::uintptr_t at : {address, address - 1}) {
      CAPTURE(at);
      const bool within = (at >= 0x5000 && at < 0x6000) || (at >= 0x9000 && at < 0x9800);
      const caller found = frames.outside({reinterpret_cast<const void*>(at), &frame});
      CHECK(found.address == (within ? &place : reinterpret_cast<const void*>(at)));
      CHECK(found.frame == &frame);
      CHECK(frames.may_contain(reinterpret_cast<const void*>(at)) == (at >= 0x5000 && at < 0x9800));
    }
  python_caller = nullptr;  // a call without a place in Python
  CHECK(frames.outside({reinterpret_cast<const void*>(0x5010), &frame}).address == reinterpret_cast<const void*>(0x5010));
  python_caller = before;
}
