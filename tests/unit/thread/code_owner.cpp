#include <whywait/thread/code_owner.hpp>

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstring>
#include <functional>

using whywait::threads::detail::code_owner;
using whywait::threads::detail::is_library_symbol;
using whywait::threads::detail::owner_of;
using whywait::threads::detail::owner_of_module;

namespace {
__attribute__((noinline)) int owner_test_function(int x) { return x + 1; }
}  // namespace

TEST_CASE("functions of the C++ library are known by their symbols") {
  for (const char* const name :
       {"_ZNSt5mutex4lockEv", "_ZNKSt6thread2id", "_ZL20__gthread_mutex_lockP15pthread_mutex_t", "_ZSt4moveIRiEvOT_",
        "_ZN9__gnu_cxx17__normal_iteratorIPiE", "_ZNSt3__15mutex4lockEv", "_ZZNSt8__detail20__waiterENKUlvE_clEv",
        "_ZNSaIcED1Ev", "_ZNSolsEi", "_ZN7whywait2v07threads5mutex4lockEv", "_ZSt27__atomic_wait_address_bareIiEvPKiT_.isra.0"})
    CHECK_MESSAGE(is_library_symbol(name), name);
  for (const char* const name : {"main", "_Z4workv", "_ZN3app5stateC1Ev", "_ZZ4mainENKUlvE_clEv", "_ZN6Stream4readEv", "", "_Z",
                                 "_ZN", "_ZN12_GLOBAL__N_15startEv", "std_lock", "_ZL5startv"})
    CHECK_MESSAGE(!is_library_symbol(name), name);
}

TEST_CASE("a module's name tells whose code it is") {
  CHECK(owner_of_module("/lib/x86_64-linux-gnu/libc.so.6") == code_owner::c_library);
  CHECK(owner_of_module("/usr/lib/libstdc++.so.6.0.30") == code_owner::cxx_library);
  CHECK(owner_of_module("libgomp.so.1") == code_owner::run_time);
  CHECK(owner_of_module("/x/libwhywait_threads.so") == code_owner::whywait);
  CHECK(owner_of_module("/usr/bin/libmpi/app") == code_owner::program);
  CHECK(owner_of_module(nullptr) == code_owner::program);
}

TEST_CASE("functions are found in the symbol table of their file") {
  int (*volatile own)(int) = owner_test_function;
  CHECK(own(1) == 2);
  CHECK(owner_of(reinterpret_cast<const char*>(own) + 1) == code_owner::program);
  CHECK(owner_of(static_cast<const char*>(dlsym(RTLD_DEFAULT, "abort")) + 1) == code_owner::c_library);
  using wrapper = std::function<int(int)>;
  void (wrapper::*const swapped)(wrapper&) = &wrapper::swap;
  const void* address = nullptr;
  static_assert(sizeof swapped >= sizeof address);
  std::memcpy(&address, &swapped, sizeof address);
  for (int turn = 0; turn != 2; ++turn) CHECK(owner_of(static_cast<const char*>(address) + 1) == code_owner::cxx_function);
}
