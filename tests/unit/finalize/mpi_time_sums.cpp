#include <whywait/finalize/mpi_time_sums.hpp>

#include "threads_as_ranks.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

using namespace whywait;

TEST_CASE("MPI time is added up by call site, over the calls of all epochs and over all ranks") {
  // rank r makes r calls at each of 20 sites in each of two epochs; site k takes k us
  for (const int size : {1, 2, 5})
    threads_as_ranks::run(size, [size](int r) {
      finalize::mpi_time_sums sums;
      for (int epoch = 0; epoch != 2; ++epoch) {
        for (std::uint64_t site = 1; site <= 20; ++site)
          for (int call = 0; call != r; ++call) sums.add(site, static_cast<std::int64_t>(site) * 1000);
        sums.add(99, 0);  // takes no time
        sums.fold();
      }
      const reports::mpi_time found = sums.gather(finalize::team(MPI_COMM_WORLD));
      if (size == 1 || r != 0) return;
      REQUIRE(found.ranks.size() == static_cast<std::size_t>(size));
      double all = 0;
      for (int rank = 0; rank != size; ++rank) {
        const double own = 2 * rank * 210e-6;  // 1 + 2 + ... + 20
        all += own;
        CHECK(found.ranks[static_cast<std::size_t>(rank)].rank == rank);
        CHECK(found.ranks[static_cast<std::size_t>(rank)].seconds == doctest::Approx(own));
      }
      CHECK(found.seconds == doctest::Approx(all));
      std::vector<core::stable_key> keys;
      sums.keys([&keys](core::stable_key key) { keys.push_back(key); });
      REQUIRE(keys.size() == 16);  // the largest
      for (std::size_t i = 0; i != keys.size(); ++i) CHECK(keys[i] == 20 - i);
    });
}
