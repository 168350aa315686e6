// ranks: 2 3 4
// with: recorder
//
// Random point-to-point programs with serial numbers in the payload, over several communicators at once: one of all ranks, its
// duplicate, one with the ranks in reverse order, and an intercommunicator. The k-th send of a channel (communicator, source,
// destination, tag) in posting order must be the message that the k-th receive of that channel in posting order
// received.

#include "checks.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace {

constexpr int words = 4;  // of a message: source, tag, serial, number of its communicator

struct message {
  int source, destination, tag, serial, comm;
};

// A received message, by the index of its posting record.
struct got {
  std::uint64_t record;
  int source, tag, serial, comm;
};

struct sending {
  std::uint64_t record;
  int serial, comm;
};

/// Communicators of the same ranks, in which these have other numbers.
class communicators {
 public:
  static constexpr int count = 4, between = 3;

  explicit communicators(MPI_Comm all) {
    MPI_Comm_rank(all, &me_);
    MPI_Comm_size(all, &ranks_);
    comms_[0] = all;
    MPI_Comm_dup(all, &comms_[1]);
    MPI_Comm_split(all, 0, -me_, &comms_[2]);
    MPI_Comm half;
    MPI_Comm_split(all, me_ % 2, me_, &half);
    MPI_Intercomm_create(half, 0, all, 1 - me_ % 2, 99, &comms_[between]);
    MPI_Comm_free(&half);
  }
  void free() {
    for (int c = 1; c < count; ++c) MPI_Comm_free(&comms_[static_cast<std::size_t>(c)]);
  }
  int me() const { return me_; }
  MPI_Comm operator[](int c) const { return comms_[static_cast<std::size_t>(c)]; }
  /// The rank in communicator c, or in its group there, of a rank in the first one.
  int rank_in(int c, int rank) const { return c == 2 ? ranks_ - 1 - rank : c == between ? rank / 2 : rank; }
  bool connects(int c, int a, int b) const { return c != between || (a + b) % 2 == 1; }
  /// Its index in records.
  std::uint32_t index(int c) const { return checks::process().communicators.find(whywait::mpi::bits_of((*this)[c])); }

 private:
  std::array<MPI_Comm, count> comms_;
  int me_ = 0, ranks_ = 1;
};

struct pending_receive {
  MPI_Request request;
  int* buffer;
  std::uint64_t record;
  bool persistent;
};

std::vector<got> received;
std::vector<sending> sent;

std::uint64_t here() { return checks::records().size(); }

void note(const pending_receive& r) { received.push_back({r.record, r.buffer[0], r.buffer[1], r.buffer[2], r.buffer[3]}); }

/// Every message has its own buffer, which lives until the program ends.
int* buffer() {
  static std::deque<std::array<int, words>> all;
  return all.emplace_back().data();
}

void finish(std::vector<pending_receive>& open, std::mt19937& random, bool all) {
  while (!open.empty()) {
    std::shuffle(open.begin(), open.end(), random);
    std::vector<MPI_Request> requests;
    for (auto& r : open) requests.push_back(r.request);
    const int n = static_cast<int>(requests.size());
    std::vector<int> done;
    const auto drop = [&] {
      std::sort(done.rbegin(), done.rend());
      for (int i : done) {
        note(open[static_cast<std::size_t>(i)]);
        if (open[static_cast<std::size_t>(i)].persistent) MPI_Request_free(&requests[static_cast<std::size_t>(i)]);
        open.erase(open.begin() + i);
      }
    };
    switch (random() % 7) {
      case 0: {
        MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; ++i) done.push_back(i);
        drop();
        break;
      }
      case 1: {
        int which = -1;
        MPI_Waitany(n, requests.data(), &which, MPI_STATUS_IGNORE);
        done.push_back(which);
        drop();
        break;
      }
      case 2: {
        int count = 0;
        std::vector<int> indices(requests.size());
        std::vector<MPI_Status> statuses(requests.size());
        MPI_Waitsome(n, requests.data(), &count, indices.data(), statuses.data());
        done.assign(indices.begin(), indices.begin() + count);
        drop();
        break;
      }
      case 3: {
        int flag = 0, which = -1;
        while (flag == 0) MPI_Testany(n, requests.data(), &which, &flag, MPI_STATUS_IGNORE);
        done.push_back(which);
        drop();
        break;
      }
      case 4: {
        int count = 0;
        std::vector<int> indices(requests.size());
        while (count == 0) MPI_Testsome(n, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
        done.assign(indices.begin(), indices.begin() + count);
        drop();
        break;
      }
      case 5: {
        int flag = 0;
        while (flag == 0) MPI_Testall(n, requests.data(), &flag, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; ++i) done.push_back(i);
        drop();
        break;
      }
      default: {
        MPI_Status status;
        if (random() % 2 == 0) {
          int flag = 0;
          while (flag == 0) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&requests[0], random() % 2 == 0 ? &status : MPI_STATUS_IGNORE);
        done.push_back(0);
        drop();
      }
    }
    if (!all && random() % 3 == 0) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  setenv("WHYWAIT_MEMORY", "1G", 1);
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const unsigned first_seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
  for (unsigned seed = first_seed; seed < first_seed + 20; ++seed) {
    std::mt19937 shared(seed);                                              // the same on all ranks
    std::mt19937 own(seed * 977 + static_cast<unsigned>(rank) * 31 + 1);
    MPI_Comm comm = MPI_COMM_WORLD;
    if (seed % 2 == 0) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    communicators comms(comm);
    const int me = comms.me();
    received.clear();
    sent.clear();
    // the messages of the program; a receiver knows only the number of messages from each source with each tag
    std::vector<message> program;
    for (int i = 0; i < 120; ++i) {
      const int source = static_cast<int>(shared() % static_cast<unsigned>(ranks));
      const int destination = static_cast<int>(shared() % static_cast<unsigned>(ranks));
      const int tag = static_cast<int>(shared() % 3), c = static_cast<int>(shared() % communicators::count);
      program.push_back({source, destination, tag, i, comms.connects(c, source, destination) ? c : 0});
    }
    // Wildcards must not steal messages, so that all receives of a seed use any source, any tag, both or none.
    const unsigned style = shared() % 4;
    std::vector<pending_receive> open;
    std::vector<MPI_Request> sends;
    std::vector<int*> payloads;
    for (const message& m : program) {
      const MPI_Comm on = comms[m.comm];
      if (m.destination == me) {
        const int from = (style & 1) != 0 ? MPI_ANY_SOURCE : comms.rank_in(m.comm, m.source);
        const int tag = (style & 2) != 0 ? MPI_ANY_TAG : m.tag;
        pending_receive r{MPI_REQUEST_NULL, buffer(), here(), false};
        if (own() % 4 == 0) {
          MPI_Recv_init(r.buffer, words, MPI_INT, from, tag, on, &r.request);
          r.record = here();
          r.persistent = true;
          MPI_Start(&r.request);
        } else if (own() % 8 == 0) {
          MPI_Request cancelled;
          MPI_Irecv(r.buffer, words, MPI_INT, from, 77, on, &cancelled);
          MPI_Cancel(&cancelled);
          MPI_Wait(&cancelled, MPI_STATUS_IGNORE);
          CHECK(checks::last(1).has(checks::flag::cancelled));
          r.record = here();
          MPI_Irecv(r.buffer, words, MPI_INT, from, tag, on, &r.request);
        } else {
          MPI_Irecv(r.buffer, words, MPI_INT, from, tag, on, &r.request);
        }
        open.push_back(r);
      }
      if (m.source == me) {
        int* payload = buffer();
        payload[0] = comms.rank_in(m.comm, me);
        payload[1] = m.tag;
        payload[2] = m.serial;
        payload[3] = m.comm;
        payloads.push_back(payload);
        sent.push_back({here(), m.serial, m.comm});
        const int to = comms.rank_in(m.comm, m.destination);
        MPI_Request request = MPI_REQUEST_NULL;
        switch (own() % 3) {
          case 0: MPI_Isend(payload, words, MPI_INT, to, m.tag, on, &request); break;
          case 1: MPI_Issend(payload, words, MPI_INT, to, m.tag, on, &request); break;
          default: MPI_Send(payload, words, MPI_INT, to, m.tag, on);
        }
        if (request != MPI_REQUEST_NULL) sends.push_back(request);
      }
    }
    finish(open, own, true);
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);

    MPI_Barrier(comm);  // otherwise a wildcard could match a message of the second phase

    // a second phase with Mprobe, Improbe and Probe, in which each rank sends one message of each tag to its right
    // neighbour
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    std::vector<int*> second;
    sends.clear();
    for (int i = 0; i < 6; ++i) {
      int* payload = buffer();
      payload[0] = me;
      payload[1] = i % 2;
      payload[2] = 1000 + i;
      payload[3] = 0;
      sent.push_back({here(), 1000 + i, 0});
      MPI_Request request;
      MPI_Isend(payload, words, MPI_INT, right, i % 2, comm, &request);
      sends.push_back(request);
    }
    MPI_Message first_message = MPI_MESSAGE_NULL, second_message = MPI_MESSAGE_NULL;
    MPI_Mprobe(left, MPI_ANY_TAG, comm, &first_message, MPI_STATUS_IGNORE);
    int found = 0;
    while (found == 0) MPI_Improbe(MPI_ANY_SOURCE, 1, comm, &found, &second_message, MPI_STATUS_IGNORE);
    pending_receive late{MPI_REQUEST_NULL, buffer(), here(), false};
    MPI_Imrecv(late.buffer, words, MPI_INT, &second_message, &late.request);
    for (int i = 0; i < 4; ++i) {
      MPI_Status status;
      MPI_Probe(left, MPI_ANY_TAG, comm, &status);
      pending_receive r{MPI_REQUEST_NULL, buffer(), here(), false};
      MPI_Recv(r.buffer, words, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
      note(r);
    }
    pending_receive matched{MPI_REQUEST_NULL, buffer(), here(), false};
    MPI_Mrecv(matched.buffer, words, MPI_INT, &first_message, MPI_STATUS_IGNORE);
    note(matched);
    MPI_Wait(&late.request, MPI_STATUS_IGNORE);
    note(late);
    MPI_Waitall(6, sends.data(), MPI_STATUSES_IGNORE);

    // Sendrecv in both directions at once
    int out[words] = {me, 5, 2000, 0}, in[words] = {};
    const std::uint64_t exchange = here();
    MPI_Sendrecv(out, words, MPI_INT, right, 5, in, words, MPI_INT, MPI_ANY_SOURCE, 5, comm, MPI_STATUS_IGNORE);
    sent.push_back({exchange, 2000, 0});
    received.push_back({exchange + 1, in[0], in[1], in[2], in[3]});

    // The posting order of the senders, gathered with plain MPI.
    auto records = checks::records();
    std::vector<int> mine;  // posting, destination, tag, serial, communicator
    for (auto& s : sent) {
      const auto& r = records[s.record];
      CHECK(r.has(checks::flag::posts_send) && r.posting != 0 && r.has(checks::flag::complete));
      CHECK(r.comm == comms.index(s.comm));
      mine.insert(mine.end(), {static_cast<int>(r.posting), r.peer, r.tag, s.serial, s.comm});
    }
    const int mine_size = static_cast<int>(mine.size());
    std::vector<int> sizes(static_cast<std::size_t>(ranks)), places(static_cast<std::size_t>(ranks));
    PMPI_Allgather(&mine_size, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm);
    int total = 0;
    for (int i = 0; i < ranks; ++i) {
      places[static_cast<std::size_t>(i)] = total;
      total += sizes[static_cast<std::size_t>(i)];
    }
    std::vector<int> all(static_cast<std::size_t>(total));
    PMPI_Allgatherv(mine.data(), mine_size, MPI_INT, all.data(), sizes.data(), places.data(), MPI_INT, comm);
    // (communicator, source, tag) to (posting, serial)
    std::map<std::tuple<int, int, int>, std::vector<std::pair<int, int>>> to_me, by_me;
    for (int source = 0; source < ranks; ++source)
      for (int k = 0; k < sizes[static_cast<std::size_t>(source)]; k += 5) {
        const int* s = &all[static_cast<std::size_t>(places[static_cast<std::size_t>(source)] + k)];
        if (s[1] == comms.rank_in(s[4], me) && comms.connects(s[4], source, me))
          to_me[{s[4], comms.rank_in(s[4], source), s[2]}].push_back({s[0], s[3]});
      }
    std::size_t messages = 0;
    for (auto& g : received) {
      const auto& r = records[g.record];
      CHECK(r.has(checks::flag::posts_receive) && r.has(checks::flag::complete));
      if (!CHECK(r.peer == g.source && r.tag == g.tag))
        std::fprintf(stderr, "seed %u: record says %d %d, payload %d %d\n", seed, r.peer, r.tag, g.source, g.tag);
      const auto& by = records[r.completion];
      CHECK(by.begin >= r.begin);
      CHECK(r.comm == comms.index(g.comm));
      by_me[{g.comm, r.peer, r.tag}].push_back({static_cast<int>(r.posting), g.serial});
    }
    for (auto& [channel, receives] : by_me) {
      auto& sends_here = to_me[channel];
      std::sort(receives.begin(), receives.end());
      std::sort(sends_here.begin(), sends_here.end());
      if (!CHECK(receives.size() == sends_here.size())) continue;
      for (std::size_t k = 0; k < receives.size(); ++k, ++messages)
        if (!CHECK(receives[k].second == sends_here[k].second))
          std::fprintf(stderr, "seed %u channel %d %d %d place %zu\n", seed, std::get<0>(channel), std::get<1>(channel),
                       std::get<2>(channel), k);
    }
    CHECK(messages == received.size() && messages >= 7);
    CHECK(checks::process().requests.size() == 0);
    CHECK(checks::process().messages.size() == 0);
    CHECK(checks::process().open_wildcards == 0);
    comms.free();
    if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  }
  CHECK(checks::process().requests.replaced() == 0);
  MPI_Finalize();
  return checks::result();
}
