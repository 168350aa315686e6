// Measures the communication analysis, as transfers classified per second and memory. The records are generated on the
// fly and not stored, or come from a whole run.
#include <whywait/data/analysis/classify.hpp>
#include <whywait/data/analysis/examine.hpp>
#include <whywait/data/analysis/sharing_book.hpp>
#include <whywait/explain/simulated_transport.hpp>

#include <benchmark/benchmark.h>

#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

namespace base = whywait::base;
namespace core = whywait::core;
namespace data = whywait::data;
namespace explain = whywait::explain;

constexpr std::int32_t ranks = 8;
constexpr std::uint64_t row = 1024 * 8, rows = 130;

data::rank_data rank_of(std::int32_t r) {
  data::rank_data d;
  d.rank = r;
  d.ranks = ranks;
  d.objects.resize(2);
  core::data_object& u = d.objects[1];
  u.key = core::key_of("u");
  u.element_bytes = 8;
  u.dimensions = 2;
  u.extent[0] = rows;
  u.extent[1] = row / 8;
  for (core::stable_key s = 1; s != 10; ++s) d.sites.push_back(s);
  d.groups.push_back({core::key_of("world"), ranks, r, false, {}});
  return d;
}

core::data_record record(core::data_op op, std::uint32_t site, std::uint64_t first, std::uint64_t last, std::int32_t peer,
                         std::uint32_t order) {
  core::data_record r;
  r.op = op;
  r.object = 1;
  r.site = site;
  r.begin = first * row;
  r.end = last * row;
  r.peer = peer;
  r.order = order;
  return r;
}

// One step of a halo exchange in a ring, for all ranks: write, send both borders, receive both halos, read. 2 * ranks
// transfers.
template <class Take>
void halo_step(std::uint32_t step, Take&& take) {
  for (std::int32_t r = 0; r != ranks; ++r) {
    take(r, record(core::data_op::write, 1, 1, rows - 1, -1, 0));
    take(r, record(core::data_op::send, 2, 1, 2, (r + ranks - 1) % ranks, step));
    take(r, record(core::data_op::send, 3, rows - 2, rows - 1, (r + 1) % ranks, step));
  }
  for (std::int32_t r = 0; r != ranks; ++r) {
    take(r, record(core::data_op::receive, 4, rows - 1, rows, (r + 1) % ranks, step));
    take(r, record(core::data_op::receive, 5, 0, 1, (r + ranks - 1) % ranks, step));
    take(r, record(core::data_op::read, 1, 0, rows, -1, 0));
  }
}

// Data that is forwarded around the ring indefinitely (relay loops).
template <class Take>
void relay_step(std::uint32_t step, Take&& take) {
  for (std::int32_t r = 0; r != ranks; ++r) {
    for (int half = 0; half != 2; ++half) {
      take(r, record(core::data_op::send, 6, half == 0 ? 0 : 64, half == 0 ? 64 : 128, (r + 1) % ranks,
                     2 * step - 1 + static_cast<std::uint32_t>(half)));
    }
  }
  for (std::int32_t r = 0; r != ranks; ++r) {
    for (int half = 0; half != 2; ++half) {
      take(r, record(core::data_op::receive, 7, half == 0 ? 0 : 64, half == 0 ? 64 : 128, (r + ranks - 1) % ranks,
                     2 * step - 1 + static_cast<std::uint32_t>(half)));
    }
  }
}

// Online classification. Each record is dropped at once, and packets are delivered when a rank needs them. The counters
// are the memory in use after a tenth of the transfers and at the end, which must be equal.
template <class Step>
void comm_fold(benchmark::State& state, Step step) {
  const std::int64_t transfers = state.range(0);
  for (auto _ : state) {
    const std::size_t before = mallinfo2().uordblks;
    base::vector<data::rank_data> data;
    for (std::int32_t r = 0; r != ranks; ++r) data.push_back(rank_of(r));
    std::vector<std::unique_ptr<data::transfer_book>> books;
    std::vector<std::vector<base::packet>> boxes(ranks, std::vector<base::packet>(ranks));
    for (std::int32_t r = 0; r != ranks; ++r) books.emplace_back(new data::transfer_book(data[static_cast<std::size_t>(r)]));
    const auto take = [&](std::int32_t rank, const core::data_record& r) {
      const auto me = static_cast<std::size_t>(rank);
      const auto post = [&](std::int32_t to) -> base::packet& { return boxes[static_cast<std::size_t>(to)][me]; };
      if (books[me]->take(r, {1000, 500}, post)) return;
      for (std::size_t from = 0; from != boxes[me].size(); ++from) {
        base::packet& box = boxes[me][from];
        books[me]->receive_packet(static_cast<std::int32_t>(from), box.data(), box.size());
        box.clear();
      }
      if (!books[me]->take(r, {1000, 500}, post)) std::abort();
    };
    std::size_t early = 0;
    const auto steps = static_cast<std::uint32_t>(transfers / (2 * ranks));
    for (std::uint32_t i = 1; i <= steps; ++i) {
      step(i, take);
      if (i == steps / 10) early = mallinfo2().uordblks - before;
    }
    const std::size_t late = mallinfo2().uordblks - before;
    data::classified all;
    for (const auto& b : books) all.merge(b->result());
    std::int64_t count = 0;
    for (const auto& c : all.classes) count += c.sums.count;
    if (count != static_cast<std::int64_t>(steps) * 2 * ranks) std::abort();
    state.counters["classes"] = static_cast<double>(all.classes.size());
    state.counters["bytes_at_a_tenth"] = static_cast<double>(early);
    state.counters["bytes_at_the_end"] = static_cast<double>(late);
  }
  state.SetItemsProcessed(state.iterations() * transfers);
}
void comm_fold_halo(benchmark::State& state) {
  comm_fold(state, [](std::uint32_t i, auto&& take) { halo_step(i, take); });
}
BENCHMARK(comm_fold_halo)->Arg(100000)->Arg(10000000)->Unit(benchmark::kMillisecond)->Iterations(1);
void comm_fold_relay(benchmark::State& state) {
  comm_fold(state, [](std::uint32_t i, auto&& take) { relay_step(i, take); });
}
BENCHMARK(comm_fold_relay)->Arg(1000000)->Unit(benchmark::kMillisecond)->Iterations(1);

// Classification from stored records, with announcements, transport and merging.
void comm_classify(benchmark::State& state) {
  base::vector<data::rank_data> data;
  std::vector<std::vector<core::data_record>> records(ranks);
  for (std::int32_t r = 0; r != ranks; ++r) data.push_back(rank_of(r));
  for (std::uint32_t i = 1; i <= static_cast<std::uint32_t>(state.range(0) / (2 * ranks)); ++i) {
    halo_step(i, [&](std::int32_t rank, const core::data_record& r) { records[static_cast<std::size_t>(rank)].push_back(r); });
  }
  std::vector<const core::data_record*> chunks;
  for (const auto& r : records) chunks.push_back(r.data());
  for (std::size_t r = 0; r != data.size(); ++r) {
    data[r].locations.resize(1);
    data[r].locations[0].records = {&chunks[r], 63, records[r].size()};
  }
  for (auto _ : state) {
    explain::simulated_transport transport(ranks);
    const data::classified all = data::classify(transport, data);
    if (all.classes.size() != 2 || all.unmatched != 0) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(comm_classify)->Arg(800000)->Unit(benchmark::kMillisecond);

// Classification in parts of 40,000 transfers, whose records are then dropped, including footprints. Same counters as
// above.
void comm_parts(benchmark::State& state) {
  const auto parts = static_cast<std::uint32_t>(state.range(0) / 40000), steps = 40000u / (2 * ranks);
  std::vector<std::vector<core::data_record>> records(ranks);
  for (auto _ : state) {
    state.PauseTiming();
    for (auto& r : records) r.reserve(steps * 6);
    const std::size_t before = mallinfo2().uordblks;
    std::size_t early = 0;
    base::vector<data::rank_data> data;
    for (std::int32_t r = 0; r != ranks; ++r) data.push_back(rank_of(r));
    std::vector<std::unique_ptr<data::classifier>> own;
    base::vector<data::classifier*> all;
    std::vector<data::footprint_book> loops;
    for (data::rank_data& d : data) {
      d.locations.resize(1);
      own.emplace_back(new data::classifier(d));
      all.push_back(own.back().get());
      loops.emplace_back(d);
    }
    explain::simulated_transport transport(ranks);
    for (std::uint32_t part = 0; part != parts; ++part) {
      for (auto& r : records) r.clear();
      for (std::uint32_t i = 1; i <= steps; ++i) {
        halo_step(part * steps + i,
                  [&](std::int32_t rank, const core::data_record& r) { records[static_cast<std::size_t>(rank)].push_back(r); });
      }
      const core::data_record* chunks[ranks];
      for (std::size_t r = 0; r != data.size(); ++r) {
        chunks[r] = records[r].data();
        data[r].locations[0].records = {&chunks[r], 63, records[r].size()};
      }
      state.ResumeTiming();
      data::follow(transport, all);
      for (data::footprint_book& l : loops) l.take_all();
      state.PauseTiming();
      if (part == parts / 10) early = mallinfo2().uordblks - before;
    }
    state.counters["bytes_at_a_tenth"] = static_cast<double>(early);
    state.counters["bytes_at_the_end"] = static_cast<double>(mallinfo2().uordblks - before);
    const data::classified found = data::classes_so_far(transport, all, true);
    if (found.classes.size() != 2 || found.unmatched != 0) std::abort();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(comm_parts)->Arg(1000000)->Arg(10000000)->Unit(benchmark::kMillisecond)->Iterations(1);

// Columns of a matrix; every transfer touches 130 pieces. Items are transfers.
void comm_fold_columns(benchmark::State& state) {
  const auto column = [](core::data_op op, std::uint32_t site, std::uint64_t at, std::int32_t peer, std::uint32_t order) {
    core::data_record r = record(op, site, 0, rows, peer, order);
    r.begin = at * 8;
    r.end = (rows - 1) * row + at * 8 + 8;
    r.stride = row;
    r.piece = 8;
    return r;
  };
  comm_fold(state, [&](std::uint32_t step, auto&& take) {
    for (std::int32_t r = 0; r != ranks; ++r) {
      take(r, record(core::data_op::write, 1, 0, rows, -1, 0));
      take(r, column(core::data_op::send, 2, 1, (r + ranks - 1) % ranks, step));
      take(r, column(core::data_op::send, 3, row / 8 - 2, (r + 1) % ranks, step));
    }
    for (std::int32_t r = 0; r != ranks; ++r) {
      take(r, column(core::data_op::receive, 4, row / 8 - 1, (r + 1) % ranks, step));
      take(r, column(core::data_op::receive, 5, 0, (r + ranks - 1) % ranks, step));
    }
  });
}
BENCHMARK(comm_fold_columns)->Arg(20000)->Unit(benchmark::kMillisecond)->Iterations(1);

// Distributions, schedules and access patterns of a stencil loop over two matrices on many ranks. Items are ranks.
void comm_examine(benchmark::State& state) {
  const auto count = static_cast<std::int32_t>(state.range(0));
  base::vector<data::footprint> all;
  for (std::int32_t r = 0; r != count; ++r) {
    const auto first = static_cast<std::uint64_t>(r) * 64;
    for (const auto kind : {data::footprint_kind::write, data::footprint_kind::read}) {
      data::footprint f;
      f.array = kind == data::footprint_kind::write ? 1 : 2;
      f.block = 3;
      f.rank = r;
      f.kind = kind;
      f.element_bytes = 8;
      f.space.extent = {static_cast<std::uint64_t>(count) * 64, 1024};
      const std::uint64_t low = kind == data::footprint_kind::read && r != 0 ? first - 1 : first;
      f.set.add({low * 1024, (first + 64 - low) * 1024, 0, 1});
      f.set.settle();
      all.push_back(f);
    }
    all.push_back(all[all.size() - 2]);
    all.back().array = 2;
    all.back().block = 4;
  }
  for (auto _ : state) {
    const data::placement_report report = data::examine_footprints(all, count);
    if (report.uses.size() != 1 || report.uses[0].access.kind != data::access_kind::offsets) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(comm_examine)->Arg(8)->Arg(256)->Unit(benchmark::kMillisecond);

// Two threads and the border between them. Items are accesses to granules.
void comm_sharing(benchmark::State& state) {
  data::rank_data rank = rank_of(0);
  rank.locations.resize(2);
  std::int64_t accesses = 0;
  for (auto _ : state) {
    data::sharing_book book(rank);
    std::uint32_t barrier = 0;
    const auto synchronise = [&] {
      ++barrier;
      for (std::size_t t = 0; t != 2; ++t) {
        core::data_record r;
        r.op = core::data_op::synchronise;
        r.flags = core::data_flag::everyone;
        r.order = barrier;
        r.site = 8;
        book.take(t, r);
      }
    };
    for (int step = 0; step != 20; ++step) {
      for (std::size_t t = 0; t != 2; ++t) book.take(t, record(core::data_op::write, 1, 65 * t, 65 * t + 65, -1, 0));
      synchronise();
      for (std::size_t t = 0; t != 2; ++t)
        book.take(t, record(core::data_op::read, 2, t == 0 ? 0 : 64, t == 0 ? 66 : 130, -1, 0));
      synchronise();
    }
    const data::sharing_report report = book.result();
    if (report.groups.empty()) std::abort();
    const auto watched = static_cast<double>(report.arrays[0].watched) / static_cast<double>(report.arrays[0].granules);
    accesses += static_cast<std::int64_t>(20 * 262 * row / 64 * watched);
  }
  state.SetItemsProcessed(accesses);
}
BENCHMARK(comm_sharing)->Unit(benchmark::kMillisecond);

}  // namespace
