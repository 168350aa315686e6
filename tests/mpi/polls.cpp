// ranks: 2
// timeout: 120
// beside: nothing
// with: observer
// environment: WHYWAIT_OUTPUT=polls
// json polls.json
// tries 3
//
// Ranks that poll (MPI_Test*, MPI_Iprobe) until something comes wait like ranks in a blocking call. Polls between pieces of
// work are no wait, but entries into MPI that partners wait for.
#include "slept_cases.hpp"

#include <sched.h>
#include <unistd.h>

#include <map>
#include <string>

namespace {

using namespace slept;

constexpr int rounds = 6, late = 30, plays = 2;
#ifdef MPICH_VERSION
constexpr int bytes = 1 << 14;
constexpr double polls_alone = 0.7;  // ranks spin, and lose the processor between two polls: what that takes counts as code
constexpr double explained = 0.75, not_understood = 0.25;  // a message may need another entry, after the other work
#else
constexpr int bytes = 1 << 12;
constexpr double polls_alone = 0.97, explained = 0.8, not_understood = 0.05;
#endif
bool odd() { return rank % 2 == 1; }
int partner() { return rank ^ 1; }

double entered = 0;  // when a rank begins to wait, if not at its first poll

// Even ranks receive what their odd neighbours send late; `poll` receives it. Both then meet, so that rounds do not overlap.
template <class Poll>
std::function<void(std::vector<stamp>&)> late_send(Poll poll, int messages = 1) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      innocent(3);
      int value[2] = {k, k};
      stamp s;
      if (odd()) {
        if (messages == 2) MPI_Send(&value[0], 1, MPI_INT, partner(), 1, MPI_COMM_WORLD);
        guilty(late);
        s.enter = s.leave = now();
        MPI_Send(&value[1], 1, MPI_INT, partner(), messages, MPI_COMM_WORLD);
      } else {
        s.enter = now();
        entered = 0;
        poll(value);
        s.leave = now();
        if (entered != 0) s.enter = entered;
      }
      at.push_back(s);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  };
}
double for_odd(const stamps& all) {
  return until_last(all, [](int p, int q) { return p % 2 == 0 && q == p + 1; });
}
double nothing(const stamps&) { return 0; }

// Work that takes processor time.
void burn(double seconds) {
  for (const double end = now() + seconds; now() < end;) {
  }
}
// Receives the message in polls with `pause` between them.
template <class Pause>
std::function<void(std::vector<stamp>&)> late_test(Pause pause) {
  return late_send([=](int* value) {
    MPI_Request request;
    MPI_Irecv(value, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &request);
    for (int done = 0, n = 0; done == 0; ++n) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done == 0) pause(n);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<slept_case> cases;

  cases.push_back({"test_loop", "MPI_Test", "late_sender", late_send([](int* value) {
                     MPI_Request request;
                     MPI_Irecv(value, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &request);
                     for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                   }),
                   for_odd});
  cases.push_back({"testall_loop", "MPI_Testall", "late_sender",
                   late_send(
                       [](int* value) {
                         MPI_Request requests[2];
                         for (int i = 0; i < 2; ++i)
                           MPI_Irecv(&value[i], 1, MPI_INT, partner(), i + 1, MPI_COMM_WORLD, &requests[i]);
                         for (int done = 0; done == 0;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
                       },
                       2),
                   for_odd});
  cases.push_back({"testsome_loop", "MPI_Testsome", "late_sender", late_send([](int* value) {
                     MPI_Request requests[2];
                     int other = 0;
                     MPI_Irecv(value, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &requests[0]);
                     MPI_Irecv(&other, 1, MPI_INT, partner(), 99, MPI_COMM_WORLD, &requests[1]);
                     int indices[2];
                     for (int done = 0; done == 0;) MPI_Testsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
                     MPI_Cancel(&requests[1]);
                     MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
                   }),
                   for_odd});
  cases.push_back({"iprobe_loop", "MPI_Iprobe", "late_sender", late_send([](int* value) {
                     for (int found = 0; found == 0;) MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
                     MPI_Recv(value, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                   }),
                   for_odd});
  cases.push_back({"improbe_loop", "MPI_Improbe", "late_sender", late_send([](int* value) {
                     MPI_Message message;
                     for (int found = 0; found == 0;)
                       MPI_Improbe(partner(), 1, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
                     MPI_Mrecv(value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
                   }),
                   for_odd});
  // Two places poll in turn; the call that succeeds is the one that waited.
  cases.push_back({"mixed_loop", "MPI_Test", "late_sender", late_send([](int* value) {
                     MPI_Request request;
                     MPI_Irecv(value, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &request);
                     for (int done = 0, found = 0; done == 0;) {
                       MPI_Iprobe(partner(), 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
                       MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                     }
                   }),
                   for_odd});
  cases.push_back({"work_between", "MPI_Test", "late_sender", late_send([](int* value) {
                     MPI_Request request;
                     MPI_Irecv(value, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &request);
                     for (int done = 0; done == 0;) {
                       nap(2);
                       MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                     }
                   }),
                   nothing});
  // Loops that pause between polls wait like loops that do not.
  cases.push_back({"sleep_between", "MPI_Test", "late_sender", late_test([](int) { usleep(200); }), for_odd});
  cases.push_back({"long_sleep_between", "MPI_Test", "late_sender", late_test([](int) { usleep(1000); }), for_odd});
  cases.push_back({"short_sleep_between", "MPI_Test", "late_sender", late_test([](int) { usleep(50); }), for_odd});
  cases.push_back(
      {"growing_sleep_between", "MPI_Test", "late_sender", late_test([](int n) { usleep(1u << std::min(n, 12)); }), for_odd});
  cases.push_back({"rare_sleep_between", "MPI_Test", "late_sender", late_test([](int n) {
                     if (n % 16 == 15) usleep(300);
                   }),
                   for_odd});
  cases.push_back({"yield_between", "MPI_Test", "late_sender", late_test([](int) { sched_yield(); }), for_odd});
  cases.push_back({"iprobe_sleep", "MPI_Iprobe", "late_sender", late_send([](int* value) {
                     for (int found = 0; found == 0;) {
                       MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
                       if (found == 0) usleep(200);
                     }
                     MPI_Recv(value, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                   }),
                   for_odd});
  cases.push_back({"testany_sleep", "MPI_Testany", "late_sender", late_send([](int* value) {
                     MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
                     MPI_Irecv(value, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &requests[1]);
                     for (int done = 0, index = 0; done == 0;) {
                       MPI_Testany(2, requests, &index, &done, MPI_STATUS_IGNORE);
                       if (done == 0) usleep(200);
                     }
                   }),
                   for_odd});
  cases.push_back({"testall_sleep", "MPI_Testall", "late_sender",
                   late_send(
                       [](int* value) {
                         MPI_Request requests[2];
                         for (int i = 0; i < 2; ++i)
                           MPI_Irecv(&value[i], 1, MPI_INT, partner(), i + 1, MPI_COMM_WORLD, &requests[i]);
                         for (int done = 0; done == 0;) {
                           MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
                           if (done == 0) usleep(200);
                         }
                       },
                       2),
                   for_odd});
  // Work between polls is no wait: work that takes processor time, work in a region, and pieces of work after which the rank
  // waits in another call.
  cases.push_back({"burn_between", "MPI_Test", "late_sender", late_test([](int) { burn(3e-4); }), nothing});
  cases.push_back({"region_between", "MPI_Test", "late_sender", late_test([](int) { innocent(1); }), nothing});
  cases.push_back({"pieces", "MPI_Wait", "late_sender", late_send([](int* value) {
                     MPI_Request request;
                     MPI_Irecv(value, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &request);
                     for (int n = 0, done = 0; n != 10; ++n) {
                       usleep(1000);
                       MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                     }
                     entered = now();
                     MPI_Wait(&request, MPI_STATUS_IGNORE);
                   }),
                   for_odd, "MPI_Barrier", 0, 2});
  // The odd rank works, polls for something else, and works again. Its partner's send completes in the poll.
  static std::vector<char> out(bytes), in(bytes);
  cases.push_back({"progress_in_tests", "MPI_Wait", "wait_for_progress",
                   [](std::vector<stamp>& at) {
                     for (int k = 0; k < rounds; ++k) {
                       MPI_Request request, other;
                       int unused = 0, flag = 0;
                       MPI_Irecv(&unused, 1, MPI_INT, partner(), 99, MPI_COMM_WORLD, &other);
                       if (odd()) MPI_Irecv(in.data(), bytes, MPI_CHAR, partner(), 1, MPI_COMM_WORLD, &request);
                       PMPI_Barrier(MPI_COMM_WORLD);
                       if (!odd()) MPI_Isend(out.data(), bytes, MPI_CHAR, partner(), 1, MPI_COMM_WORLD, &request);
                       stamp s;
                       if (odd()) {
                         guilty(late);
                         s.enter = now();
                         while (now() < s.enter + 0.002) MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
                         innocent(late);
                       }
                       (odd() ? s.leave : s.enter) = now();
                       MPI_Wait(&request, MPI_STATUS_IGNORE);
                       if (!odd()) s.leave = now();
                       at.push_back(s);
                       MPI_Cancel(&other);
                       MPI_Wait(&other, MPI_STATUS_IGNORE);
                       MPI_Barrier(MPI_COMM_WORLD);
                     }
                   },
                   [](const stamps& all) {  // until the partner's last entry, in the poll or after it
                     double sum = 0;
                     for (std::size_t p = 0; p < all.size(); p += 2)
                       for (std::size_t k = 0; k != all[p].size(); ++k) {
                         const stamp &waiter = all[p][k], &other = all[p + 1][k];
                         const double entry = other.leave < waiter.leave ? other.leave : other.enter;
                         sum += std::min(entry, waiter.leave) - waiter.enter;
                       }
                     return sum;
                   }});

  for (slept_case& c : cases) {
    if (c.name.find("sleep") != std::string::npos) c.least = std::min(polls_alone, 0.95);
    if (c.name.find("yield") != std::string::npos) c.least = 0.6;  // while others have the processor: counts as code
  }
  const whywait::result result = run(cases, explained, polls_alone, plays);
  // Loops that sleep between polls are understood.
  std::map<std::string, int> off;
  for (const whywait::result::unknown_call& c : result.unknown_calls) {
    const bool sleeps = c.where.region.find("sleep") != std::string::npos;
    if (!sleeps || c.seconds < not_understood * rounds * late * 1e-3) continue;
    const std::string name = c.where.region.substr(0, c.where.region.find(','));
    std::printf("off %s: %.4f s are not understood\n", c.where.region.c_str(), c.seconds);
    if (++off[name] != plays) continue;
    std::printf("FAILED %s: not understood\n", name.c_str());
    ++failures;
  }
  MPI_Finalize();
  return failures;
}
