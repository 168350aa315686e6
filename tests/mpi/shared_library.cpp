// ranks: 2
// with: recorder exchange_in_library.cpp:shared
//
// Calls from a shared library are intercepted, both from a linked one and from a copy of it that is loaded at run time
// with RTLD_LOCAL.

#include "checks.hpp"

#include <dlfcn.h>
#include <cstring>
#include <fstream>
#include <string>

using namespace checks;

extern "C" int exchange_in_library(int value);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  auto before = records().size();
  CHECK(exchange_in_library(1) == ranks);
  CHECK(records().size() == before + 1 && last().call == mpi_call::Allreduce);
  const auto& site = whywait::mpi::recording_thread()->sites[last().site];
  Dl_info info;
  CHECK(dladdr(site.address, &info) != 0 && info.dli_sname != nullptr &&
        std::strcmp(info.dli_sname, "exchange_in_library") == 0);
  const std::string copy = "exchange_copy_" + std::to_string(world_rank()) + ".so";
  {
    std::ifstream from(info.dli_fname, std::ios::binary);
    std::ofstream to(copy, std::ios::binary);
    to << from.rdbuf();
    CHECK(to.good());
  }
  void* const plugin = dlopen(("./" + copy).c_str(), RTLD_NOW | RTLD_LOCAL);
  std::remove(copy.c_str());
  if (CHECK(plugin != nullptr)) {
    before = records().size();
    int (*function)(int) = nullptr;
    void* const symbol = dlsym(plugin, "exchange_in_library");
    std::memcpy(&function, &symbol, sizeof symbol);
    CHECK(function != &exchange_in_library && function(2) == 2 * ranks);
    CHECK(records().size() == before + 1 && last().call == mpi_call::Allreduce);
  }
  MPI_Finalize();
  return result();
}
