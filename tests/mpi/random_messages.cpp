// ranks: 2 3 4
//
// Random point-to-point programs with serial numbers in the payload. The k-th send of a channel (communicator, source,
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

struct message {
  int source, destination, tag, serial;
};

// A received message, by the index of its posting record.
struct got {
  std::uint64_t record;
  int source, tag, serial;
};

struct pending_receive {
  MPI_Request request;
  int* buffer;
  std::uint64_t record;
  bool persistent;
};

std::vector<got> received;
std::vector<std::pair<std::uint64_t, int>> sent;  // record, serial

std::uint64_t here() { return checks::records().size(); }

void note(const pending_receive& r) { received.push_back({r.record, r.buffer[0], r.buffer[1], r.buffer[2]}); }

/// Every message has its own buffer, which lives until the program ends.
int* buffer() {
  static std::deque<std::array<int, 3>> all;
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
    int me = 0;
    MPI_Comm_rank(comm, &me);
    received.clear();
    sent.clear();
    // the messages of the program; a receiver knows only the number of messages from each source with each tag
    std::vector<message> program;
    for (int i = 0; i < 120; ++i) {
      const int source = static_cast<int>(shared() % static_cast<unsigned>(ranks));
      const int destination = static_cast<int>(shared() % static_cast<unsigned>(ranks));
      program.push_back({source, destination, static_cast<int>(shared() % 3), i});
    }
    // Wildcards must not steal messages, so that all receives of a seed use any source, any tag, both or none.
    const unsigned style = shared() % 4;
    std::vector<pending_receive> open;
    std::vector<MPI_Request> sends;
    std::vector<int*> payloads;
    for (const message& m : program) {
      if (m.destination == me) {
        const int from = (style & 1) != 0 ? MPI_ANY_SOURCE : m.source;
        const int tag = (style & 2) != 0 ? MPI_ANY_TAG : m.tag;
        pending_receive r{MPI_REQUEST_NULL, buffer(), here(), false};
        if (own() % 4 == 0) {
          MPI_Recv_init(r.buffer, 3, MPI_INT, from, tag, comm, &r.request);
          r.record = here();
          r.persistent = true;
          MPI_Start(&r.request);
        } else if (own() % 8 == 0) {
          MPI_Request cancelled;
          MPI_Irecv(r.buffer, 3, MPI_INT, from, 77, comm, &cancelled);
          MPI_Cancel(&cancelled);
          MPI_Wait(&cancelled, MPI_STATUS_IGNORE);
          CHECK(checks::last(1).has(checks::flag::cancelled));
          r.record = here();
          MPI_Irecv(r.buffer, 3, MPI_INT, from, tag, comm, &r.request);
        } else {
          MPI_Irecv(r.buffer, 3, MPI_INT, from, tag, comm, &r.request);
        }
        open.push_back(r);
      }
      if (m.source == me) {
        int* payload = buffer();
        payload[0] = me;
        payload[1] = m.tag;
        payload[2] = m.serial;
        payloads.push_back(payload);
        sent.push_back({here(), m.serial});
        MPI_Request request = MPI_REQUEST_NULL;
        switch (own() % 3) {
          case 0: MPI_Isend(payload, 3, MPI_INT, m.destination, m.tag, comm, &request); break;
          case 1: MPI_Issend(payload, 3, MPI_INT, m.destination, m.tag, comm, &request); break;
          default: MPI_Send(payload, 3, MPI_INT, m.destination, m.tag, comm);
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
      sent.push_back({here(), 1000 + i});
      MPI_Request request;
      MPI_Isend(payload, 3, MPI_INT, right, i % 2, comm, &request);
      sends.push_back(request);
    }
    MPI_Message first_message = MPI_MESSAGE_NULL, second_message = MPI_MESSAGE_NULL;
    MPI_Mprobe(left, MPI_ANY_TAG, comm, &first_message, MPI_STATUS_IGNORE);
    int found = 0;
    while (found == 0) MPI_Improbe(MPI_ANY_SOURCE, 1, comm, &found, &second_message, MPI_STATUS_IGNORE);
    pending_receive late{MPI_REQUEST_NULL, buffer(), here(), false};
    MPI_Imrecv(late.buffer, 3, MPI_INT, &second_message, &late.request);
    for (int i = 0; i < 4; ++i) {
      MPI_Status status;
      MPI_Probe(left, MPI_ANY_TAG, comm, &status);
      pending_receive r{MPI_REQUEST_NULL, buffer(), here(), false};
      MPI_Recv(r.buffer, 3, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
      note(r);
    }
    pending_receive matched{MPI_REQUEST_NULL, buffer(), here(), false};
    MPI_Mrecv(matched.buffer, 3, MPI_INT, &first_message, MPI_STATUS_IGNORE);
    note(matched);
    MPI_Wait(&late.request, MPI_STATUS_IGNORE);
    note(late);
    MPI_Waitall(6, sends.data(), MPI_STATUSES_IGNORE);

    // Sendrecv in both directions at once
    int out[3] = {me, 5, 2000}, in[3] = {0, 0, 0};
    const std::uint64_t exchange = here();
    MPI_Sendrecv(out, 3, MPI_INT, right, 5, in, 3, MPI_INT, MPI_ANY_SOURCE, 5, comm, MPI_STATUS_IGNORE);
    sent.push_back({exchange, 2000});
    received.push_back({exchange + 1, in[0], in[1], in[2]});

    // The posting order of the senders, gathered with plain MPI.
    auto records = checks::records();
    std::vector<int> mine;  // posting, destination, tag, serial
    for (auto& s : sent) {
      const auto& r = records[s.first];
      CHECK(r.has(checks::flag::posts_send) && r.posting != 0 && r.has(checks::flag::complete));
      mine.insert(mine.end(), {static_cast<int>(r.posting), r.peer, r.tag, s.second});
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
    std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> to_me, by_me;  // (source, tag) to (posting, serial)
    for (int source = 0; source < ranks; ++source)
      for (int k = 0; k < sizes[static_cast<std::size_t>(source)]; k += 4) {
        const int* s = &all[static_cast<std::size_t>(places[static_cast<std::size_t>(source)] + k)];
        if (s[1] == me) to_me[{source, s[2]}].push_back({s[0], s[3]});
      }
    std::size_t messages = 0;
    for (auto& g : received) {
      const auto& r = records[g.record];
      CHECK(r.has(checks::flag::posts_receive) && r.has(checks::flag::complete));
      if (!CHECK(r.peer == g.source && r.tag == g.tag))
        std::fprintf(stderr, "seed %u: record says %d %d, payload %d %d\n", seed, r.peer, r.tag, g.source, g.tag);
      const auto& by = records[r.completion];
      CHECK(by.begin >= r.begin);
      by_me[{r.peer, r.tag}].push_back({static_cast<int>(r.posting), g.serial});
    }
    for (auto& [channel, receives] : by_me) {
      auto& sends_here = to_me[channel];
      std::sort(receives.begin(), receives.end());
      std::sort(sends_here.begin(), sends_here.end());
      if (!CHECK(receives.size() == sends_here.size())) continue;
      for (std::size_t k = 0; k < receives.size(); ++k, ++messages)
        if (!CHECK(receives[k].second == sends_here[k].second))
          std::fprintf(stderr, "seed %u channel %d %d place %zu\n", seed, channel.first, channel.second, k);
    }
    CHECK(messages == received.size() && messages >= 7);
    CHECK(checks::process().requests.size() == 0);
    CHECK(checks::process().messages.size() == 0);
    CHECK(checks::process().open_wildcards == 0);
    if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  }
  CHECK(checks::process().requests.replaced() == 0);
  MPI_Finalize();
  return checks::result();
}
