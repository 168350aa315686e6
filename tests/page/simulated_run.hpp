#ifndef WHYWAIT_TESTS_PAGE_SIMULATED_RUN_HPP
#define WHYWAIT_TESTS_PAGE_SIMULATED_RUN_HPP

// A synthetic run of any number of ranks, in the form that the recorder produces, and its names: a stencil on a torus in which a
// front moves across the domain. Where it is, `advect` takes three times as long. All ranks meet in an MPI_Allreduce every
// fourth step; rank 0 writes a checkpoint once.
#include <whywait/base/places.hpp>
#include <whywait/explain/explain.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace page_test {

using namespace whywait;
using core::mpi_call;
namespace flag = core::sync_flag;

class simulated_run {
 public:
  explicit simulated_run(std::int32_t ranks, std::size_t steps = 12) : ranks_(ranks), stores_(static_cast<std::size_t>(ranks)) {
    const auto n = static_cast<std::size_t>(ranks);
    const auto side = std::max(1, static_cast<std::int32_t>(std::lround(std::sqrt(static_cast<double>(ranks)))));
    std::vector<std::uint64_t> now(n, 0), sent(n, 0);
    for (std::size_t step = 0; step != steps; ++step) {
      for (std::size_t i = 0; i != n; ++i) {
        const double x = static_cast<double>(i % static_cast<std::size_t>(side)) / side;
        const double front = static_cast<double>(step) / static_cast<double>(steps), away = std::fabs(x - front);
        work_[0] = static_cast<std::uint64_t>(away < 0.15 ? 6000000 : 2000000) + noise(400000);
        work_[1] = 500000 + noise(100000);
        if (step == steps / 2 && i == 0) work_[2] = 12000000;
        for (std::size_t w = 0; w != 3; ++w) add_step(stores_[i], static_cast<std::uint32_t>(w + 1), work_[w]);
        sent[i] = now[i] + work_[0] + work_[1] + work_[2] + 20000;
        work_[2] = 0;
      }
      const bool meets = step % 4 == 3;
      std::uint64_t latest = 0;
      std::vector<std::uint64_t> left(n);
      for (std::size_t i = 0; i != n; ++i) {
        const auto x = static_cast<std::int32_t>(i) % side, y = static_cast<std::int32_t>(i) / side;
        const auto wrap = [&](std::int32_t r) { return (r % ranks + ranks) % ranks; };
        const std::int32_t around[4] = {wrap(y * side + (x + 1) % side), wrap(y * side + (x + side - 1) % side),
                                        wrap((y + 1) * side + x), wrap((y - 1) * side + x)};
        store& s = stores_[i];
        const auto first = static_cast<std::uint32_t>(s.records.size());
        std::uint64_t leave = sent[i] + 60000;
        for (int k = 0; k != 4; ++k) add(s, mpi_call::Irecv, now[i] + 100, now[i] + 200, around[k], receives, 1, k);
        for (int k = 0; k != 4; ++k) add(s, mpi_call::Isend, sent[i], sent[i] + 500, around[k], sends, 0, k ^ 1);
        for (int k = 0; k != 4; ++k) leave = std::max(leave, sent[static_cast<std::size_t>(around[k])] + 60000);
        add(s, mpi_call::Waitall, sent[i] + 3000, leave, -1, 0, 2, 0);
        for (std::uint32_t k = 0; k != 8; ++k) s.records[first + k].completion = first + 8;
        s.records[first].steps = s.steps_before;
        for (std::uint32_t k = 0; k != 4; ++k) s.records[first + k].steps = s.steps_before;
        s.steps_before = static_cast<std::uint32_t>(s.steps.size());
        left[i] = leave;
        latest = std::max(latest, leave);
      }
      for (std::size_t i = 0; i != n; ++i) {
        now[i] = left[i];
        if (!meets) continue;
        add(stores_[i], mpi_call::Allreduce, now[i] + 1000, latest + 80000, -1, flag::contributes | flag::consumes, 3, 0);
        now[i] = latest + 80000;
      }
    }
    end_ = *std::max_element(now.begin(), now.end());
    for (std::size_t i = 0; i != n; ++i) histories_.push_back(view(static_cast<std::int32_t>(i)));
  }

  const std::vector<explain::rank_history>& histories() const { return histories_; }
  std::int64_t calls() const {
    std::int64_t all = 0;
    for (const store& s : stores_) all += static_cast<std::int64_t>(s.records.size());
    return all;
  }

  static whywait::base::names names() {
    whywait::base::names out;
    const char* const calls[] = {"MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce"};
    const char* const regions[] = {"exchange", "exchange", "exchange", "residual"};
    for (int i = 0; i != 4; ++i) {
      whywait::base::place p;
      p.call = calls[i];
      p.region = regions[i];
      p.file = "src/solver.cpp";
      p.line = 120 + 4 * i;
      p.function = "solver::step()";
      p.module = "solver";
      p.offset = 0x4000u + 16u * static_cast<unsigned>(i);
      out.add(core::key_of(sites[i]), p);
    }
    for (int i = 0; i != 3; ++i) {
      whywait::base::place p;
      p.name = blocks[i];
      p.kind = "region";
      p.region = std::string("step/") + blocks[i];
      p.file = "src/physics.cpp";
      p.line = 30 + 20 * i;
      out.add(core::key_of(blocks[i]), p);
    }
    return out;
  }

 private:
  static constexpr const char* sites[] = {"isend", "irecv", "waitall", "allreduce"};
  static constexpr const char* blocks[] = {"advect", "diffuse", "write_checkpoint"};
  static constexpr unsigned sends = flag::posts_send | flag::complete, receives = flag::posts_receive | flag::complete;

  struct store {
    std::vector<core::sync_record> records;
    std::vector<core::path_step> steps;
    const core::sync_record* records_chunk = nullptr;
    const core::path_step* steps_chunk = nullptr;
    std::uint32_t steps_before = 0;
  };

  std::uint64_t noise(std::uint64_t most) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return (random_ >> 33) % most;
  }
  static void add_step(store& s, std::uint32_t block, std::uint64_t ticks) {
    if (ticks == 0) return;
    core::path_step step{};
    step.block = block;
    step.visits = 1;
    step.ticks = ticks;
    s.steps.push_back(step);
  }
  static void add(store& s, mpi_call call, std::uint64_t begin, std::uint64_t leave, int peer, unsigned flags,
                  std::uint32_t site, int tag) {
    core::sync_record r{};
    r.begin = begin;
    r.duration = leave - begin;
    r.steps = static_cast<std::uint32_t>(s.steps.size());
    r.posting = static_cast<std::uint32_t>(s.records.size() + 1);
    r.peer = peer;
    r.tag = tag;
    r.bytes = peer >= 0 ? 8192 : 8;
    r.call = call;
    r.flags = static_cast<std::uint16_t>(flags);
    r.site = site;
    s.records.push_back(r);
  }
  explain::rank_history view(std::int32_t rank) {
    store& s = stores_[static_cast<std::size_t>(rank)];
    s.records_chunk = s.records.data();
    s.steps_chunk = s.steps.data();
    explain::rank_history h;
    h.rank = rank;
    h.ranks = ranks_;
    h.end_ns = static_cast<std::int64_t>(end_);
    explain::location_history l;
    l.records = {&s.records_chunk, 63, s.records.size()};
    l.steps = {&s.steps_chunk, 63, s.steps.size()};
    for (const char* site : sites) l.call_sites.push_back(core::key_of(site));
    h.locations.push_back(l);
    explain::communicator world;
    world.id = 1;
    world.size = ranks_;
    world.rank = rank;
    h.communicators.push_back(world);
    h.blocks.push_back(0);
    for (const char* block : blocks) h.blocks.push_back(core::key_of(block));
    return h;
  }

  std::int32_t ranks_;
  std::vector<store> stores_;
  std::vector<explain::rank_history> histories_;
  std::uint64_t work_[3] = {0, 0, 0}, random_ = 1, end_ = 0;
};

}  // namespace page_test

#endif
